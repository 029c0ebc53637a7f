"""What a Keystone comes to, given what is in the caches: key rings, actions and input that cannot be."""

import base64
from typing import Any

import msgspec
import pytest

from stackwright.api.annotations import ACCEPT_LOSS, GENERATED_AGAIN
from stackwright.api.base import ObjectMeta
from stackwright.blueprint import names
from stackwright.blueprint.secret_values import encode
from stackwright.blueprint.text_lengths import SECRET
from stackwright.blueprint.values import select_nodes
from stackwright.controllers.service.decide import Seen, decide
from stackwright.controllers.service.failed_jobs import again_in
from stackwright.controllers.service.rings import (
    SPREAD,
    TURNED_AT,
    Spread,
    Turn,
    name_of,
)
from stackwright.kube.builtin import Deployment, Job, Secret, StorageClass
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Ends
from stackwright.services.barbican.kinds import Barbican
from stackwright.services.barbican.service import SERVICE as BARBICAN
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.mariadb.service import SERVICE as MARIADB
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.services.rabbitmq.service import SERVICE as RABBITMQ
from tests.unit.controllers.environments import ENVIRONMENT, NOW
from tests.unit.controllers.keystones import decided, keystone, made, secret, world

ROTATE = [{"name": "rotate-credential-keys", "id": "1"}]


def test_configuration_that_no_secret_can_hold_is_refused_before_anything_rolls() -> None:
    long = secret("keystone-db-secret", DatabasePassword="x" * SECRET)
    with pytest.raises(
        Blocked, match=r"would have \d+ bytes, and Kubernetes takes 1048576\. Its longest file is"
    ) as said:
        decided(keystone(), long)
    assert (said.value.reason, said.value.condition) == ("InvalidInput", "InputReady")


@pytest.mark.parametrize("provisioning", ["InProcess", "Job"])
def test_jobs_run_on_the_nodes_of_the_service_and_not_again_for_others(provisioning: str) -> None:
    action = [{"name": "trust-flush", "id": "1"}]
    before, after = (
        decided(keystone(provisioning=provisioning, actions=action, **said)).values
        for said in ({}, {"nodeSelector": {"openstack": "enabled"}})
    )
    assert before is not None
    assert after is not None
    provision = {"provision"} if provisioning == "Job" else set()
    for word in ({"jobs", "schedules", "actions"} & before.keys()) | provision:
        assert before[word]
        for name, part in after[word].items():
            assert part == {**before[word][name], "nodeSelector": {"openstack": "enabled"}}
    assert {"jobs", "schedules"} | provision <= before.keys()


def test_a_job_that_is_there_keeps_its_nodes_in_the_values() -> None:
    before = decided(keystone()).values
    assert before is not None
    sync = names.job("keystone", "db-sync", before["jobs"]["db-sync"]["hash"])
    done = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
    there = made(Job, sync, spec={"template": {"spec": {"containers": []}}}, status=done)
    after = decided(keystone(nodeSelector={"openstack": "enabled"}), there).values
    assert after is not None
    assert after["jobs"]["db-sync"] == before["jobs"]["db-sync"]
    assert after["jobs"]["bootstrap"]["nodeSelector"] == {"openstack": "enabled"}


def test_jobs_run_on_the_nodes_of_the_first_component_where_components_have_their_own() -> None:
    template = {"nodeSelector": {"cell": "1"}}
    resource = made(Barbican, "barbican", spec={"databaseInstance": "openstack", "barbicanAPI": template})
    found = select_nodes(BARBICAN, resource, {"jobs": {"db-sync": {}}, "provision": {"databases": {"own": {}}}})
    assert found["jobs"] == {"db-sync": template}
    assert found["provision"] == {"databases": {"own": template}}


