"""Images in the cloud: the real client uploads, imports and downloads."""

import hashlib
import json
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cloud import NAMESPACE, Cloud
from tests.e2e.waiting import eventually

SIZE = 64 << 20
FORMAT = ("--disk-format", "raw", "--container-format", "bare")
S3 = Path(__file__).parents[1] / "fakes" / "s3.py"
KEY, SECRET = "somebody", "opens-the-bucket"


@pytest.fixture(scope="module")
def images(cloud: Cloud) -> Iterator[Cloud]:
    """The cloud, with a file to upload in the client's pod, and a web page that serves it."""
    cloud.kubectl("exec", "client", "--", "sh", "-c", f"head -c {SIZE} /dev/urandom > /tmp/image")
    cloud.kubectl("exec", "client", "--", "sh", "-c", "cd /tmp && python3 -m http.server 8080 >/dev/null 2>&1 &")
    cloud.kubectl("label", "pod", "client", "app=client", "--overwrite")
    # Glance may dial ports 80 and 443. Here pods at other ports stand behind them, which the user says: docs/glance.md.
    cloud.kubectl.apply(service("page", 8080), service("objects", 8081), way(8080, 8081))
    yield cloud
    cloud.kubectl("delete", "service/page", "service/objects", "networkpolicy/glance-client")


