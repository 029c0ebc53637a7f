"""Values out of range are refused by the schema itself, so that nothing is lost where the webhook is off."""

import pytest

from stackwright.kube.client import Client
from stackwright.kube.errors import Invalid
from stackwright.kube.resource import JsonObject
from tests.functional.crds.samples import KINDS, resource


def exposed(**settings: object) -> JsonObject:
    return {"override": {"service": {"public": {"spec": settings}}}}


REFUSED = [
    ("KeystoneAPI", {"trustFlushSchedule": "60 * * * *"}, "spec.trustFlushSchedule"),
    ("KeystoneAPI", {"trustFlushSchedule": "* * * * 7"}, "spec.trustFlushSchedule"),
    ("Glance", {"dbPurge": {"schedule": "* 24 * * *"}}, "spec.dbPurge.schedule"),
    ("Galera", {"storageRequest": "0"}, "spec.storageRequest"),
    ("Galera", {"storageRequest": "-1G"}, "spec.storageRequest"),
    ("Glance", {"storage": {"storageRequest": "0Gi"}}, "spec.storage.storageRequest"),
    ("RabbitMq", {"persistence": {"storage": 0}}, "spec.persistence.storage"),
    ("Memcached", {"resources": {"limits": {"memory": -1}}}, "spec.resources.limits"),
    ("Memcached", {"resources": {"limits": {"memory": "-1Gi"}}}, "spec.resources.limits"),
    ("RabbitMq", {"persistence": {"storage": "0.0Gi"}}, "spec.persistence.storage"),
    ("KeystoneAPI", {"containerImage": "Not An Image"}, "spec.containerImage"),
    ("Barbican", {"containerImage": "http://registry/x"}, "spec.containerImage"),
    ("KeystoneAPI", {"fernetMaxActiveKeys": 2}, "spec.fernetMaxActiveKeys"),
    ("KeystoneAPI", exposed(nodePort=65536), "nodePort"),
    ("PlacementAPI", {"databaseAccount": "Not_A_Name"}, "spec.databaseAccount"),
    ("PlacementAPI", {"secret": "s" * 254}, "spec.secret"),
    ("RabbitMq", {"replicas": 33}, "spec.replicas"),
    (
        "OpenStackControlPlane",
        {"keystone": {"template": {"trustFlushSchedule": "* * 0 * *"}}},
        "spec.keystone.template.trustFlushSchedule",
    ),
    (
        "OpenStackControlPlane",
        {"rabbitmq": {"templates": {"one": {"persistence": {"storage": "0"}}}}},
        "persistence.storage",
    ),
    (
        "OpenStackControlPlane",
        {"galera": {"templates": {"openstack": {"storageRequest": "0"}}}},
        "spec.galera.templates[openstack].storageRequest",
    ),
]


@pytest.mark.parametrize(("kind", "spec", "field"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
async def test_a_value_out_of_range_is_refused(
    client: Client, place: str, kind: str, spec: JsonObject, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await client.create(KINDS[kind], resource(kind, place, spec))
    assert field in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("KeystoneAPI", {"trustFlushSchedule": "*/15 0-6 1,15 jan-MAR mon", "replicas": 0}),
        ("KeystoneAPI", {"trustFlushSchedule": "@daily", "containerImage": "localhost:5000/a/b:1@sha256:" + "0" * 64}),
        ("KeystoneAPI", {"resources": {"requests": {"cpu": 1, "memory": "0"}, "limits": {"cpu": "1000m"}}}),
        ("Galera", {"storageRequest": "1e10"}),
        ("KeystoneAPI", exposed(type="NodePort", nodePort=20000)),
    ],
    ids=["cron", "image", "requests", "exponent", "another-range-of-ports"],
)
async def test_what_can_work_is_taken(client: Client, place: str, kind: str, spec: JsonObject) -> None:
    await client.create(KINDS[kind], resource(kind, place, spec))
