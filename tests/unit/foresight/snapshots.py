"""A cloud at one moment, for tests of what is explained of it."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from stackwright.foresight.objects import Objects
from stackwright.foresight.snapshot import DatedEvent, Snapshot
from stackwright.kube.builtin import Deployment, PersistentVolumeClaim, Pod, ReplicaSet, StatefulSet
from stackwright.kube.resource import Resource
from tests.unit.foresight.clouds import galera, keystone, kind, made, ready

NOW = datetime(2026, 11, 15, 10, 5, tzinfo=UTC)
WAITING = ready("False", "Info", "Galera openstack: StatefulSet openstack-galera has 0 of 1 pods ready", "Progressing")


def told(of: Resource, reason: str, note: str, last: str = "2026-11-15T10:02:00Z", kind: str = "Warning") -> DatedEvent:
    regarding = {"kind": of.kind.name, "name": of.metadata.name, "uid": of.metadata.uid}
    body = {"reason": reason, "note": note, "type": kind, "regarding": regarding, "deprecatedLastTimestamp": last}
    return msgspec.convert({"metadata": {"name": f"{of.metadata.name}.{last}"}, **body}, DatedEvent)


def container(state: Any, *, name: str = "api", **fields: Any) -> Any:
    return {
        "name": name,
        "image": "registry.example/api:1",
        "ready": False,
        "restartCount": 0,
        "state": state,
        **fields,
    }


def pod(name: str, owner: Resource | None = None, **status: Any) -> Pod:
    """Return a pod that is scheduled, with a status."""
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-15T10:00:01Z"}
    spec = {"nodeName": "one", "containers": [{"name": "api"}], **status.pop("spec", {})}
    stated = {"phase": "Pending", "conditions": [scheduled, *status.pop("conditions", [])], **status}
    found: Pod = made(Pod, name, owner=owner, spec=spec, status=stated)
    return found


def snapshot(*objects: Resource, **fields: Any) -> Snapshot:
    """Return a snapshot, the objects in their places."""
    beside = (Pod, ReplicaSet, PersistentVolumeClaim, DatedEvent)
    return Snapshot(
        Objects(item for item in objects if not isinstance(item, beside)),
        NOW,
        pods=tuple(item for item in objects if isinstance(item, Pod)),
        replica_sets=tuple(item for item in objects if isinstance(item, ReplicaSet)),
        claims=tuple(item for item in objects if isinstance(item, PersistentVolumeClaim)),
        events=tuple(item for item in objects if isinstance(item, DatedEvent)),
        **{"classes": frozenset({"local"}), **fields},
    )


def waiting_cloud() -> tuple[Any, ...]:
    """Return a Keystone that waits for its database, whose server waits for its only pod."""
    identity = keystone(status=WAITING)
    server = galera(status=ready("False", "Info", "StatefulSet openstack-galera has 0 of 1 pods ready", "Progressing"))
    schema = made(
        kind("MariaDBDatabase"),
        "keystone",
        metadata={"labels": {"dbName": "openstack"}},
        spec={"name": "keystone"},
        status=ready("False", "Info", "Galera openstack is not ready yet", "MariaDBServerNotReady"),
    )
    account = made(
        kind("MariaDBAccount"),
        "keystone",
        metadata={"labels": {"mariaDBDatabaseName": "keystone"}},
        spec={"userName": "keystone", "secret": "s"},
        status=ready("False", "Info", "MariaDBDatabase keystone is not ready yet", "MariaDBDatabaseNotReady"),
    )
    cache = made(kind("Memcached"), "memcached", spec={}, status=ready())
    nodes = made(StatefulSet, "openstack-galera", owner=server, spec={"replicas": 1}, status={"observedGeneration": 1})
    return identity, server, schema, account, cache, nodes


def deployed(replicas: int = 1) -> tuple[Any, Deployment, ReplicaSet]:
    """Return a Keystone whose pods are not ready, with what makes them."""
    identity = keystone(status=ready("False", "Info", "Deployment keystone has 0 of 1 pods ready", "Progressing"))
    server = made(Deployment, "keystone", owner=identity, spec={"replicas": replicas}, status={"observedGeneration": 1})
    old = {"annotations": {"deployment.kubernetes.io/revision": "2"}}
    return identity, server, made(ReplicaSet, "keystone-1", owner=server, metadata=old)
