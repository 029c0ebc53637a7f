"""Children that outlive their parent, and parents whose work rests, on a real API server."""

from collections.abc import Iterable

import pytest

from stackwright.kube.builtin import ConfigMap, Job
from stackwright.kube.client import Client
from stackwright.kube.conditions import Finding
from stackwright.kube.plan import Wait
from stackwright.kube.resource import JsonObject, ObjectMeta, Resource
from stackwright.kube.shapes.composite import Child, child, composite
from tests.functional.baskets import Basket, Fruit, answered, fruit, kinds, one, put, until
from tests.functional.running import running, worked_through
from tests.functional.watching import eventually

PAUSED = "example.org/paused"

__all__ = ["kinds"]


@composite(of=Basket, owns=(Fruit, ConfigMap), pause=PAUSED)
def basket(resource: Basket, facts: None) -> Iterable[Child | Wait]:
    """Return the fruits, and a label that is kept."""
    for name, colour in resource.spec.fruits.items():
        yield Child(Fruit, {"metadata": {"name": name}, "spec": {"colour": colour}}, "FruitsReady")
    label = ConfigMap(metadata=ObjectMeta(name="label"), data={"text": resource.spec.label})
    yield child(label, condition="LabelReady", kept=True)


@pytest.mark.usefixtures("kinds")
async def test_what_is_kept_has_no_owner_and_is_kept_as_it_should_be(client: Client, namespace: str) -> None:
    made = await put(client, Basket, "b", namespace, {"label": "fresh"})
    async with running(one(client, basket.controller(), namespace)):
        await until(client, made, answered)
        label = await client.get(ConfigMap, "label", namespace)
        assert label.metadata.ownerReferences == ()
        await put(client, Basket, "b", namespace, {"label": "old"})
        await until(client, label, lambda seen: seen.data == {"text": "old"})


@pytest.mark.usefixtures("kinds")
async def test_a_paused_parent_rests_with_all_that_it_owns_and_both_go_on_together(
    client: Client, namespace: str
) -> None:
    made = await put(client, Basket, "b", namespace, {"fruits": {"apple": "green"}})
    runtime = one(client, basket.controller(), namespace)
    async with running(runtime):
        await until(client, fruit("apple", namespace), lambda _: True)
        await _annotate(client, made, "true")
        await until(client, fruit("apple", namespace), lambda seen: seen.metadata.annotations.get(PAUSED) == "parent")
        changed = {"fruits": {"apple": "red", "pear": "yellow"}}
        await worked_through(runtime, await put(client, Basket, "b", namespace, changed))
        assert await client.find(Fruit, "pear", namespace) is None
        assert (await client.get(Fruit, "apple", namespace)).spec.colour == "green"
        await _annotate(client, made, "false")
        await until(client, fruit("pear", namespace), lambda _: True)
        apple = await eventually(client, Fruit, "apple", namespace, lambda seen: seen.spec.colour == "red")
        assert PAUSED not in apple.metadata.annotations


async def _annotate(client: Client, basket: Basket, value: str) -> None:
    metadata = {"name": basket.metadata.name, "namespace": basket.metadata.namespace, "annotations": {PAUSED: value}}
    await client.apply(Basket, {"metadata": metadata}, field_manager="user-pause")


def job(command: str) -> JsonObject:
    container = {"name": "work", "image": "example.org/none", "command": [command]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {"metadata": {"name": "work"}, "spec": {"suspend": True, "template": template}}


def done(present: Resource) -> Finding:
    return Finding("", "True" if "done" in present.metadata.labels else "False", "Working", "It works")


@composite(of=Basket, owns=(Job,))
def worker(resource: Basket, facts: None) -> Iterable[Child | Wait]:
    """Return a Job whose name stands for what it does."""
    yield Child(Job, job("ours"), "FruitsReady", state=done, once=True)


@pytest.mark.usefixtures("kinds")
async def test_a_job_that_a_hand_made_in_another_way_is_made_anew_when_it_is_done(
    client: Client, namespace: str
) -> None:
    by_hand = job("theirs")
    by_hand["metadata"]["namespace"] = namespace
    # Under our own name: that is how a release that was handed over looks.
    old = await client.apply(Job, by_hand)
    made = await put(client, Basket, "b", namespace, {})
    async with running(one(client, worker.controller(), namespace)):
        await until(client, made, lambda seen: any(entry.reason == "Replacing" for entry in seen.status.conditions))
        assert (await client.get(Job, "work", namespace)).metadata.uid == old.metadata.uid
        await client.patch(Job, "work", namespace, {"metadata": {"labels": {"done": "yes"}}})
        new = await eventually(client, Job, "work", namespace, lambda seen: seen.metadata.uid != old.metadata.uid)
        assert new.metadata.controller is not None
        assert new.spec["template"]["spec"]["containers"][0]["command"] == ["ours"]
