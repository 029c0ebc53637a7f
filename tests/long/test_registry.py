"""The local cluster's own registry: charts and images are pushed to it, and pulled by helm, by machines and by pods."""

import asyncio
import http.client
import io
import json
import os
import signal
import subprocess
import tarfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.adapters.helm import Packages
from stackwright.adapters.registry import Place
from stackwright.adapters.registry import Registry as Adapter
from stackwright.local import binaries
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.errors import ClusterFailed
from stackwright.local.images import building, pushing
from stackwright.local.images.archives import Image
from stackwright.local.machine import lifecycle
from stackwright.local.machine.lifecycle import Machine
from stackwright.local.progress import Shown, Silent
from stackwright.local.registry import binary, serving
from tests.checkout import ROOT
from tests.contracts.registry import Registry, RegistryContract
from tests.e2e.clusters import Kubectl
from tests.fakes import registry as fake
from tests.functional.packing import packed
from tests.images.built import why_not_built
from tests.long.machines import ssh
from tests.ports import free_port

CHART = ROOT / "tests" / "functional" / "charts" / "small"
IMAGE = "memcached"


@contextmanager
def running(folder: Path, port: int) -> Iterator[str]:
    """Run the registry's program on this machine for the time of a block; return its host and port."""
    program = binary.ensure(Silent())
    place = f"127.0.0.1:{port}"
    with subprocess.Popen([str(program), f"-folder={folder}", f"-address={place}"], stderr=subprocess.DEVNULL) as ran:
        deadline = time.monotonic() + 30
        while not answers(place):
            assert ran.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield place
        ran.send_signal(signal.SIGTERM)
        assert ran.wait(10) == 0


def ask(place: str, path: str, method: str = "GET", body: bytes | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(place, timeout=10)
    try:
        connection.request(method, f"/v2/{path}", body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def answers(place: str) -> bool:
    try:
        return ask(place, "")[0] == 200
    except OSError:
        return False


def fetch(place: str, path: str) -> Any:
    return json.loads(ask(place, path)[1])


async def put_chart(place: str, repository: str, package: bytes) -> str:
    """Push a packaged chart as helm does; return the digest of its manifest."""
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        file = archive.extractfile("small/Chart.yaml")
        assert file is not None
        metadata = yaml.safe_load(file.read())

    async def pieces(content: bytes) -> AsyncIterator[bytes]:
        yield content

    async with Adapter(Place(place, plain_http=True)) as registry:
        parts = []
        for media_type, content in ((fake.CONFIG, json.dumps(metadata).encode()), (fake.LAYER, package)):
            digest = fake.digest_of(content)
            await registry.put_blob(f"{repository}/small", digest, len(content), pieces(content))
            parts.append({"mediaType": media_type, "digest": digest, "size": len(content)})
        manifest = {"schemaVersion": 2, "mediaType": fake.MANIFEST, "config": parts[0], "layers": parts[1:]}
        body = json.dumps(manifest).encode()
        await registry.put_manifest(f"{repository}/small", metadata["version"], fake.MANIFEST, body)
    return fake.digest_of(body)


class TestRegistry(RegistryContract):
    """The program itself, without a cluster."""

    @pytest.fixture
    def registry(self, tmp_path: Path) -> Iterator[Registry]:
        with running(tmp_path, free_port()) as place:
            yield Registry(place, lambda repository, package: put_chart(place, repository, package))

    @pytest.fixture
    def packages(self) -> Packages:
        return Packages(binaries.ensure(["helm"])["helm"])

    @pytest.fixture
    async def package(self) -> bytes:
        return await packed(binaries.ensure(["helm"])["helm"], CHART)


def test_what_was_pushed_survives_the_end_of_the_program(tmp_path: Path) -> None:
    port = free_port()
    content = tmp_path / "content"
    with running(content, port) as place:
        package = asyncio.run(packed(binaries.ensure(["helm"])["helm"], CHART))
        digest = asyncio.run(put_chart(place, "charts", package))
        # A name that leads out of the folder is no name.
        for name in ("..", "a/../..", "a%2f..", "Upper"):
            assert ask(place, f"{name}/manifests/x", "PUT", b"{}")[0] == 400, name
    with running(content, port) as place:
        assert fetch(place, "charts/small/tags/list")["tags"] == ["0.1.0"]
        assert fetch(place, f"charts/small/manifests/{digest}") == fetch(place, "charts/small/manifests/0.1.0")
        layer = fetch(place, "charts/small/manifests/0.1.0")["layers"][0]["digest"]
        assert fake.digest_of(ask(place, f"charts/small/blobs/{layer}")[1]) == layer


def test_without_a_cluster_there_is_no_registry() -> None:
    with pytest.raises(ClusterFailed, match="no running cluster nobody"):
        serving.serve("nobody", progress=Silent())


@pytest.fixture(scope="module")
def image() -> Image:
    if reason := why_not_built([IMAGE]):
        pytest.skip(reason)
    return building.catalogue().images[IMAGE]


@pytest.fixture
def machine(cluster: Cluster) -> Iterator[Machine]:
    name = cluster.settings.name
    with Shown() as progress:
        yield lifecycle.add(name, "puller", progress=progress, ask=lambda _: "CI" in os.environ)
        lifecycle.remove(name, "puller", progress=progress)


def test_machines_and_pods_pull_what_was_pushed(
    cluster: Cluster, kubectl: Kubectl, image: Image, machine: Machine
) -> None:
    with Shown() as progress:
        place = serving.serve(cluster.settings.name, progress=progress)
        assert place == cluster.settings.registry
        target = pushing.parse(place, plain_http=True)
        asyncio.run(pushing.push([image], target, login=None, progress=progress))
    # The machine pulls it by the name that it has in pods. It may not be able to limit processes.
    version = f"sudo podman run --rm --network host --pids-limit=0 {image.reference} memcached --version"
    assert ssh(machine, version).startswith("memcached ")
    ssh(machine, f"sudo podman push --quiet {image.reference} {place}/again/{IMAGE}:1")
    # What was pushed is still there when another pod serves it.
    kubectl("delete", "pods", "--namespace=kube-system", "--selector=app=registry")
    kubectl("rollout", "status", "deployment/registry", "--namespace=kube-system", "--timeout=120s")
    ssh(machine, "sudo podman image rm --all --force")
    assert ssh(machine, version.replace(image.reference, f"{place}/again/{IMAGE}:1")).startswith("memcached ")
    container = {"name": "one", "image": f"{place}/again/{IMAGE}:1", "command": ["sleep", "600"]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pulled"}, "spec": {"containers": [container]}}
    kubectl.apply(body)
    kubectl.wait("pod/pulled", "condition=Ready")
    # A second call leaves everything as it is.
    with Shown() as progress:
        assert serving.serve(cluster.settings.name, progress=progress) == place
