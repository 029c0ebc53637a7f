"""What is Barbican's own, beside what its row says: its broker, its worker, and the key that it encrypts with."""

import pytest

from stackwright.api.rabbitmq import TransportURL
from stackwright.kube.builtin import Deployment, Secret
from tests.functional.services.case import FERNET_KEY, ServiceCase
from tests.functional.services.cases.barbican import CASES
from tests.functional.services.place import Place
from tests.functional.watching import eventually, is_ready

KEY = "BarbicanSimpleCryptoKEK"
NOTE = "key-simplecryptokek"
OTHER_KEY = "YW5vdGhlci1rZXktb2YtMzItYnl0ZXMtb2YtYmFyYmk="


@pytest.fixture
def case() -> ServiceCase:
    return CASES[0]


async def replace_key(place: Place, key: str) -> None:
    await place.client.patch(Secret, "osp-secret", place.namespace, {"stringData": {KEY: key}})


async def test_its_parts_call_each_other_through_the_broker_and_encrypt_with_the_key(standing: Place) -> None:
    await standing.ask()
    ready = await standing.up()
    assert ready.status.transportURLSecret == "rabbitmq-transport-url-barbican-messaging"
    (bus,) = await standing.client.list(TransportURL, standing.namespace)
    assert (bus.metadata.name, bus.spec.rabbitmqClusterName) == ("barbican-messaging", "rabbitmq")
    config = await standing.decoded("barbican-config-data")
    assert f"kek = {FERNET_KEY}" in config["01-barbican.conf"]


async def test_its_listener_comes_and_goes_and_each_component_has_its_condition(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask(barbicanKeystoneListener={"replicas": 1})
    ready = await standing.up()
    assert ready.status.readyCount == 3
    said = {condition.type: condition.status for condition in ready.status.conditions}
    for name in ("BarbicanAPIReady", "BarbicanWorkerReady", "BarbicanKeystoneListenerReady", "ServiceAccountReady"):
        assert said[name] == "True"
    listener = await client.get(Deployment, "barbican-keystone-listener", namespace)
    config = await standing.decoded("barbican-config-data")
    assert "pool_name = barbican-listener" in config["keystone-listener-01-barbican.conf"]
    assert listener.spec["replicas"] == 1
    before = await client.get(Deployment, "barbican", namespace)
    await standing.ask()
    await eventually(
        client,
        standing.case.kind,
        "barbican",
        namespace,
        lambda seen: is_ready(seen) and seen.status.readyCount == 2,
    )
    assert await client.find(Deployment, "barbican-keystone-listener", namespace) is None
    after = await client.get(Deployment, "barbican", namespace)
    assert after.spec["template"] == before.spec["template"]


async def test_only_the_part_that_reads_a_snippet_is_rolled(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask()
    await standing.up()
    api = await client.get(Deployment, "barbican", namespace)
    worker = await client.get(Deployment, "barbican-worker", namespace)
    await standing.ask(barbicanWorker={"customServiceConfig": "[queue]\nasynchronous_workers = 2"})
    before = worker.metadata.generation
    await eventually(client, Deployment, "barbican-worker", namespace, lambda seen: seen.metadata.generation > before)
    await standing.up()
    assert (await client.get(Deployment, "barbican", namespace)).metadata.generation == api.metadata.generation


async def test_a_key_that_is_none_is_named_and_not_shown(standing: Place) -> None:
    await replace_key(standing, "sesame")
    await standing.ask()
    seen = await standing.told(f"under {KEY} is not a Fernet key", "InputReady")
    assert "sesame" not in str(seen.status)
    await replace_key(standing, FERNET_KEY)
    await standing.up()


async def test_another_key_than_the_one_that_was_encrypted_with_is_not_taken_in_silence(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask()
    ready = await standing.up()
    before = await standing.decoded("barbican-config-data")
    await replace_key(standing, OTHER_KEY)
    word = ready.status.hash[NOTE]
    blocked = await standing.told(f"accept-loss: {word}", "InputReady")
    assert {found.reason for found in blocked.status.conditions if found.type == "InputReady"} == {"SecretLost"}
    assert blocked.status.hash[NOTE] == word
    assert await standing.decoded("barbican-config-data") == before
    change = {"metadata": {"annotations": {"openstack.org/accept-loss": word}}}
    await client.patch(standing.case.kind, "barbican", namespace, change)
    await eventually(client, standing.case.kind, "barbican", namespace, lambda seen: seen.status.hash[NOTE] != word)