def turned_ring(*, spread: bool) -> Secret:
    ring = secret("keystone-credential-keys", _0="staged", _1="old", _2="primary")
    annotations = {**ring.metadata.annotations, **({SPREAD: name_of(ring)} if spread else {})}
    return msgspec.structs.replace(ring, metadata=msgspec.structs.replace(ring.metadata, annotations=annotations))


def test_credentials_are_migrated_only_when_every_pod_writes_with_the_new_key() -> None:
    waiting = decided(keystone(), turned_ring(spread=False))
    assert waiting.values is not None
    assert "credential-migrate" not in waiting.values["jobs"]
    assert [type(step) for step in waiting.turns] == [Spread]
    spread = decided(keystone(), turned_ring(spread=True))
    assert spread.values is not None
    assert "credential-migrate" in spread.values["jobs"]
    assert spread.turns == ()


def test_a_changed_configuration_is_written_beside_the_one_that_pods_still_read() -> None:
    own = "keystone-config-data"
    volume = {"name": "config", "secret": {"secretName": own}}
    template = {"metadata": {"annotations": {"openstack.org/config-hash": "of-before"}}, "spec": {"volumes": [volume]}}
    labels = {"app.kubernetes.io/component": "api"}
    running = Deployment(metadata=ObjectMeta(name="keystone", labels=labels), spec={"template": template})
    before = secret(own, old="yes")
    intent = decided(keystone(), before, workloads=(running,))
    written = {item.key.name: item.body for item in intent.children if item.of is Secret}
    assert written[own]["data"] == before.data
    assert intent.values is not None
    mounted = intent.values["components"]["api"]["config"]
    assert mounted == f"{own}-api-{intent.values['components']['api']['hash']}"
    assert written[mounted]["immutable"]
    assert {"01-keystone.conf", "api.json"} <= written[mounted]["data"].keys()


@pytest.mark.parametrize("spread", [False, True], ids=["not spread yet", "spread, and not migrated yet"])
def test_a_key_that_credentials_may_be_written_with_stays_and_the_service_is_as_ready_as_before(
    *, spread: bool
) -> None:
    intent = decided(keystone(actions=ROTATE), turned_ring(spread=spread))
    assert not any(isinstance(step, Turn) for step in intent.turns)
    assert intent.waits == ()
    assert intent.course.statuses[0].state == "Running"
    assert "is rotated once credential-migrate has encrypted everything" in intent.course.statuses[0].result


def test_a_ring_turns_when_everything_is_migrated() -> None:
    ring = turned_ring(spread=True)
    values = decided(keystone(), ring).values
    assert values is not None
    name = f"keystone-credential-migrate-{values['jobs']['credential-migrate']['hash']}"
    job = made(Job, name, status={"conditions": [{"type": "Complete", "status": "True"}]})
    intent = decided(keystone(actions=ROTATE), ring, job)
    assert [type(step) for step in intent.turns] == [Turn]


@pytest.mark.parametrize(
    "annotations",
    [{TURNED_AT: "yesterday"}, {TURNED_AT: "2026-11-15T00:00:00"}],
    ids=["no time at all", "a time without a zone"],
)
def test_a_ring_that_says_nonsense_of_its_age_is_as_old_as_its_secret(annotations: dict[str, str]) -> None:
    intent = decided(keystone(), secret("keystone-fernet-keys", annotations, _0="staged", _1="primary"))
    assert intent.wake == 12 * 3600


def test_days_without_end_are_no_error() -> None:
    intent = decided(keystone(fernetRotationDays=10**10))
    assert intent.turns == ()
    assert intent.wake == 10**10 * 86400 - 12 * 3600


def test_a_ring_that_holds_no_text_is_left_alone() -> None:
    ring = Secret(
        metadata=ObjectMeta(name="keystone-fernet-keys", creationTimestamp="2026-11-15T00:00:00Z"),
        data={"0": base64.b64encode(b"\xff\xfe").decode(), "1": "AAAA"},
    )
    assert decided(keystone(), ring).turns == ()


