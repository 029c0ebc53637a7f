"""Resources for the tests of ownership: of every kind, with names that meet."""

from typing import Any

import msgspec

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.api.mariadb import DATABASE_LABEL, SERVER_LABEL, MariaDBAccount, MariaDBDatabase
from stackwright.controllers.ownership import TAKEN, Taken
from stackwright.kube.resource import Condition, ObjectMeta
from tests.functional.crds.samples import LEAST

KINDS = {kind.kind.name: kind for kind in services.kinds()}


def made(kind: str, name: str, spec: dict[str, Any] | None = None, **metadata: Any) -> Any:
    """Return a resource that says the least, and what is given besides."""
    about = {"name": name, "namespace": "cloud", "uid": f"{kind}-{name}", "generation": 1, **metadata}
    about.setdefault("creationTimestamp", "2026-11-15T00:00:00Z")
    if KINDS[kind] is MariaDBDatabase:
        about.setdefault("labels", {SERVER_LABEL: "openstack"})
    if KINDS[kind] is MariaDBAccount:
        about.setdefault("labels", {DATABASE_LABEL: name})
    return msgspec.convert({"metadata": about, "spec": LEAST[kind] | (spec or {})}, KINDS[kind])


def seen(resource: Any, *, refused: bool = False) -> CustomResource:
    """Return a resource as it is after a pass over it."""
    ready = Condition(
        type="Ready", status="False" if refused else "True", reason=TAKEN if refused else "Ready", message=""
    )
    status = msgspec.structs.replace(
        resource.status, conditions=(ready,), observedGeneration=resource.metadata.generation
    )
    found: CustomResource = msgspec.structs.replace(resource, status=status)
    return found


def changed(resource: Any) -> Any:
    """Return a resource of which a user has changed something since."""
    metadata = msgspec.structs.replace(resource.metadata, generation=resource.metadata.generation + 1)
    return msgspec.structs.replace(resource, metadata=metadata)


def at_work(resource: Any, **status: Any) -> Any:
    """Return a resource after a pass that has made what it is for."""
    found = seen(resource)
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, **status))


def there(kind: type[Any], name: str, spec: dict[str, Any] | None = None, **metadata: Any) -> Any:
    """Return an object that exists already."""
    found = {"spec": spec} if spec is not None else {}
    return kind(**found, metadata=ObjectMeta(name=name, namespace="cloud", **metadata))


def said(found: tuple[Taken, ...]) -> list[str]:
    """Return what users are told."""
    return [str(each) for each in found]
