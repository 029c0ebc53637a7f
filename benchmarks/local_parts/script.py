"""Lays out beforehand what the hand-written script needs: certificates, configuration, manifests and images."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from benchmarks.local_parts.observing import Target
from benchmarks.parts.running import ProgramFailed
from stackwright.kube.resource import JsonObject, Resource
from stackwright.local import oci, pause, versions
from stackwright.local.cluster import addons, addresses, images, layout, network, preparation
from stackwright.local.cluster.layout import Layout, Node, Settings

SCRIPT = Path(__file__).parents[1] / "local_script.sh"
DEPLOYMENT = "web"
IMAGE = "stackwright.local/benchmark:1"
ARCHIVE = "benchmark.tar"


def deployment() -> JsonObject:
    """Return a Deployment of two Pods that need nothing but their tiny image."""
    labels = {"app": DEPLOYMENT}
    container = {"name": "main", "image": IMAGE, "imagePullPolicy": "Never"}
    pod = {"containers": [container], "terminationGracePeriodSeconds": 0}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": DEPLOYMENT, "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }


def _write_image(archive: Path) -> None:
    """Write the tiny image: a program that sleeps."""
    program = oci.File("/sleep", pause.program(versions.architecture()))
    oci.write(oci.Image(IMAGE, (program,), entrypoint=("/sleep",)), archive, architecture=versions.architecture())


@dataclass(frozen=True)
class Prepared:
    """All that the script needs, in one folder."""

    place: Layout
    settings: Settings

    @property
    def target(self) -> Target:
        """How the script's cluster is reached."""
        return Target(self.place.kubeconfig, self.settings.node.name, self.settings.network.dns_service)

    def command(self, word: str) -> list[str]:
        """Return the script's command line."""
        return [str(SCRIPT), word]

    def environment(self) -> dict[str, str]:
        """Return the environment that the script reads."""
        ranges = self.settings.network
        return {
            **os.environ,
            "FOLDER": str(self.place.directory),
            "BINARIES": str(Path(self.settings.binaries["kubectl"]).parent),
            "NAME": self.settings.name,
            "HOST": ranges.host,
            "NODE": self.settings.address,
            "PREFIX": str(IPv4Network(ranges.nodes).prefixlen),
            "PODS": ranges.pods,
            "SERVICES": ranges.services,
        }

    def first(self) -> int:
        """Return the first process of the script's node."""
        return int((self.place.directory / "first").read_text())

    def lay_out(self, archives: Path) -> None:
        """Write everything that the script needs, into an empty folder."""
        preparation.prepare(self.place, self.settings)
        for folder in ("lib/kubelet", "lib/cni", "lib/containerd", "log/pods", "tmp"):
            (self.place.directory / "var" / folder).mkdir(parents=True)
        (self.place.directory / "images").symlink_to(archives)
        items = [_whole(kind, body) for kind, body in (*addons.ground(), *addons.names(self.settings))]
        listed = {"apiVersion": "v1", "kind": "List", "items": [*items, deployment()]}
        (self.place.directory / "manifests.json").write_text(json.dumps(listed))

    def take_down(self) -> None:
        """End what a run of the script has left, and remove its folder."""
        done = subprocess.run(
            self.command("down"), env=self.environment(), capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode:
            raise ProgramFailed(f"{SCRIPT.name} down: {done.stderr}")
        shutil.rmtree(self.place.directory, ignore_errors=True)


def _whole(kind: type[Resource], body: JsonObject) -> JsonObject:
    return {"apiVersion": kind.kind.api_version, "kind": kind.kind.name, **body}


def prepare(name: str, binaries: Mapping[str, Path], cni: Path) -> Prepared:
    """Choose addresses and a folder for the script; both are apart from those of our clusters."""
    taken = network.taken()
    # From the end: whoever brings up a cluster meanwhile takes the first that is free.
    free = [one for one in addresses.candidates() if not addresses.collisions(one, taken)]
    if not free:
        raise ProgramFailed("All address ranges that the script could use are taken on this machine.")
    place = Layout(layout.root().parent / f"stackwright-{name}")
    programs = {program: str(path) for program, path in binaries.items()}
    settings = Settings(name, free[-1], (Node("node-1"),), programs, str(cni))
    return Prepared(place, settings)


def write_archives(folder: Path, binaries: Mapping[str, Path]) -> None:
    """Write the archives of all images that a cluster of this benchmark needs."""
    for image in images.wanted({program: str(path) for program, path in binaries.items()}):
        archive = folder / f"{image.name.partition(':')[0].rpartition('/')[2]}.tar"
        oci.write(image, archive, architecture=versions.architecture())
    _write_image(folder / ARCHIVE)
