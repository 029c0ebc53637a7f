"""The cluster of the measurement, by kubectl, and what its API server wrote down."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

# How the groups of our kinds end. The operators tell events about these, Kubernetes about others.
OUR_GROUPS = ".openstack.org/"
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"


@dataclass(frozen=True)
class Request:
    """A request that changed something: who asked for what, and what the server answered."""

    user: str
    verb: str
    resource: str
    object: str
    code: int = 0

    def __str__(self) -> str:
        return f"{self.user}: {self.verb} {self.resource} {self.object}"


@dataclass(frozen=True)
class Cluster:
    """A cluster that writes down every request that changes something."""

    kubectl: Path
    kubeconfig: Path
    audit: Path

    def run(self, *arguments: str, given: str = "") -> str:
        """Run kubectl and return what it printed."""
        command = [str(self.kubectl), f"--kubeconfig={self.kubeconfig}", *arguments]
        return subprocess.run(command, input=given, check=True, capture_output=True, text=True).stdout

    def make_namespace(self, name: str) -> None:
        """Make a namespace that is held to the restricted profile."""
        self.run("create", "namespace", name)
        self.run("label", "namespace", name, RESTRICTED)

    def remove_namespace(self, name: str) -> None:
        """Remove a namespace with a cloud in it.

        Of a namespace that still has pods Kubernetes looks again only after half of their longest grace period, which
        is minutes; so they go first.
        """
        here = f"--namespace={name}"
        self.run("delete", "openstackcontrolplanes", "--all", here, "--cascade=foreground")
        self.run("delete", "deployments,statefulsets,jobs,pods", "--all", here)
        self.run("delete", "namespace", name)

    def events(self, namespace: str) -> list[str]:
        """Return the events about our kinds in a namespace, each as a line."""
        listed = self.run("get", "events.events.k8s.io", f"--namespace={namespace}", "--output=json")
        return [
            f"{event['regarding']['kind']} {event['regarding']['name']}: {event['reason']}: {event['note']}"
            for event in json.loads(listed)["items"]
            if OUR_GROUPS in event["regarding"].get("apiVersion", "")
        ]

    def written_down(self, since: datetime, until: datetime) -> Iterator[Request]:
        """Yield the requests of a span of time."""
        with self.audit.open(encoding="utf-8") as lines:
            for line in lines:
                entry = json.loads(line)
                if since <= datetime.fromisoformat(entry["requestReceivedTimestamp"]) < until:
                    yield _request(entry)


def _request(entry: dict[str, object]) -> Request:
    where = entry.get("objectRef")
    named: dict[str, str] = where if isinstance(where, dict) else {}
    user = entry.get("user")
    name = str(user.get("username", "")) if isinstance(user, dict) else ""
    resource = "/".join(filter(None, (named.get("resource", ""), named.get("subresource", ""))))
    thing = "/".join(filter(None, (named.get("namespace", ""), named.get("name", ""))))
    answer = entry.get("responseStatus")
    code = int(answer.get("code", 0)) if isinstance(answer, dict) else 0
    return Request(name, str(entry["verb"]), resource, thing, code)
