"""What is checked in the further volumes that users bring for pods (`extraMounts`). Pure.

The API server would refuse the pods' workload for most of it, long after the user went away, and name fields that the
user never wrote.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from stackwright.api.node_sections import VolumeMounts
from stackwright.api.pods import ExtraMounts, ExtraVolumes
from stackwright.blueprint.admission import fields_called
from stackwright.kube.resource import CustomResource

EXTRA = "extraMounts"


def problems(resource: CustomResource) -> tuple[tuple[str, str], ...]:
    """Return the path of everything that no pod could have, with a sentence that says why."""
    spec = getattr(resource, "spec", None)
    return tuple(
        problem
        for path, found in fields_called("spec", spec, EXTRA)
        if isinstance(found, tuple)
        for position, mount in enumerate(found)
        for problem in _of_set(f"{path}[{position}]", mount)
    )


def _of_set(path: str, mount: Any) -> Iterator[tuple[str, str]]:
    if isinstance(mount, VolumeMounts):
        yield from _of_entry(path, mount)
        return
    # In a template of the umbrella it is a type of its own, with the same fields.
    said = msgspec.convert(msgspec.to_builtins(mount), ExtraMounts)
    for position, entry in enumerate(said.extraVol):
        yield from _of_entry(f"{path}.extraVol[{position}]", entry)


def _of_entry(path: str, entry: ExtraVolumes | VolumeMounts) -> Iterator[tuple[str, str]]:
    names = [volume.get("name") for volume in entry.volumes]
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name:
            yield f"{path}.volumes[{position}].name", "a volume needs a name; add it"
        elif name in names[:position]:
            yield f"{path}.volumes[{position}].name", f"{name} is the name of another volume here; rename one of them"
    known = ", ".join(sorted({name for name in names if isinstance(name, str) and name})) or "none"
    for position, mount in enumerate(entry.mounts):
        if mount.name not in names:
            sentence = f"there is no volume {mount.name} beside it (there is: {known}); add it, or correct the name"
            yield f"{path}.mounts[{position}].name", sentence
        if mount.mountPath in [other.mountPath for other in entry.mounts[:position]]:
            sentence = f"{mount.mountPath} has another mount already; choose another path"
            yield f"{path}.mounts[{position}].mountPath", sentence
