"""What the conditions of our resources say, one after the other, by watches of the real kubectl."""

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.clusters import Kubectl
from tests.e2e.waiting import eventually

# Seconds in which what nobody waited for is written, and the watches have heard of it.
TRAILING = 30.0


@dataclass
class History:
    """The states of each condition, by resource and type; a state that only repeats the one before is none."""

    states: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def note(self, resource: dict[str, Any]) -> None:
        """Note what a version of a resource says."""
        name = f"{resource['kind']} {resource['metadata']['name']}"
        for condition in resource.get("status", {}).get("conditions", ()):
            said = self.states.setdefault((name, condition["type"]), [])
            if not said or said[-1].partition(" ")[0] != condition["status"]:
                said.append(f"{condition['status']} ({condition.get('reason', '')}: {condition.get('message', '')})")

    def restless(self) -> dict[tuple[str, str], list[str]]:
        """Return the conditions that did not turn True once, and for good."""

        def is_calm(said: list[str]) -> bool:
            return [state.startswith("True ") for state in said].count(True) == 1 and said[-1].startswith("True ")

        return {key: said for key, said in self.states.items() if not is_calm(said)}


@contextmanager
def recorded(kubectl: Kubectl) -> Iterator[History]:
    """Record what all our resources in a namespace say during the block; the history is whole when it ends."""
    kinds = kubectl("api-resources", "--categories=openstack", "--namespaced", "--output=name").split()
    assert kinds, "there are no kinds of ours"
    seen = History()
    with tempfile.TemporaryDirectory() as folder:
        files = {kind: Path(folder) / kind for kind in kinds}
        watching = [_watch(kubectl, kind, path) for kind, path in files.items()]
        try:
            yield seen
            # What never comes to rest is for a test to say, which looks at the history.
            with contextlib.suppress(AssertionError):
                eventually(
                    lambda: _is_at_rest(kubectl, files), "all conditions are True, and the watches know", TRAILING
                )
        finally:
            for process in watching:
                process.terminate()
                process.wait()
        for path in files.values():
            for event in _events(path.read_text()):
                seen.note(event["object"])


def _is_at_rest(kubectl: Kubectl, files: dict[str, Path]) -> bool:
    """Return whether all conditions are True, and the watches have told of each resource as it is now."""
    told = {_version(event["object"]) for path in files.values() for event in _events(path.read_text())}
    found = json.loads(kubectl("get", ",".join(files), "--output=json"))["items"]
    stated = [condition for item in found for condition in item.get("status", {}).get("conditions", ())]
    return all(one["status"] == "True" for one in stated) and {_version(item) for item in found} <= told


def _version(resource: dict[str, Any]) -> tuple[str, str]:
    return resource["metadata"]["uid"], resource["metadata"]["resourceVersion"]


def _watch(kubectl: Kubectl, kind: str, path: Path) -> "subprocess.Popen[bytes]":
    command = kubectl.command("get", kind, "--watch", "--output-watch-events", "--output=json")
    with path.open("wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)


def _events(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        try:
            event, end = decoder.raw_decode(text)
        except ValueError:
            return  # The last one was cut when the watch ended.
        yield event
        text = text[end:]
