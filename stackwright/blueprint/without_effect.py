"""Fields that upstream has and that change nothing here: accepted, and named where their author looks. Pure.

Admission warns of them, and a condition of the resource names them.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from stackwright.api import paths
from stackwright.api.base import CustomResource
from stackwright.blueprint.service import Service

# Why a field has no effect, by its last step.
WHY = {
    "logToDisk": "the nodes log to their containers alone",
    "networkAttachment": "pods join no further networks yet",
    "networkAttachments": "pods join no further networks yet",
    "podOverride": "clients outside of the cluster reach the broker by override.service",
    "secretBackend": "the default user is always in a Secret",
    "serviceAccount": "the pods have an account with the name of their resource",
    "service": "set override.service instead",
    "skipPostDeploySteps": "there are no such steps",
    "statefulSet": "the fields beside override say what it could say",
    "targetVersion": "the version is that of the image",
}
_NOTHING_READS_IT = "nothing reads it in this release"


def of_service(service: Service[Any, Any], resource: CustomResource) -> Iterator[tuple[str, str]]:
    """Yield the path of each field that was set and has no effect, and why."""
    spec: Any = resource.spec  # type: ignore[attr-defined]  # every service has a spec
    said = msgspec.to_builtins(spec)
    for name in service.unread:
        for path, value in paths.find_all(said, name):
            usual = _usual(type(spec), path)
            # What is on by default, and switched off, is said too.
            if value != usual and (says_something(value) or usual is True):
                yield f"spec.{path}", why(path)


def _usual(spec: type[msgspec.Struct], path: str) -> Any:
    """Return what the field at a path is where nobody sets it; None where there is no such value."""
    first, *rest = paths.split(path)
    for field in msgspec.structs.fields(spec):
        if field.encode_name == first and field.default is not msgspec.NODEFAULT:
            return msgspec.to_builtins(paths.find(field.default, tuple(rest)))
    return None


def why(path: str) -> str:
    """Return why the field at a path has no effect."""
    return WHY.get(path.rpartition(".")[-1], _NOTHING_READS_IT)


def says_something(value: Any) -> bool:
    """Return whether a value is more than an empty form, as exports are full of."""
    match value:
        case dict():
            return any(says_something(entry) for entry in value.values())
        case list() | tuple():
            return any(says_something(entry) for entry in value)
    return value not in (None, "", False)
