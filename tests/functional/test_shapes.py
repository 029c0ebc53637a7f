"""What the shapes say and do when the world is not as it should be, on a real API server."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from stackwright.kube import finalizers
from stackwright.kube.builtin import ConfigMap, Deployment
from stackwright.kube.client import Client
from stackwright.kube.conditions import find, is_true
from stackwright.kube.errors import Blocked, Conflict, Invalid, Retry
from stackwright.kube.plan import Ends, Plan, Step, Wait
from stackwright.kube.resource import (
    CompositeStatus,
    JsonObject,
    ObjectMeta,
    owner_reference,
)
from stackwright.kube.shapes import belonging
from stackwright.kube.shapes.composite import Child, child, composite
from stackwright.kube.shapes.external import External, external
from tests.functional.baskets import Basket, Fruit, answered, fruit, kinds, one, put, until
from tests.functional.running import patches, running, standing_still
from tests.functional.watching import PATIENCE

__all__ = ["kinds"]

KINDS = (Basket, Fruit, ConfigMap, Deployment)


@composite(of=Basket, owns=(Fruit, ConfigMap))
def basket(resource: Basket, facts: None) -> Iterable[Child | Wait]:
    """Return the fruits and the label."""
    for name, colour in resource.spec.fruits.items():
        body = {"metadata": {"name": name}, "spec": {"colour": colour, "pieces": 1}}
        yield Child(Fruit, body, "FruitsReady")
    if resource.spec.elsewhere:
        yield child(Fruit(metadata=ObjectMeta(name="far", namespace=resource.spec.elsewhere)), condition="FruitsReady")
    if resource.spec.label:
        label = ConfigMap(metadata=ObjectMeta(name="label"), data={"text": resource.spec.label})
        yield child(label, condition="LabelReady")


async def ripen(client: Client, fruit: Fruit) -> None:
    """Do what the fruit's own operator would."""
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"conditions": [condition], "observedGeneration": fruit.metadata.generation}
    metadata = {"name": fruit.metadata.name, "namespace": fruit.metadata.namespace}
    await client.apply(Fruit, {"metadata": metadata, "status": status}, subresource="status", field_manager="fruit")


def is_ready(resource: Any) -> bool:
    return answered(resource) and is_true(resource.status.conditions)


def condition(resource: Any, name: str) -> tuple[str, str, str]:
    found = find(resource.status.conditions, name)
    assert found is not None
    return found.status, found.reason, found.message


@pytest.mark.usefixtures("kinds")
async def test_a_parent_is_not_ready_for_a_spec_that_its_child_has_not_seen(client: Client, namespace: str) -> None:
    made = await put(client, Basket, "b", namespace, {"fruits": {"apple": "green"}})
    async with running(one(client, basket.controller(), namespace)):
        await ripen(client, await until(client, fruit("apple", namespace), lambda _: True))
        await until(client, made, is_ready)
    await put(client, Basket, "b", namespace, {"fruits": {"apple": "red"}})

    # A pass whose cache has the new parent, and of the child only what was there before the pass.
    await basket.controller().reconcile(made.key, await standing_still(client, namespace, KINDS))
    first = await client.get(Basket, "b", namespace)
    assert first.status.observedGeneration == 2
    message = "Fruit apple has not reported its state yet"
    assert condition(first, "FruitsReady") == ("False", "Requested", message)


@pytest.mark.usefixtures("kinds")
async def test_one_that_was_made_anew_does_not_get_the_status_of_the_one_before(client: Client, namespace: str) -> None:
    before = await put(client, Basket, "b", namespace, {})
    context = await standing_still(client, namespace, KINDS)
    await client.delete(Basket, "b", namespace)
    await put(client, Basket, "b", namespace, {"label": "ripe"})
    with pytest.raises(Conflict):
        await basket.controller().reconcile(before.key, context)
    assert (await client.get(Basket, "b", namespace)).status == CompositeStatus()


