"""A release that changes hands between helm and the operator: nothing restarts, and the history goes on."""

import json

import pytest

from stackwright.adapters.helm import records
from stackwright.adapters.helm.records import Record
from stackwright.controllers.release.history import DESCRIPTION
from stackwright.controllers.release.owner import RELEASE_OWNER
from stackwright.kube.builtin import ConfigMap, Deployment, Job, PersistentVolumeClaim, Secret
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from tests.functional.conftest import fresh_namespace
from tests.functional.handovers import assert_helms, assert_operators, settled_pods
from tests.functional.releases import CHART, Hand, Small, ask, hand, operator, pods, revisions, until, without_extra
from tests.functional.watching import eventually, told

__all__ = ["hand", "operator"]


async def installed(hand: Hand, client: Client, *settings: str) -> set[str]:
    """Install by hand, and return the pods once they are there."""
    await hand("install", "small", CHART, "--set", ",".join(("replicas=1", "greeting=hello", *settings)))
    await eventually(client, Deployment, "small", hand.namespace, lambda item: item.status.get("replicas"))
    await eventually(client, Job, "small-once-abc", hand.namespace, lambda item: item.status.get("active"))
    return await pods(client, hand.namespace)


async def test_a_release_made_by_hand_is_not_touched_until_the_user_says(
    operator: None, client: Client, hand: Hand
) -> None:
    running = await installed(hand, client)
    await ask(client, hand.namespace, replicas=3)
    small = await until(client, hand.namespace, "ReleaseContested")
    condition = find(small.status.conditions, "ReleaseReady")
    assert condition is not None
    assert f"{RELEASE_OWNER}: operator" in condition.message
    await assert_helms(client, hand.namespace)
    assert await pods(client, hand.namespace) == running
    # Fixed input heals without a restart.
    await ask(client, hand.namespace, owner="operator")
    await until(client, hand.namespace, "Ready")


async def test_the_operator_takes_over_what_a_hand_made(operator: None, client: Client, hand: Hand) -> None:
    running = await installed(hand, client)
    before = await client.get(Deployment, "small", hand.namespace)
    small = await ask(client, hand.namespace, owner="operator")
    await until(client, hand.namespace, "Ready")
    await assert_operators(client, small)
    assert await pods(client, hand.namespace) == running
    after = await client.get(Deployment, "small", hand.namespace)
    assert (after.metadata.uid, after.spec) == (before.metadata.uid, before.spec)
    # Same manifest, same values: there is nothing new to record.
    assert await hand.history() == [(1, "deployed", "Install complete")]


async def test_what_a_hand_asked_for_and_the_operator_does_not_goes(operator: None, client: Client, hand: Hand) -> None:
    await installed(hand, client, "extra=true")
    await ask(client, hand.namespace, owner="operator", greeting="hi")
    await until(client, hand.namespace, "Ready")
    await without_extra(client, hand.namespace)
    assert await hand.history() == [(1, "superseded", "Install complete"), (2, "deployed", DESCRIPTION)]
    # What may hold data is left, and told.
    await told(client, hand.namespace, "small", "StrayLeft")
    assert await client.find(PersistentVolumeClaim, "small-extra", hand.namespace) is not None
    # What helm itself would keep is kept.
    assert await client.find(ConfigMap, "small-kept", hand.namespace) is not None


async def test_a_forged_record_deletes_nothing_in_another_namespace(operator: None, client: Client, hand: Hand) -> None:
    await installed(hand, client)
    elsewhere = await fresh_namespace(client, "elsewhere")
    secret = await client.get(Secret, records.secret_name("small", 1), hand.namespace)
    record = records.decode(secret.data[records.KEY])
    manifest = record.manifest
    for namespace in (hand.namespace, elsewhere):
        metadata = {"name": "victim", "namespace": namespace, "annotations": {"meta.helm.sh/release-name": "small"}}
        await client.apply(ConfigMap, {"metadata": metadata}, field_manager="user")
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "victim", "namespace": namespace}}
        manifest += f"\n---\n{json.dumps(body)}\n"
    forged = records.encode(Record({**record.body, "manifest": manifest}))
    await client.patch(Secret, secret.metadata.name, hand.namespace, {"data": {records.KEY: forged}})
    await ask(client, hand.namespace, owner="operator")
    await until(client, hand.namespace, "Ready")
    # What is of the release, and here, goes; the operator has no business anywhere else.
    assert await client.find(ConfigMap, "victim", hand.namespace) is None
    assert await client.find(ConfigMap, "victim", elsewhere) is not None


