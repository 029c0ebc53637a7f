"""A release that an operator keeps, seen and disturbed by the real helm on a real API server."""

from stackwright.adapters.helm import records
from stackwright.controllers.release.history import DESCRIPTION, KEPT
from stackwright.kube.builtin import ConfigMap, Deployment, Secret
from stackwright.kube.client import Client
from tests.functional.releases import (
    CHART,
    Hand,
    Small,
    ask,
    hand,
    managers,
    operator,
    pods,
    revisions,
    until,
    without_extra,
)
from tests.functional.running import idle, patches
from tests.functional.watching import eventually, some, told

__all__ = ["hand", "operator"]


async def adopted(client: Client, small: Small, version: int) -> None:
    """Wait until a record goes with the resource."""

    def owned(record: Secret) -> bool:
        owner = record.metadata.controller
        return owner is not None and owner.uid == small.metadata.uid

    await eventually(client, Secret, records.secret_name("small", version), small.metadata.namespace, owned)


async def test_helm_shows_what_the_operator_keeps(operator: None, client: Client, hand: Hand) -> None:
    await ask(client, hand.namespace, greeting="hi")
    await until(client, hand.namespace, "Ready")
    (listed,) = await hand.json("list")
    assert (listed["name"], listed["revision"], listed["status"]) == ("small", "1", "deployed")
    assert await hand.history() == [(1, "deployed", DESCRIPTION)]
    assert await hand.json("get", "values", "small") == {"replicas": 1, "greeting": "hi"}
    assert (await hand.json("get", "values", "small", "--all"))["hash"] == "abc"
    assert 'greeting: "hi"' in await hand("get", "manifest", "small")
    assert "STATUS: deployed" in await hand("status", "small")


async def test_a_change_is_a_revision_and_no_change_is_none(operator: None, client: Client, hand: Hand) -> None:
    await ask(client, hand.namespace, replicas=1)
    await until(client, hand.namespace, "Ready")
    small = await ask(client, hand.namespace, replicas=2)
    await revisions(client, hand.namespace, "superseded", "deployed")
    await until(
        client, hand.namespace, "Ready", lambda seen: seen.status.observedGeneration == small.metadata.generation
    )
    await idle("small")
    before = patches()
    gone = await client.get(ConfigMap, "small", hand.namespace)
    await client.delete(ConfigMap, "small", hand.namespace)
    await eventually(client, ConfigMap, "small", hand.namespace, lambda item: item.metadata.uid != gone.metadata.uid)
    await idle("small")
    assert patches() == before + 1
    assert [entry[:2] for entry in await hand.history()] == [(1, "superseded"), (2, "deployed")]


async def test_at_most_ten_revisions_are_kept(operator: None, client: Client, hand: Hand) -> None:
    for replicas in range(1, KEPT + 3):
        await ask(client, hand.namespace, replicas=replicas)
        name = records.secret_name("small", replicas)
        await eventually(client, Secret, name, hand.namespace, lambda secret: secret.metadata.labels["status"])
    await revisions(client, hand.namespace, *["superseded"] * (KEPT - 1), "deployed")
    assert [entry[0] for entry in await hand.history()] == list(range(3, KEPT + 3))


async def test_an_uninstall_by_hand_is_healed(operator: None, client: Client, hand: Hand) -> None:
    await ask(client, hand.namespace)
    await until(client, hand.namespace, "Ready")
    before = await client.get(Deployment, "small", hand.namespace)
    await hand("uninstall", "small")
    await eventually(client, Deployment, "small", hand.namespace, lambda item: item.metadata.uid != before.metadata.uid)
    await revisions(client, hand.namespace, "deployed")


async def test_records_that_are_gone_are_written_anew(operator: None, client: Client, hand: Hand) -> None:
    await ask(client, hand.namespace)
    await until(client, hand.namespace, "Ready")
    running_pods = await pods(client, hand.namespace)
    gone = await client.get(Secret, records.secret_name("small", 1), hand.namespace)
    await client.delete(Secret, gone.metadata.name, hand.namespace)
    await eventually(
        client, Secret, gone.metadata.name, hand.namespace, lambda found: found.metadata.uid != gone.metadata.uid
    )
    # All that ran runs on; pods of the first start may have come later.
    assert running_pods <= await pods(client, hand.namespace)