def with_status(resource: Any, **hashes: str) -> Any:
    """Return a resource whose status notes Secrets that it has worked with."""
    noted = {name.replace("_", "-"): value for name, value in hashes.items()}
    return msgspec.structs.replace(resource, status=msgspec.structs.replace(resource.status, hash=noted))


def without(*names: str) -> Any:
    """Return a look into a world that lacks some Secrets."""
    there = {key: item for key, item in world().items() if key[1] not in names}
    return lambda kind, name, **_: there.get((kind, name))


def test_the_secrets_that_a_service_works_with_are_noted() -> None:
    intent = decided(keystone())
    assert set(intent.noted) == {"keystone-fernet-keys", "keystone-credential-keys"}


def test_on_a_first_install_nothing_is_lost() -> None:
    intent = decide(SERVICE, keystone(), Seen(without("keystone-credential-keys"), NOW), ENVIRONMENT)
    assert [(entry.name, entry.loss) for entry in intent.secrets] == [("keystone-credential-keys", "")]
    assert not any(found.condition == "InputReady" for found in intent.findings)


def test_keys_that_were_deleted_are_made_anew_and_named() -> None:
    resource = with_status(keystone(), keystone_fernet_keys="0123456789")
    intent = decide(SERVICE, resource, Seen(without("keystone-fernet-keys"), NOW), ENVIRONMENT)
    (entry,) = intent.secrets
    assert "Secret keystone-fernet-keys was deleted and is created again" in entry.loss
    assert [(found.condition, found.status) for found in intent.findings if entry.loss in found.message] == [
        ("InputReady", "True")
    ]


def test_keys_that_something_is_written_with_are_not_made_anew_unless_the_loss_is_accepted() -> None:
    resource = with_status(keystone(), keystone_credential_keys="0123456789")
    seen = Seen(without("keystone-credential-keys"), NOW)
    with pytest.raises(Blocked) as refused:
        decide(SERVICE, resource, seen, ENVIRONMENT)
    assert refused.value.condition == "InputReady"
    assert "restore it from a backup" in str(refused.value)
    assert "openstack.org/accept-loss: 0123456789" in str(refused.value)
    metadata = msgspec.structs.replace(resource.metadata, annotations={ACCEPT_LOSS: "0123456789, another"})
    accepted = msgspec.structs.replace(resource, metadata=metadata)
    (entry,) = decide(SERVICE, accepted, seen, ENVIRONMENT).secrets
    assert entry.name == "keystone-credential-keys"
    assert entry.loss


@pytest.mark.parametrize(
    ("service", "resource", "lost", "renewed"),
    [
        pytest.param(
            MARIADB,
            made(Galera, "db", spec={"storageClass": "local", "storageRequest": "1G"}),
            "db-mariadb-root",
            True,
            id="root-gets-another-password",
        ),
        pytest.param(
            RABBITMQ, made(RabbitMq, "mq", spec={}), "mq-default-user", False, id="a-broker-keeps-its-first-user"
        ),
        pytest.param(RABBITMQ, made(RabbitMq, "mq", spec={}), "mq-erlang-cookie", False, id="nodes-know-their-cookie"),
    ],
)
def test_passwords_of_what_runs(service: Any, resource: Any, lost: str, *, renewed: bool) -> None:
    noted = with_status(resource, **{lost.replace("-", "_"): "0123456789"})
    seen = Seen(lambda kind, name, **_: made(StorageClass, name) if kind is StorageClass else None, NOW)
    if renewed:
        assert [entry.name for entry in decide(service, noted, seen, ENVIRONMENT).secrets if entry.loss] == [lost]
    else:
        with pytest.raises(Blocked, match=f"Secret {lost} was deleted"):
            decide(service, noted, seen, ENVIRONMENT)