def service(name: str, port: int) -> dict[str, Any]:
    """Return a Service before a program in the client's pod."""
    spec = {"selector": {"app": "client"}, "ports": [{"port": 80, "targetPort": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def way(*ports: int) -> dict[str, Any]:
    """Return a policy that lets Glance's pods dial the client's pod."""
    out = {"to": [{"podSelector": {"matchLabels": {"app": "client"}}}], "ports": [{"port": port} for port in ports]}
    selector = {"matchLabels": {"app.kubernetes.io/name": "glance", "app.kubernetes.io/instance": "glance"}}
    spec = {"podSelector": selector, "policyTypes": ["Egress"], "egress": [out]}
    metadata = {"name": "glance-client"}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


def public(cloud: Cloud) -> str:
    """Return the URL of the public endpoint."""
    return cloud.kubectl.get("glance/glance", "{.status.apiEndpoint.public}")


def download(cloud: Cloud, image: str) -> None:
    """Download an image in the client's pod, and compare it with what was uploaded."""
    cloud.kubectl("exec", "client", "--", "openstack", "image", "save", "--file", "/tmp/back", image)
    cloud.kubectl("exec", "client", "--", "cmp", "/tmp/image", "/tmp/back")


def active(cloud: Cloud, image: str) -> None:
    """Wait until an image is there."""

    def asked() -> bool:
        status = cloud.openstack("image", "show", image)["status"]
        assert status not in ("killed", "deleted"), status
        return bool(status == "active")

    eventually(asked, f"image {image} is active")


def test_the_catalog_has_what_the_resource_says(images: Cloud) -> None:
    urls = {entry["Interface"]: entry["URL"] for entry in images.openstack("endpoint", "list", "--service", "image")}
    assert urls["internal"].startswith("http://glance-default-internal.")
    assert urls["public"] == public(images)


def test_a_copy_to_other_stores_is_not_offered_where_there_is_one(images: Cloud) -> None:
    # Tempest copies images wherever Glance offers it, and here there is nowhere to copy to.
    offered = images.openstack("image", "import", "info")["import-methods"]
    assert "glance-direct" in offered
    assert "copy-image" not in offered


@pytest.fixture(scope="module")
def uploaded(images: Cloud) -> str:
    """An image that the client has uploaded, by its id."""
    return str(images.openstack("image", "create", "uploaded", *FORMAT, "--file", "/tmp/image")["id"])


def test_an_image_is_uploaded_and_comes_back_as_it_was(images: Cloud, uploaded: str) -> None:
    assert images.openstack("image", "show", uploaded)["size"] == SIZE
    download(images, uploaded)
    # From this machine, by the public endpoint.
    url = f"{public(images)}/v2/images/{uploaded}/file"
    request = urllib.request.Request(url, headers={"X-Auth-Token": images.token()})  # noqa: S310  our own cloud
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  likewise
        digest = hashlib.sha256(answer.read()).hexdigest()
    assert digest in images.kubectl("exec", "client", "--", "sha256sum", "/tmp/image")


def test_an_image_is_staged_and_imported(images: Cloud) -> None:
    made = images.openstack("image", "create", "staged", *FORMAT, "--file", "/tmp/image", "--import")
    active(images, made["id"])
    download(images, made["id"])


def test_an_image_is_imported_from_a_web_page(images: Cloud) -> None:
    # By hand: the client would take what stands in its standard input, which is nothing, for the image.
    body = {"name": "page", "disk_format": "raw", "container_format": "bare"}
    headers = {"X-Auth-Token": images.token(), "Content-Type": "application/json"}
    request = urllib.request.Request(f"{public(images)}/v2/images", json.dumps(body).encode(), headers)  # noqa: S310  our own cloud
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  likewise
        made = json.load(answer)
    page = f"http://page.{NAMESPACE}.svc.cluster.local/image"
    words = ("image", "import", "--method", "web-download", "--uri", page, made["id"])
    images.kubectl("exec", "client", "--", "openstack", *words)
    active(images, made["id"])
    download(images, made["id"])


STORE = """
[DEFAULT]
enabled_backends = objects:s3
[glance_store]
default_backend = objects
[objects]
s3_store_host = http://objects
s3_store_bucket = images
s3_store_bucket_url_format = path
s3_store_large_object_size = 16
"""


@pytest.fixture(scope="module")
def objects(images: Cloud) -> Iterator[Cloud]:
    """The cloud with a second API of Glance, whose store is S3 by a snippet and by keys in a Secret."""
    images.kubectl("exec", "--stdin", "client", "--", "sh", "-c", "cat > /tmp/s3.py", given=S3.read_text())
    started = f"python3 /tmp/s3.py 8081 images {KEY} {SECRET} > /tmp/s3.log 2>&1 &"
    images.kubectl("exec", "client", "--", "sh", "-c", started)
    keys = f"[objects]\ns3_store_access_key = {KEY}\ns3_store_secret_key = {SECRET}\n"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "objects"}, "stringData": {"keys.conf": keys}}
    images.kubectl.apply(secret)
    far = {"type": "edge", "storage": {"external": True}, "customServiceConfig": STORE}
    far["customServiceConfigSecrets"] = ["objects"]
    template = {"keystoneEndpoint": "default", "glanceAPIs": {"default": {}, "far": far}}
    images.ask(glance={"template": template})
    try:
        images.kubectl.wait("deployment/glance-far", "create")
        images.ready("Glance", "glance", "image")
        yield images
    finally:
        images.ask(glance={"template": {"keystoneEndpoint": None, "glanceAPIs": None}})
        images.kubectl.wait("deployment/glance-far", "delete")
        images.kubectl("delete", "secret/objects")


def test_images_are_in_s3_where_a_snippet_says_so(objects: Cloud) -> None:
    # An API that is not in the catalog, so by its address.
    far = f"http://{objects.kubectl.get('service/glance-far-public', '{.spec.clusterIP}')}:9292/v2/images"
    token = {"X-Auth-Token": objects.token()}
    content = os.urandom(20 << 20)

    def ask(method: str, path: str = "", body: bytes | None = None, kind: str = "application/json") -> bytes:
        headers = {**token, "Content-Type": kind}
        request = urllib.request.Request(far + path, body, headers, method=method)  # noqa: S310  our own cloud
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  likewise
            return bytes(answer.read())

    def is_reached() -> bool:
        try:
            return bool(ask("GET"))
        except OSError:
            return False

    # Kubernetes says that pods are ready a moment before kube-proxy knows.
    eventually(is_reached, "the other API is reached")
    described = {"name": "far", "disk_format": "raw", "container_format": "bare"}
    image = json.loads(ask("POST", body=json.dumps(described).encode()))["id"]
    ask("PUT", f"/{image}/file", content, "application/octet-stream")
    assert ask("GET", f"/{image}/file") == content
    ask("DELETE", f"/{image}")
    log = objects.kubectl("exec", "client", "--", "cat", "/tmp/s3.log")
    assert f"{image} has 2 parts" in log
    assert f"DELETE /images/{image}" in log