async def test_an_unchanged_upgrade_by_hand_is_told_and_numbered_past(
    operator: None, client: Client, hand: Hand
) -> None:
    small = await ask(client, hand.namespace)
    await until(client, hand.namespace, "Ready")
    await hand("upgrade", "small", CHART, "--set", "replicas=1,greeting=hello")
    await told(client, hand.namespace, "small", "ForeignRevision", "Revision 2 (deployed)")
    await adopted(client, small, 2)
    assert await managers(client, ConfigMap, "small", hand.namespace) == {"stackwright"}
    # The next change is not held back by fields that the hand had come to own.
    await ask(client, hand.namespace, greeting="good day")
    await eventually(client, ConfigMap, "small", hand.namespace, lambda item: item.data["greeting"] == "good day")
    await revisions(client, hand.namespace, "superseded", "superseded", "deployed")


async def test_a_failed_upgrade_by_hand_is_undone(operator: None, client: Client, hand: Hand) -> None:
    await ask(client, hand.namespace)
    await until(client, hand.namespace, "Ready")
    printed = await hand("upgrade", "small", CHART, "--set", "extra=true,replicas=3,greeting=hello", fails=True)
    assert 'conflict with "stackwright": .spec.replicas' in printed
    await told(client, hand.namespace, "small", "ForeignRevision", "Revision 2 (failed)")
    await revisions(client, hand.namespace, "superseded", "failed", "deployed")
    await without_extra(client, hand.namespace)
    deployment = await client.get(Deployment, "small", hand.namespace)
    assert deployment.spec["replicas"] == 1


async def test_a_forced_upgrade_by_hand_is_shown_and_undone_when_the_user_says(
    operator: None, client: Client, hand: Hand
) -> None:
    await ask(client, hand.namespace)
    await until(client, hand.namespace, "Ready")
    await hand("upgrade", "small", CHART, "--set", "extra=true,greeting=forced", "--force-conflicts")
    small = await until(client, hand.namespace, "ReleaseContested")
    shown = {(entry.resource, entry.field): (entry.manager, entry.wanted) for entry in small.status.overridden}
    assert shown[("ConfigMap/small", ".data.greeting")] == ("helm", '"hello"')
    assert shown[("ConfigMap/small-extra", ".")] == ("helm", "")
    assert (await client.get(ConfigMap, "small", hand.namespace)).data["greeting"] == "forced"
    await revisions(client, hand.namespace, "superseded", "deployed")
    await ask(client, hand.namespace, owner="operator")
    await revisions(client, hand.namespace, "superseded", "superseded", "deployed")
    await eventually(client, ConfigMap, "small", hand.namespace, lambda item: item.data["greeting"] == "hello")
    await without_extra(client, hand.namespace)
    await until(client, hand.namespace, "Ready", lambda seen: not seen.status.overridden)
    # Said once and taken back, it stays the operator's, and the next hand is shown again.
    await ask(client, hand.namespace)
    await hand("upgrade", "small", CHART, "--set", "greeting=again", "--force-conflicts")
    await until(client, hand.namespace, "ReleaseContested", lambda seen: seen.status.overridden)


async def test_a_forced_upgrade_by_hand_is_undone_where_the_release_is_said_to_be_the_operators(
    operator: None, client: Client, hand: Hand
) -> None:
    await ask(client, hand.namespace, owner="operator")
    await until(client, hand.namespace, "Ready")
    await hand("upgrade", "small", CHART, "--set", "extra=true,greeting=forced", "--force-conflicts")
    await revisions(client, hand.namespace, "superseded", "superseded", "deployed")
    await eventually(client, ConfigMap, "small", hand.namespace, lambda item: item.data["greeting"] == "hello")
    await without_extra(client, hand.namespace)


async def test_a_deleted_resource_takes_its_records_along(operator: None, client: Client, hand: Hand) -> None:
    small = await ask(client, hand.namespace)
    await until(client, hand.namespace, "Ready")
    await hand("upgrade", "small", CHART, "--set", "replicas=1,greeting=hello")
    await adopted(client, small, 2)
    await client.delete(Small, "small", hand.namespace)
    await some(client, Secret, hand.namespace, lambda found: not found, labels="owner=helm")
    assert await hand.json("list") == []