@pytest.mark.parametrize("again", [pytest.param(True, id="made-again"), pytest.param(False, id="the-first-one")])
def test_only_what_took_the_place_of_a_lost_secret_is_told_to_what_runs(*, again: bool) -> None:
    resource = made(RabbitMq, "mq", spec={})
    annotations = {GENERATED_AGAIN: "true"} if again else {}
    lines = "default_user = default_user\ndefault_pass = new\n"
    content = {"username": "default_user", "password": "new", "default_user.conf": lines}
    user = made(Secret, "mq-default-user", data=encode(content))
    user = msgspec.structs.replace(user, metadata=msgspec.structs.replace(user.metadata, annotations=annotations))
    there = {"mq-default-user": user, "mq-erlang-cookie": made(Secret, "mq-erlang-cookie")}
    seen = Seen(lambda kind, name, **_: there.get(name) if kind is Secret else None, NOW)
    (config,) = (
        item for item in decide(RABBITMQ, resource, seen, ENVIRONMENT).children if item.key.name == "mq-config-data"
    )
    assert ("definitions.json" in config.body["data"]) is again


@pytest.mark.parametrize(
    ("overwrite", "sentence"),
    [
        ({"policy.d/a.yaml": "x"}, "spec.defaultConfigOverwrite[policy.d/a.yaml]: is not a file name"),
        ({"..": "x"}, "spec.defaultConfigOverwrite[..]: is not a file name"),
        ({"01-keystone.conf": "x"}, "spec.defaultConfigOverwrite[01-keystone.conf]: is called like a file that is"),
        ({"api.json": "{}"}, "spec.defaultConfigOverwrite[api.json]: is the start configuration of a component"),
    ],
    ids=["a directory", "a hidden name", "our own name", "a start contract"],
)
def test_a_file_that_cannot_lie_beside_ours_is_refused(overwrite: dict[str, str], sentence: str) -> None:
    with pytest.raises(Blocked) as refused:
        decided(keystone(defaultConfigOverwrite=overwrite))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    "url", ["id.example.org", "https://id.example.org/v3", "https://id.example.org/"], ids=["bare", "version", "slash"]
)
def test_a_url_that_nothing_can_be_added_to_is_refused(url: str) -> None:
    with pytest.raises(Blocked) as refused:
        decided(keystone(override={"service": {"public": {"endpointURL": url}}}))
    assert "spec.override.service.public.endpointURL" in str(refused.value)


@pytest.mark.parametrize("password", ["wonderland\n", " wonderland", "\twonderland"], ids=["newline", "blank", "tab"])
def test_a_password_with_blanks_at_its_ends_is_used_nowhere(password: str) -> None:
    intent = decided(keystone(), secret("osp-secret", AdminPassword=password))
    assert intent.values is None
    assert [wait.condition for wait in intent.waits if "key AdminPassword begins or ends" in wait.message] == [
        "InputReady"
    ]


@pytest.mark.parametrize("provisioning", ["InProcess", "Job"])
def test_a_database_password_with_a_newline_does_not_reach_the_configuration(provisioning: str) -> None:
    intent = decided(keystone(provisioning=provisioning), secret("keystone-db-secret", DatabasePassword="secret\n"))
    assert intent.values is None
    assert not any(child.key.name == "keystone-config-data" for child in intent.children)


def test_the_charts_job_gets_no_password_that_ends_in_a_newline() -> None:
    intent = decided(keystone(provisioning="Job"), secret("keystone-db-secret", DatabasePassword="secret\n"))
    assert any("keystone-db-secret: the value of the key DatabasePassword" in wait.message for wait in intent.waits)


def test_a_node_port_of_a_service_that_is_not_at_nodes_is_refused() -> None:
    with pytest.raises(Blocked) as refused:
        decided(keystone(override={"service": {"public": {"spec": {"nodePort": 32187}}}}))
    assert "spec.override.service.public.spec.nodePort: is a node port; set type to NodePort" in str(refused.value)


