"""Our definitions on a real server: they are accepted, they default, they refuse, and what is there stays there."""

import secrets
from typing import Any

import msgspec
import pytest

from stackwright.kube import fields
from stackwright.kube.builtin import CustomResourceDefinition
from stackwright.kube.client import Client
from stackwright.kube.crd import generate, install
from stackwright.kube.errors import Invalid
from stackwright.kube.resource import CustomResource, JsonObject
from tests.functional.crds.samples import EXAMPLES, KINDS, LEAST, UPSTREAM, documents, resource

pytestmark = pytest.mark.usefixtures("definitions")


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_every_definition_is_accepted_and_served(client: Client, kind: type[CustomResource]) -> None:
    definition = await client.get(CustomResourceDefinition, kind.kind.crd_name)

    conditions = {entry["type"]: entry["status"] for entry in definition.status["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    # So the next install does not trouble the server with it.
    assert install.matches(await client.get(install.Installed, kind.kind.crd_name), generate.manifest(kind))


@pytest.mark.parametrize("kind", LEAST)
async def test_the_server_defaults_as_our_types_do(client: Client, place: str, kind: str) -> None:
    body = resource(kind, place)
    written = await client.create(KINDS[kind], body)

    # What the server stored, with its defaults in it, is what our own defaults make of the same words.
    ours = msgspec.convert(body, KINDS[kind])
    assert spec_of(written) == spec_of(ours)


def spec_of(resource: CustomResource) -> JsonObject:
    """Return the whole spec, with all defaults written out."""
    return everything(resource.spec)  # type: ignore[attr-defined, no-any-return]  # each of our kinds has one


def everything(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        # Under the names that YAML has.
        known = msgspec.structs.fields(value)
        return {field.encode_name: everything(getattr(value, field.name)) for field in known}
    if isinstance(value, dict):
        return {name: everything(content) for name, content in value.items()}
    return [everything(item) for item in value] if isinstance(value, tuple | list) else value


@pytest.mark.parametrize(
    ("kind", "given", "stored"),
    [
        pytest.param("KeystoneAPI", {}, {"replicas": 1, "region": "regionOne"}, id="a-field"),
        pytest.param(
            "KeystoneAPI", {}, {"passwordSelectors": {"admin": "AdminPassword"}}, id="a-field-of-an-absent-part"
        ),
        pytest.param(
            "KeystoneAPI",
            {"httpdCustomization": {"customConfigSecret": "mine"}},
            {"httpdCustomization": {"customConfigSecret": "mine", "processNumber": 3}},
            id="the-other-field-of-a-part-that-was-given",
        ),
        pytest.param(
            "OpenStackControlPlane",
            {"tls": {"podLevel": {"internal": {"ca": {"customIssuer": "mine"}}}}},
            {
                "tls": {
                    "ingress": {"enabled": True, "ca": {"duration": "87600h"}, "cert": {"duration": "43800h"}},
                    "podLevel": {"internal": {"ca": {"customIssuer": "mine", "duration": "87600h"}}},
                }
            },
            id="parts-within-parts",
        ),
        pytest.param(
            "RabbitMq",
            {},
            {"resources": {"limits": {"cpu": "2000m"}}, "persistence": {"storage": "10Gi"}},
            id="a-part-with-values-of-its-own",
        ),
        pytest.param(
            "RabbitMq",
            {"resources": {"limits": {"cpu": 1}}},
            {"resources": {"limits": {"cpu": 1}}},
            id="a-part-that-was-given-is-not-mixed-with-its-default",
        ),
    ],
)
async def test_what_is_left_out_is_defaulted(
    client: Client, place: str, kind: str, given: JsonObject, stored: JsonObject
) -> None:
    written = await client.create(KINDS[kind], resource(kind, place, given))

    assert fields.covers(msgspec.to_builtins(spec_of(written)), stored)


async def test_a_map_that_is_empty_is_another_thing_than_an_absent_one(client: Client, place: str) -> None:
    absent = await client.create(KINDS["Memcached"], resource("Memcached", place))
    empty = await client.create(KINDS["Memcached"], resource("Memcached", place, {"nodeSelector": {}}))

    assert spec_of(absent)["nodeSelector"] is None
    assert spec_of(empty)["nodeSelector"] == {}


@pytest.mark.parametrize(
    ("kind", "given", "field", "words"),
    [
        pytest.param("KeystoneAPI", {"replicas": 33}, "spec.replicas", "less than or equal to 32", id="too-many"),
        pytest.param("Memcached", {"replicas": 0}, "spec.replicas", "greater than or equal to 1", id="too-few"),
        pytest.param("Galera", {"replicas": 4}, "spec.replicas", "less than or equal to 3", id="a-narrower-bound"),
        pytest.param("KeystoneAPI", {"replicas": "two"}, "spec.replicas", "integer", id="a-word-for-a-number"),
        pytest.param("KeystoneAPI", {"secret": ""}, "spec.secret", "at least 1 char", id="an-empty-name"),
        pytest.param(
            "OpenStackDataPlaneNode", {"role": ""}, "spec.role", "at least 1 char", id="a-node-without-a-role"
        ),
        pytest.param(
            "OpenStackDataPlaneNode",
            {"node": {"ansiblePort": 65536}},
            "spec.node.ansiblePort",
            "less than or equal to 65535",
            id="no-port",
        ),
        pytest.param(
            "OpenStackDataPlaneNode", {"ansibleHost": "a b"}, "spec.ansibleHost", "should match", id="no-address"
        ),
        pytest.param(
            "OpenStackDataPlaneRole",
            {"maxUnavailable": "0%"},
            "spec.maxUnavailable",
            "should match",
            id="no-percentage",
        ),
        pytest.param(
            "OpenStackDataPlaneRole", {"services": ["a", "a"]}, "spec.services[1]", "Duplicate", id="a-service-twice"
        ),
        pytest.param(
            "OpenStackDataPlane",
            {"nodes": {"": {"role": "compute"}}},
            "spec.nodes",
            "a name has 1 to 253",
            id="a-node-without-a-name",
        ),
        pytest.param(
            "OpenStackDataPlaneService",
            {"role": "a.b.c"},
            "spec",
            "exactly one of playbook",
            id="a-playbook-and-a-role",
        ),
        pytest.param("MariaDBDatabase", {"name": "a-b"}, "spec.name", "should match", id="a-schema-with-a-dash"),
        pytest.param("MariaDBDatabase", {"name": "a" * 65}, "spec.name", "may not be more than 64", id="a-long-schema"),
        pytest.param("Galera", {"storageRequest": "big"}, "spec.storageRequest", "must match", id="no-quantity"),
        pytest.param("KeystoneAPI", {"provisioning": "Magic"}, "spec.provisioning", "InProcess", id="no-such-way"),
        pytest.param(
            "KeystoneAPI", {"trustFlushSchedule": "* * *"}, "spec.trustFlushSchedule", "is not a cron", id="no-schedule"
        ),
        pytest.param(
            "KeystoneAPI",
            {"override": {"probes": {"livenessProbes": {"path": "v3"}}}},
            "spec.override.probes.livenessProbes.path",
            "should match",
            id="a-path-without-a-slash",
        ),
        pytest.param(
            "KeystoneAPI",
            {"override": {"probes": {"startupProbes": {"type": "Exec"}}}},
            "spec.override.probes.startupProbes.command",
            "command is required for exec probe type",
            id="a-probe-that-runs-nothing",
        ),
        pytest.param(
            "KeystoneAPI",
            {"override": {"service": {"admin": {}}}},
            "spec.override.service",
            "only have the keys public, internal",
            id="an-endpoint-that-is-none",
        ),
        pytest.param(
            "KeystoneAPI",
            {"externalKeystoneAPI": True, "override": {"service": {"public": {"endpointURL": "https://a"}}}},
            "spec.override",
            "both its endpoints",
            id="a-keystone-elsewhere-with-one-url-only",
        ),
        pytest.param(
            "KeystoneAPI",
            {"notificationsBus": {"user": "me"}},
            "spec.notificationsBus.cluster",
            "Required value",
            id="a-broker-without-a-name",
        ),
        pytest.param(
            "KeystoneAPI",
            {"actions": [{"name": "restart", "id": "1"}, {"name": "sync-database", "id": "1"}]},
            "spec.actions[1]",
            "Duplicate value",
            id="two-actions-of-one-id",
        ),
        pytest.param(
            "KeystoneEndpoint",
            {"endpoints": {"public": "image.example.org"}},
            "spec.endpoints.public",
            "should match",
            id="a-url-without-a-scheme",
        ),
        pytest.param(
            "MariaDBAccount", {"accountType": "Root"}, "spec.accountType", "Unsupported value", id="no-such-account"
        ),
        pytest.param(
            "OpenStackControlPlane", {"dependencyPolicy": "Ignore"}, "spec.dependencyPolicy", "Deploy", id="no-policy"
        ),
        pytest.param(
            "OpenStackControlPlane",
            {"tls": {"ingress": {"cert": {"duration": "ten years"}}}},
            "spec.tls.ingress.cert.duration",
            "should match",
            id="no-duration",
        ),
        pytest.param(
            "RabbitMq",
            {"rabbitmq": {"additionalPlugins": ["a b"]}},
            "spec.rabbitmq.additionalPlugins[0]",
            "should match",
            id="no-plugin",
        ),
    ],
)
async def test_what_cannot_work_is_refused_with_its_path(
    client: Client, place: str, kind: str, given: JsonObject, field: str, words: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        await client.create(KINDS[kind], resource(kind, place, given))

    causes = {cause.field: cause.message for cause in refusal.value.causes}
    assert field in causes, causes
    assert words in causes[field]


@pytest.mark.parametrize("kind", [kind for kind in LEAST if LEAST[kind]])
async def test_each_field_that_is_needed_is_asked_for(client: Client, place: str, kind: str) -> None:
    for field in LEAST[kind]:
        body = resource(kind, place)
        del body["spec"][field]

        with pytest.raises(Invalid) as refusal:
            await client.create(KINDS[kind], body)

        # A field that is needed only now and then is asked for by a rule of the whole spec, which names it.
        assert any(cause.field == f"spec.{field}" or field in cause.message for cause in refusal.value.causes)


@pytest.mark.parametrize("kind", ["Galera", "Memcached", "RabbitMq"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("a" * 53, "at most 52 characters", id="too-long-for-the-labels-of-its-pods"),
        pytest.param("my.database", "DNS label", id="with-a-dot-in-it"),
    ],
)
async def test_a_name_from_which_names_are_made_must_allow_it(
    client: Client, place: str, kind: str, name: str, words: str
) -> None:
    with pytest.raises(Invalid, match=words):
        await client.create(KINDS[kind], resource(kind, place, name=name))


@pytest.mark.parametrize(
    ("kind", "before", "after", "field", "words"),
    [
        pytest.param("MariaDBDatabase", {}, {"name": "other"}, "spec.name", "cannot be renamed", id="a-schema's-name"),
        pytest.param("MariaDBAccount", {}, {"userName": "other"}, "spec.userName", "renamed", id="an-account's-name"),
        pytest.param(
            "MariaDBAccount", {}, {"accountType": "System"}, "spec.accountType", "another", id="an-account's-type"
        ),
        pytest.param(
            "KeystoneAPI", {}, {"databaseInstance": "x"}, "spec.databaseInstance", "an empty one", id="a-database"
        ),
        pytest.param(
            "KeystoneAPI",
            {},
            {
                "externalKeystoneAPI": True,
                "override": {
                    "service": {"public": {"endpointURL": "http://a"}, "internal": {"endpointURL": "http://b"}}
                },
            },
            "spec.externalKeystoneAPI",
            "between deployed and external",
            id="whose-keystone-it-is",
        ),
        pytest.param("KeystoneService", {}, {"serviceName": "x"}, "spec.serviceName", "renamed", id="a-service's-name"),
        pytest.param(
            "KeystoneEndpoint", {}, {"serviceName": "x"}, "spec.serviceName", "move", id="whose-endpoint-it-is"
        ),
        pytest.param("Galera", {}, {"storageClass": "x"}, "spec.storageClass", "StorageClass", id="a-storage-class"),
        pytest.param(
            "RabbitMq",
            {},
            {"persistence": {"storageClassName": "x"}},
            "spec.persistence.storageClassName",
            "StorageClass",
            id="a-storage-class-that-was-the-default-one",
        ),
        pytest.param(
            "RabbitMq",
            {"persistence": {"storageClassName": "x"}},
            {"persistence": {"storageClassName": None}},
            "spec.persistence.storageClassName",
            "StorageClass",
            id="a-storage-class-that-is-taken-away",
        ),
    ],
)
async def test_what_must_stay_as_it_is_stays(
    client: Client, place: str, kind: str, before: JsonObject, after: JsonObject, field: str, words: str
) -> None:
    written = await client.create(KINDS[kind], resource(kind, place, before))

    with pytest.raises(Invalid) as refusal:
        await client.patch(KINDS[kind], written.metadata.name, place, {"spec": after})

    causes = {cause.field: cause.message for cause in refusal.value.causes}
    assert words in causes[field], causes


async def test_a_volume_may_grow_and_what_was_asked_for_can_be_taken_back(client: Client, place: str) -> None:
    galera, broker = KINDS["Galera"], KINDS["RabbitMq"]
    database = await client.create(galera, resource("Galera", place))
    queue = await client.create(broker, resource("RabbitMq", place))

    database = await client.patch(galera, database.metadata.name, place, {"spec": {"storageRequest": "10Gi"}})
    queue = await client.patch(broker, queue.metadata.name, place, {"spec": {"persistence": {"storage": "11Gi"}}})

    assert spec_of(database)["storageRequest"] == "10Gi"
    assert spec_of(queue)["persistence"]["storage"] == "11Gi"

    database = await client.patch(galera, database.metadata.name, place, {"spec": {"storageRequest": "10G"}})
    queue = await client.patch(broker, queue.metadata.name, place, {"spec": {"persistence": {"storage": "10Gi"}}})

    assert spec_of(database)["storageRequest"] == "10G"
    assert spec_of(queue)["persistence"]["storage"] == "10Gi"


@pytest.mark.parametrize(
    "body",
    [body for path in (*sorted(EXAMPLES.glob("*.yaml")), UPSTREAM) for body in documents(path)],
    ids=lambda body: f"{body['kind']}-{body['metadata']['name']}",
)
async def test_examples_are_accepted_and_stored_as_they_are(client: Client, place: str, body: JsonObject) -> None:
    kind = KINDS[body["kind"]]
    name = f"{body['metadata']['name']}-{secrets.token_hex(3)}"
    body = body | {"metadata": body["metadata"] | {"name": name, "namespace": place}}

    await client.create(kind, body)

    # The typed object first: a decode that loses or refuses a field of the examples would be ours to mend.
    typed = await client.get(kind, name, place)
    assert fields.covers(everything(typed), {"spec": everything(body["spec"] or {})})