async def test_helm_works_by_hand_on_what_was_given_back(operator: None, client: Client, hand: Hand) -> None:
    await ask(client, hand.namespace)
    await until(client, hand.namespace, "Ready")
    await ask(client, hand.namespace, greeting="hi")
    await revisions(client, hand.namespace, "superseded", "deployed")
    running = await settled_pods(client, hand.namespace)
    await ask(client, hand.namespace, greeting="hi", owner="helm")
    await until(client, hand.namespace, "GivenToHelm")
    await assert_helms(client, hand.namespace)
    assert await pods(client, hand.namespace) == running
    for secret in await client.list(Secret, hand.namespace, labels="owner=helm"):
        assert secret.metadata.ownerReferences == ()

    await hand("upgrade", "small", CHART, "--set", "replicas=2,greeting=hi")
    assert (await client.get(Deployment, "small", hand.namespace)).spec["replicas"] == 2
    await hand("rollback", "small", "1")
    assert (await client.get(ConfigMap, "small", hand.namespace)).data == {"greeting": "hello"}
    assert [entry[:2] for entry in await hand.history()] == [
        (1, "superseded"),
        (2, "superseded"),
        (3, "superseded"),
        (4, "deployed"),
    ]
    # Deleting the resource leaves the release alone.
    await client.delete(Small, "small", hand.namespace)
    await assert_helms(client, hand.namespace)


async def test_a_release_is_given_back_and_taken_again(operator: None, client: Client, hand: Hand) -> None:
    small = await ask(client, hand.namespace)
    await until(client, hand.namespace, "Ready")
    running = await settled_pods(client, hand.namespace)
    for _ in range(2):
        await ask(client, hand.namespace, owner="helm")
        await until(client, hand.namespace, "GivenToHelm")
        await assert_helms(client, hand.namespace)
        # Nobody touched it meanwhile, so it is still what the operator made.
        await ask(client, hand.namespace)
        await until(client, hand.namespace, "Ready")
        await assert_operators(client, small)
    assert await pods(client, hand.namespace) == running
    assert await hand.history() == [(1, "deployed", DESCRIPTION)]
    record = await client.get(Secret, records.secret_name("small", 1), hand.namespace)
    assert record.metadata.controller is not None


async def test_what_is_in_helms_hands_is_left_as_it_is(operator: None, client: Client, hand: Hand) -> None:
    await ask(client, hand.namespace)
    await until(client, hand.namespace, "Ready")
    await ask(client, hand.namespace, owner="helm")
    await until(client, hand.namespace, "GivenToHelm")
    await hand("uninstall", "small")
    small = await ask(client, hand.namespace, owner="helm", replicas=2)
    await until(
        client, hand.namespace, "GivenToHelm", lambda seen: seen.status.observedGeneration == small.metadata.generation
    )
    assert await client.find(Deployment, "small", hand.namespace) is None
    assert await client.list(Secret, hand.namespace, labels="owner=helm") == []


@pytest.mark.parametrize("said", ["Helm", "me", ""])
async def test_a_word_that_is_not_known_is_refused(operator: None, client: Client, hand: Hand, said: str) -> None:
    await ask(client, hand.namespace, owner=said)
    small = await until(client, hand.namespace, "ReleaseContested")
    condition = find(small.status.conditions, "ReleaseReady")
    assert condition is not None
    assert "write helm or operator" in condition.message