def test_an_action_on_what_runs_elsewhere_fails_with_a_word() -> None:
    urls = {end: {"endpointURL": "https://id.example.org"} for end in ("public", "internal")}
    asked = [{"name": "restart", "id": "1"}]
    intent = decided(keystone(externalKeystoneAPI=True, override={"service": urls}, actions=asked))
    assert [(status.state, status.result) for status in intent.course.statuses] == [
        ("Failed", "There is no action restart here")
    ]


def test_a_field_that_nothing_reads_is_named_by_every_kind() -> None:
    resource = made(Galera, "openstack", spec={"secret": "osp-secret", "storageRequest": "1G", "logToDisk": True})
    intent = decide(MARIADB, resource, Seen(lambda *_, **__: None, NOW), ENVIRONMENT)
    assert ["spec.logToDisk" in finding.message for finding in intent.findings] == [True]


@pytest.mark.parametrize(
    ("conditions", "left"),
    [
        ([], None),
        ([{"type": "Complete", "status": "True"}], None),
        ([{"type": "Failed", "status": "True", "lastTransitionTime": "2026-11-15T11:59:00Z"}], 240.0),
        ([{"type": "Failed", "status": "True", "lastTransitionTime": "2026-11-15T01:00:00Z"}], 0.0),
    ],
    ids=["runs", "done", "failed just now", "failed long ago"],
)
def test_a_job_that_failed_is_tried_again_after_a_while(conditions: list[dict[str, str]], left: float | None) -> None:
    assert again_in(made(Job, "keystone-db-sync-1", status={"conditions": conditions}), NOW) == left


@pytest.mark.parametrize("provisioning", ["InProcess", "Job"])
@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        pytest.param("mysql", {}, "mysql is a schema of the server itself", id="the-schema-follows-from-the-name"),
        pytest.param("keystone", {"databaseAccount": "root"}, "root is the server's own", id="the-account"),
    ],
)
def test_the_database_servers_own_is_refused(name: str, spec: dict[str, Any], words: str, provisioning: str) -> None:
    body = {"databaseInstance": "openstack", "secret": "osp-secret", "provisioning": provisioning, **spec}
    with pytest.raises(Blocked, match=words):
        decided(made(KeystoneAPI, name, spec=body))


def test_a_mount_without_its_volume_is_refused_also_where_no_webhook_did() -> None:
    mounted = [{"extraVol": [{"volumes": [], "mounts": [{"name": "keys", "mountPath": "/keys"}]}]}]
    with pytest.raises(Blocked) as refused:
        decided(keystone(extraMounts=mounted))
    assert "spec.extraMounts[0].extraVol[0].mounts[0].name: there is no volume keys" in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "reason", "condition"),
    [
        pytest.param({"databaseInstance": "no"}, "MariaDBServerMissing", "DBReady", id="a-database-server"),
        pytest.param({"memcachedInstance": "no"}, "MemcachedMissing", "MemcachedReady", id="a-cache"),
        pytest.param({"secret": "no"}, "SecretMissing", "InputReady", id="a-secret"),
        pytest.param(
            {"notificationsBus": {"cluster": "no"}}, "RabbitMqMissing", "RabbitMqTransportURLReady", id="a-broker"
        ),
    ],
)
def test_what_a_resource_names_and_is_not_there_is_for_its_author_to_bring(
    spec: Any, reason: str, condition: str
) -> None:
    waits = {(wait.reason, wait.condition): wait.ends for wait in decided(keystone(**spec)).waits}
    assert waits[reason, condition] is Ends.BY_AUTHOR


def test_a_value_that_keystone_cannot_read_is_refused_also_without_a_webhook() -> None:
    with pytest.raises(Blocked) as refused:
        decided(keystone(customServiceConfig="[token]\nexpiration = soon\n"))
    assert refused.value.condition in KeystoneAPI.conditions
    assert "spec.customServiceConfig: line 2: [token] expiration must be a whole number" in str(refused.value)
    assert "soon" not in str(refused.value)
