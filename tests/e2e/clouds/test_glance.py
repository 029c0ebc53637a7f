"""Images in a running cloud: Glance is added to it, and the real client uploads, imports and downloads."""

import hashlib
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cloud import NAMESPACE, Cloud, eventually

SIZE = 64 << 20
FORMAT = ("--disk-format", "raw", "--container-format", "bare")
NODE_PORT = {"service": {"public": {"spec": {"type": "NodePort"}}}}
SECTION = {"apiOverrides": {"default": NODE_PORT}, "template": {"storage": {"storageRequest": "2G"}}}


def patch(cloud: Cloud, glance: dict[str, Any] | None) -> None:
    body = json.dumps({"spec": {"glance": glance}})
    cloud.kubectl("patch", "openstackcontrolplane", "openstack", "--type=merge", f"--patch={body}")


def ready(cloud: Cloud) -> None:
    cloud.kubectl("wait", "--for=create", "glance/glance", "--timeout=60s")
    cloud.kubectl.wait("glance/glance", "condition=Ready")


@pytest.fixture(scope="module")
def images(cloud: Cloud) -> Iterator[Cloud]:
    """The cloud with Glance in it, a file to upload in the client's pod, and a web page that serves it."""
    patch(cloud, SECTION)
    ready(cloud)
    cloud.kubectl("exec", "client", "--", "sh", "-c", f"head -c {SIZE} /dev/urandom > /tmp/image")
    cloud.kubectl("exec", "client", "--", "sh", "-c", "cd /tmp && python3 -m http.server 8080 >/dev/null 2>&1 &")
    cloud.kubectl("label", "pod", "client", "app=client", "--overwrite")
    ports = [{"port": 80, "targetPort": 8080}]
    page = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "page"}}
    cloud.kubectl.apply({**page, "spec": {"selector": {"app": "client"}, "ports": ports}})
    yield cloud
    cloud.kubectl("delete", "service", "page")
    patch(cloud, None)
    cloud.kubectl("wait", "--for=delete", "glance/glance", "--timeout=120s")


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


def test_it_is_in_the_catalog_and_all_its_pods_came_up_once(images: Cloud) -> None:
    urls = {entry["Interface"]: entry["URL"] for entry in images.openstack("endpoint", "list", "--service", "image")}
    assert urls["internal"].startswith("http://glance-default-internal.")
    assert urls["public"] == public(images)
    for component in ("default-external", "default-internal"):
        labels = f"app.kubernetes.io/instance=glance,app.kubernetes.io/component={component}"
        assert len(images.kubectl("get", "replicaset", f"--selector={labels}", "--output=name").split()) == 1


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


def test_taken_out_and_added_again_it_has_its_images(images: Cloud, uploaded: str) -> None:
    patch(images, {"enabled": False})
    images.kubectl("wait", "--for=delete", "glance/glance", "--timeout=60s")
    images.kubectl("wait", "--for=delete", "deployment/glance-default-external", "--timeout=120s")
    images.kubectl("get", "persistentvolumeclaim/glance-default")
    patch(images, {"enabled": True})
    ready(images)
    eventually(lambda: bool(images.openstack("image", "list")), "the images are listed")
    download(images, uploaded)
