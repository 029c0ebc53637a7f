"""A Keystone and all that it needs, and what is decided for it."""

import base64
from typing import Any

import msgspec

from stackwright.api.base import ObjectMeta
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.controllers.service.decide import Intent, Seen, decide
from stackwright.controllers.service.rings import NEEDED_FOR, TURNED_AT
from stackwright.kube.builtin import Plain, Secret, Service
from stackwright.kube.resource import Resource
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE
from stackwright.services.keystone.settings import KeystoneFacts
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.memcached.kinds import Memcached
from tests.unit.controllers.environments import ENVIRONMENT, NOW

TURNED = "2026-11-15T00:00:00Z"


def made(kind: type[Any], name: str, **content: Any) -> Any:
    body = {"metadata": {"name": name, "namespace": "openstack", "creationTimestamp": "2026-11-15T00:00:00Z"}}
    return msgspec.convert({**body, **content}, kind)


def secret(name: str, annotations: dict[str, str] | None = None, **texts: str) -> Secret:
    data = {key.removeprefix("_"): base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    metadata = ObjectMeta(
        name=name,
        namespace="openstack",
        creationTimestamp="2026-11-15T00:00:00Z",
        annotations=annotations or {TURNED_AT: TURNED},
    )
    return Secret(metadata=metadata, data=data)


def world(*others: Resource) -> dict[tuple[type[Resource], str], Resource]:
    """Return all that a Keystone needs, with some of it replaced."""
    there = (
        secret("osp-secret", AdminPassword="wonderland"),
        secret("keystone-db-secret", DatabasePassword="secret"),
        secret("keystone-fernet-keys", {TURNED_AT: TURNED, NEEDED_FOR: '{"1": 176400}'}, _0="staged", _1="primary"),
        secret("keystone-credential-keys", _0="staged", _1="primary"),
        made(
            Galera,
            "openstack",
            spec={"storageClass": "local", "storageRequest": "1G"},
            status={"hostname": "openstack.openstack.svc", "port": 3306, "bootstrapped": True},
        ),
        made(Memcached, "memcached", spec={}, status={"serverList": ["memcached-0:11211"]}),
        made(MariaDBDatabase, "keystone", spec={"name": "keystone"}, status={"completed": True}),
        made(
            MariaDBAccount,
            "keystone",
            spec={"userName": "keystone", "secret": "keystone-db-secret"},
            status={"currentSecret": "keystone-db-secret"},
        ),
        *(made(Service, f"keystone-{end}", spec={"type": "ClusterIP"}) for end in ("public", "internal")),
    )
    return {(type(item), item.metadata.name): item for item in (*there, *others)}


def keystone(**spec: Any) -> KeystoneAPI:
    resource: KeystoneAPI = made(
        KeystoneAPI, "keystone", spec={"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    )
    return resource


def decided(resource: KeystoneAPI, *others: Resource, workloads: tuple[Plain, ...] = ()) -> Intent[KeystoneFacts]:
    there = world(*others)

    def look(kind: type[Any], name: str, **_: str) -> Any:
        return there.get((kind, name))

    return decide(SERVICE, resource, Seen(look, NOW, workloads), ENVIRONMENT)
