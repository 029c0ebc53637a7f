"""Reads rendered objects, whatever is in them: where a part is not what it should be, the server refuses the object."""

from collections.abc import Iterable
from typing import Any

from stackwright.blueprint.whole_numbers import read_number
from stackwright.kube.resource import JsonObject


def name_of(body: JsonObject) -> str:
    """Return the name of an object."""
    return str(field(body, "metadata").get("name", ""))


def job_of(body: JsonObject) -> JsonObject:
    """Return the template of the Jobs that a CronJob makes; any other object is returned as it is."""
    return field(field(body, "spec"), "jobTemplate") if body.get("kind") == "CronJob" else body


def template_of(body: JsonObject) -> JsonObject:
    """Return the template of the pods that an object makes."""
    return field(field(job_of(body), "spec"), "template")


def pod_of(body: JsonObject) -> JsonObject:
    """Return the spec of the pods that an object makes."""
    return field(template_of(body), "spec")


def field(body: JsonObject, name: str) -> JsonObject:
    """Return a part of an object that is a map; an empty one if it is none."""
    found: Any = body.get(name)
    return found if isinstance(found, dict) else {}


def is_volume_of(claim: str, template: JsonObject, stateful_set: str) -> bool:
    """Return whether a PersistentVolumeClaim has the name of one that a StatefulSet makes from a template."""
    before, _, number = claim.rpartition("-")
    return before == f"{name_of(template)}-{stateful_set}" and read_number(number) is not None


def items(body: JsonObject, name: str) -> Iterable[JsonObject]:
    """Return the maps in a part of an object that is a list; none if it is no list."""
    found: Any = body.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
