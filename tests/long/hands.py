"""Somebody who works by hand: the real helm and kubectl in a shell, with what READMEs and the command line show."""

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from stackwright.local import binaries, programs
from tests.documentation import sessions
from tests.documentation.blocks import Block
from tests.documentation.sessions import Reader
from tests.e2e.cloud import ROOT
from tests.e2e.clusters import Kubectl

# The namespaces that the READMEs speak of.
SPOKEN_OF = re.compile(r"export NAMESPACE=\S+")


@dataclass(frozen=True)
class Hands:
    """A shell in the checkout, with all programs in its path and one namespace of the cluster."""

    kubectl: Kubectl
    programs: Path
    reader: Reader

    def run(self, script: str) -> str:
        """Run a script as a person would type it, and return what it printed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=ROOT,
            env=dict(self.reader.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def follow(self, readme: Iterable[Block], otherwise: Mapping[str, str] = MappingProxyType({})) -> str:
        """Run shell blocks of a chart's README, in the namespace of this test."""
        steps = list(readme)
        said = {found for block in steps for command in block.commands for found in SPOKEN_OF.findall(command.text)}
        ours = dict.fromkeys(said, f"export NAMESPACE={self.kubectl.namespace}")
        return self.reader.follow(steps, {**ours, **otherwise})

    def history(self, release: str) -> list[tuple[int, str]]:
        """Return number and status of each revision, as helm tells them."""
        listed = json.loads(self.run(f"helm history {release} --namespace $NAMESPACE --output=json"))
        return [(entry["revision"], entry["status"]) for entry in listed]

    def pods(self) -> dict[str, tuple[str, int]]:
        """Return the pods that serve: which one each is, and how often its containers were started."""
        items = json.loads(self.kubectl("get", "pods", "--output=json"))["items"]
        return {
            item["metadata"]["name"]: (
                item["metadata"]["uid"],
                sum(container["restartCount"] for container in item["status"]["containerStatuses"]),
            )
            for item in items
            if item["status"]["phase"] == "Running" and not item["metadata"].get("deletionTimestamp")
        }

    def install(self, service: str, release: str, resources: Path) -> None:
        """Install a release as `stackwright render` shows, of a file with resources; Secrets are added to it."""
        render = f"stackwright render {service} --namespace $NAMESPACE --file {resources}"
        self.run(
            f"""
            umask 077
            {render} > {self.programs}/{service}.yaml
            kubectl --namespace $NAMESPACE apply --filename {self.programs}/{service}.yaml
            echo --- >> {resources}
            cat {self.programs}/{service}.yaml >> {resources}
            {render} --values | helm install {release} charts/{service} --namespace $NAMESPACE --values -
            """
        )


def equip(kubectl: Kubectl, folder: Path) -> Hands:
    """Return hands that have kubectl, helm and our own program."""
    found = sessions.equip(folder / "programs", binaries.ensure(programs.ALL))
    reader = sessions.reader(folder / "reader", found, kubectl.kubeconfig, NAMESPACE=kubectl.namespace)
    return Hands(kubectl, found, reader)