@pytest.mark.usefixtures("kinds")
async def test_a_child_of_somebody_else_is_taken_once_it_is_free(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(belonging, "FOREIGN_SECONDS", 0.2)
    owner = await client.apply(ConfigMap, {"metadata": {"name": "owner", "namespace": namespace}})
    theirs = {"name": "label", "namespace": namespace, "ownerReferences": [owner_reference(owner)]}
    await client.apply(ConfigMap, {"metadata": theirs}, field_manager="somebody")
    async with running(one(client, basket.controller(), namespace)):
        made = await put(client, Basket, "b", namespace, {"label": "ripe"})
        refused = await until(client, made, answered)
        assert condition(refused, "LabelReady")[:2] == ("False", "OwnedByAnother")

        await client.delete(ConfigMap, "label", namespace)
        await until(client, made, is_ready)


@pytest.mark.usefixtures("kinds")
async def test_a_parent_made_anew_waits_for_the_children_of_the_one_before(client: Client, namespace: str) -> None:
    async with running(one(client, basket.controller(), namespace)):
        made = await put(client, Basket, "b", namespace, {"fruits": {"apple": "red"}})
        apple = await until(client, fruit("apple", namespace), lambda _: True)
        apple = await finalizers.add(client, apple, "shapes.example.org/slow")
        await client.delete(Basket, "b", namespace)
        await put(client, Basket, "b", namespace, {"fruits": {"apple": "red"}})
        waiting = await until(client, made, lambda seen: seen.metadata.uid != made.metadata.uid and answered(seen))
        message = (
            "Fruit apple belongs to a Basket of the same name that was deleted; it is created again once it is gone"
        )
        assert condition(waiting, "FruitsReady") == ("False", "Replacing", message)

        # The garbage collector may not know of so new a kind yet.
        await client.delete(Fruit, "apple", namespace)
        await finalizers.remove(client, apple, "shapes.example.org/slow")
        anew = await until(client, apple, lambda seen: seen.metadata.uid != apple.metadata.uid)
        assert anew.metadata.controller.uid == waiting.metadata.uid


@pytest.mark.usefixtures("kinds")
async def test_what_the_parent_did_not_make_is_not_pruned(client: Client, namespace: str) -> None:
    async with running(one(client, basket.controller(), namespace)):
        made = await put(client, Basket, "b", namespace, {"label": "ripe"})
        await until(client, made, is_ready)
        for name, controller in (("goes-along", False), ("of-another-controller", True)):
            reference = owner_reference(made, controller=controller)
            metadata = {"name": name, "namespace": namespace, "ownerReferences": [reference]}
            await client.apply(ConfigMap, {"metadata": metadata}, field_manager="user")
        await put(client, Basket, "b", namespace, {"label": "", "fruits": {}})
        async with asyncio.timeout(PATIENCE):
            while await client.find(ConfigMap, "label", namespace) is not None:
                await asyncio.sleep(0.05)
        await client.get(ConfigMap, "goes-along", namespace)
        await client.get(ConfigMap, "of-another-controller", namespace)


@pytest.mark.usefixtures("kinds")
async def test_a_child_that_is_being_deleted_is_not_ready(client: Client, namespace: str) -> None:
    async with running(one(client, basket.controller(), namespace)):
        made = await put(client, Basket, "b", namespace, {"fruits": {"apple": "red"}})
        apple = await until(client, fruit("apple", namespace), lambda _: True)
        await finalizers.add(client, apple, "shapes.example.org/slow")
        await ripen(client, apple)
        await until(client, made, is_ready)

        await client.delete(Fruit, "apple", namespace)
        going = await until(client, made, lambda seen: not is_true(seen.status.conditions))
        message = "Fruit apple is being deleted; it is created again once it is gone"
        assert condition(going, "FruitsReady") == ("False", "Deleting", message)
        await finalizers.remove(client, await client.get(Fruit, "apple", namespace), "shapes.example.org/slow")
        await until(client, fruit("apple", namespace), lambda seen: seen.metadata.uid != apple.metadata.uid)


@pytest.mark.usefixtures("kinds")
async def test_what_others_agree_to_is_no_longer_overridden(client: Client, namespace: str) -> None:
    async with running(one(client, basket.controller(), namespace)):
        made = await put(client, Basket, "b", namespace, {"label": "ripe"})
        await until(client, made, is_ready)
        theirs: JsonObject = {"metadata": {"name": "label", "namespace": namespace}, "data": {"text": "sour"}}
        await client.apply(ConfigMap, theirs, field_manager="ada")
        await until(client, made, lambda seen: len(seen.status.overridden) == 1)

        await client.apply(ConfigMap, {**theirs, "data": {"text": "ripe"}}, field_manager="ada")
        await until(client, made, lambda seen: not seen.status.overridden)


CONTAINER = {"name": "a", "image": "a", "resources": {"requests": {"cpu": "0.5"}}}


@composite(of=Basket, owns=(Deployment,))
def shop(resource: Basket, facts: None) -> Iterable[Child | Wait]:
    """Return a workload of which the server writes some fields in another way than we do."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER], "hostNetwork": False}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    yield Child(Deployment, {"metadata": {"name": "shop"}, "spec": spec}, "LabelReady")


def is_numbered_and_seen(workload: Deployment) -> bool:
    numbered = "deployment.kubernetes.io/revision" in workload.metadata.annotations
    return numbered and workload.status.get("observedGeneration") == workload.metadata.generation


@pytest.mark.usefixtures("kinds")
async def test_what_the_server_writes_in_another_way_is_not_applied_again_and_again(
    client: Client, namespace: str
) -> None:
    made = await put(client, Basket, "b", namespace, {})
    await shop.controller().reconcile(made.key, await standing_still(client, namespace, KINDS))
    # The Deployment's own controller writes an annotation, once, and then what it has seen: changes like any others.
    workload = Deployment(metadata=ObjectMeta(name="shop", namespace=namespace))
    await until(client, workload, is_numbered_and_seen)
    await shop.controller().reconcile(made.key, await standing_still(client, namespace, KINDS))
    before = patches()
    await shop.controller().reconcile(made.key, await standing_still(client, namespace, KINDS))
    assert patches() == before
    await client.patch(Deployment, "shop", namespace, {"spec": {"replicas": 1}})
    await shop.controller().reconcile(made.key, await standing_still(client, namespace, KINDS))
    shown = await client.get(Basket, "b", namespace)
    assert [entry.field for entry in shown.status.overridden] == [".spec.replicas"]

    await client.delete(Basket, "b", namespace)
    await shop.controller().reconcile(made.key, await standing_still(client, namespace, KINDS))
    assert shop.family.settled == {}


@pytest.mark.usefixtures("kinds")
async def test_a_child_that_the_server_refuses_is_not_sent_again_before_it_changes(
    client: Client, namespace: str
) -> None:
    # No object can have this name.
    made = await put(client, Basket, "b", namespace, {"fruits": {"Apple": "red"}})
    controller = basket.controller()
    before = patches()
    for _ in range(2):
        with pytest.raises(Retry, match="lowercase RFC 1123"):
            await controller.reconcile(made.key, await standing_still(client, namespace, KINDS))
        # The fruit and the status; then nothing any more.
        assert patches() - before == 2
    shown = await client.get(Basket, "b", namespace)
    assert "lowercase RFC 1123" in condition(shown, "FruitsReady")[2]
    made = await put(client, Basket, "b", namespace, {"fruits": {"apple": "red"}})
    await controller.reconcile(made.key, await standing_still(client, namespace, KINDS))
    assert (await client.get(Fruit, "apple", namespace)).spec.colour == "red"


@pytest.mark.usefixtures("kinds")
async def test_a_value_that_equals_the_types_default_is_kept_as_well(client: Client, namespace: str) -> None:
    async with running(one(client, basket.controller(), namespace)):
        made = await put(client, Basket, "b", namespace, {"fruits": {"apple": "green"}})
        apple = await until(client, fruit("apple", namespace), lambda _: True)
        await ripen(client, apple)
        await until(client, made, is_ready)
        await client.patch(Fruit, "apple", namespace, {"spec": {"pieces": 3}})
        shown = await until(client, made, lambda seen: bool(seen.status.overridden))
        assert shown.status.overridden[0].field == ".spec.pieces"


@pytest.mark.usefixtures("kinds")
async def test_a_child_in_another_namespace_is_refused(client: Client, namespace: str) -> None:
    async with running(one(client, basket.controller(), namespace)):
        made = await put(client, Basket, "b", namespace, {"elsewhere": "default"})
        refused = await until(client, made, answered)
        assert condition(refused, "FruitsReady") == (
            "False",
            "CannotOwn",
            "Fruit far is wanted in namespace default, and Basket b is in "
            f"{namespace}: what is owned lives where its owner does",
        )
        assert await client.find(Fruit, "far", "default") is None


@pytest.mark.usefixtures("kinds")
async def test_finalizers_do_not_get_into_each_others_way(client: Client, namespace: str) -> None:
    apple = await put(client, Fruit, "apple", namespace, {})
    await finalizers.add(client, apple, "one.example.org/cleanup")
    both = await finalizers.add(client, apple, "two.example.org/cleanup")
    assert set(both.metadata.finalizers) == {"one.example.org/cleanup", "two.example.org/cleanup"}

    with pytest.raises(Invalid):
        await finalizers.remove(client, _of_another_uid(both), "one.example.org/cleanup")
    await finalizers.remove(client, both, "one.example.org/cleanup")
    left = await client.get(Fruit, "apple", namespace)
    assert left.metadata.finalizers == ("two.example.org/cleanup",)
    await finalizers.remove(client, left, "two.example.org/cleanup")


def _of_another_uid(resource: Fruit) -> Fruit:
    metadata = ObjectMeta(
        name=resource.metadata.name,
        namespace=resource.metadata.namespace,
        uid="another",
        finalizers=resource.metadata.finalizers,
    )
    return Fruit(metadata=metadata)


@dataclass(frozen=True)
class Sell(Step):
    """Sell the fruit."""


@dataclass
class Market:
    """What the fruit controller works on, and what a test lets it find there."""

    looks: int = 0
    sold: bool = False
    error: Exception | None = None
    hangs: bool = False
    waits: tuple[Wait, ...] = ()
    leaving: tuple[Wait, ...] = ()


async def look(_: Fruit, market: Market) -> Market:
    market.looks += 1
    if market.hangs:
        await asyncio.Event().wait()
    if market.error is not None:
        raise market.error
    return market


def sell_all(_: Fruit, market: Market) -> Plan:
    steps = () if market.sold else (Sell(reason="Selling", condition="SoldReady"),)
    return Plan(steps=steps, waits=market.waits)


@external(of=Fruit, read=look, decide=sell_all)
async def sale(_step: Sell, market: Market) -> None:
    """Find nobody who buys."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_refuse())


@external(of=Fruit, read=look, decide=sell_all)
async def gift(_step: Sell, market: Market) -> None:
    """Take the fruit to the market, where it stays."""


async def _refuse() -> None:
    raise Blocked("Nobody wants it; lower the price", reason="TooDear")


async def told(client: Client, namespace: str, shape: External[Any, Any, Any], market: Market) -> Any:
    """Return a fruit with what its controller first said of it."""
    async with running(one(client, shape.controller(lambda _context: market), namespace)):
        return await until(client, await put(client, Fruit, "apple", namespace, {}), answered)


@pytest.mark.usefixtures("kinds")
async def test_nothing_is_said_to_hold_when_nothing_could_be_looked_at(client: Client, namespace: str) -> None:
    shown = await told(client, namespace, sale, Market(error=Retry("The market is closed", reason="Closed")))
    assert condition(shown, "Ready") == ("False", "Closed", "The market is closed")
    assert condition(shown, "RipeReady")[0] == "Unknown"
    assert condition(shown, "SoldReady")[0] == "Unknown"


@pytest.mark.usefixtures("kinds")
async def test_a_world_that_does_not_answer_shows_in_the_status(client: Client, namespace: str) -> None:
    shown = await told(client, namespace, replace(sale, deadline=0.2), Market(hangs=True))
    assert condition(shown, "Ready") == ("False", "Timeout", "Not finished after 0.2 s; it will be tried again")


@pytest.mark.usefixtures("kinds")
async def test_an_error_out_of_a_group_is_told_as_what_it_is(client: Client, namespace: str) -> None:
    shown = await told(client, namespace, sale, Market())
    assert condition(shown, "SoldReady") == ("False", "TooDear", "Nobody wants it; lower the price")


@pytest.mark.usefixtures("kinds")
async def test_a_step_that_has_no_effect_is_told(client: Client, namespace: str) -> None:
    async with running(one(client, gift.controller(lambda _context: Market()), namespace)):
        apple = await put(client, Fruit, "apple", namespace, {})
        shown = await until(
            client, apple, lambda seen: answered(seen) and condition(seen, "SoldReady")[1] == "NoEffect"
        )
    assert condition(shown, "SoldReady") == ("False", "NoEffect", "Selling: was done 4 times, and had no effect")
    ready = find(shown.status.conditions, "Ready")
    assert ready is not None
    assert ready.severity == "Error"


@pytest.mark.usefixtures("kinds")
async def test_a_block_does_not_end_a_wait_that_has_a_time(client: Client, namespace: str) -> None:
    market = Market(waits=(Wait("Unripe", "Waiting for the sun", "RipeReady", after=0.1),))
    async with running(one(client, sale.controller(lambda _context: market), namespace)):
        await put(client, Fruit, "apple", namespace, {})
        async with asyncio.timeout(PATIENCE):
            while market.looks < 4:
                await asyncio.sleep(0.05)


def keep(_: Fruit, market: Market) -> Plan:
    return Plan(waits=market.leaving)


@pytest.mark.usefixtures("kinds")
async def test_a_deletion_is_a_generation_that_its_controller_has_seen(client: Client, namespace: str) -> None:
    # By this, `stackwright status` tells what was said of a deletion from what was said before.
    market = Market(sold=True)
    shape = replace(gift, remove=keep, finalizer="example.org/market")
    async with running(one(client, shape.controller(lambda _context: market), namespace)):
        before = await until(client, await put(client, Fruit, "apple", namespace, {}), is_ready)
        market.leaving = (Wait("InUse", "It is being eaten; wait", "SoldReady", after=0.1, ends=Ends.BY_USER),)
        await client.delete(Fruit, "apple", namespace)
        shown = await until(client, before, lambda seen: condition(seen, "Ready")[1] == "InUse")
        assert shown.metadata.generation > before.metadata.generation
        assert shown.status.observedGeneration == shown.metadata.generation
        market.leaving = ()
        async with asyncio.timeout(PATIENCE):
            while await client.find(Fruit, "apple", namespace) is not None:
                await asyncio.sleep(0.05)
