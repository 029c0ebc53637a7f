"""What somebody does right before a write of ours stays, where no conflict protects it: see `kube/shapes/versions.py`.

A workload that is scaled to 0 stays at 0, and what is taken away from its parent is not pruned.
"""

import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import pytest

from stackwright.kube.builtin import Deployment
from stackwright.kube.client import Client
from stackwright.kube.errors import Conflict, KubeError
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.composite import Child, composite
from tests.functional.baskets import Basket, kinds, put
from tests.functional.running import standing_still

__all__ = ["kinds"]

pytestmark = pytest.mark.usefixtures("kinds")

Deed = Callable[[Client, str], Awaitable[Any]]


@composite(of=Basket, owns=(Deployment,))
def stall(resource: Basket, facts: None) -> Iterable[Child | Wait]:
    """Return a workload that carries the label, where there is one."""
    if not resource.spec.label:
        return
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"label": resource.spec.label}},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    yield Child(Deployment, {"metadata": {"name": "stall"}, "spec": spec}, "LabelReady")


async def scale(client: Client, namespace: str) -> None:
    """Do what `kubectl scale --replicas=0` does."""
    body = {"spec": {"replicas": 0}}
    await client.managing("kubectl").patch(Deployment, "stall", namespace, body, subresource="scale")


async def touch(client: Client, namespace: str) -> None:
    """Change what does not matter to us, as a controller does that writes a status."""
    label = {"labels": {"touched": secrets.token_hex(3)}}
    await client.managing("somebody").patch(Deployment, "stall", namespace, {"metadata": label})


async def wish_more(client: Client, namespace: str) -> None:
    """Own the replicas, so that the next apply is refused because of them."""
    await client.managing("somebody").patch(Deployment, "stall", namespace, {"spec": {"replicas": 2}})


async def remove(client: Client, namespace: str) -> None:
    await client.delete(Deployment, "stall", namespace)


async def orphan(client: Client, namespace: str) -> None:
    """Take the workload away from its parent, to keep it."""
    await client.managing("somebody").patch(Deployment, "stall", namespace, {"metadata": {"ownerReferences": None}})


class Interrupted(Client):
    """A client of the operator: right before each write that it sends, somebody does the next deed."""

    deeds: Iterator[Deed]
    hand: Client

    async def _let_somebody_act(self, namespace: str) -> None:
        if (deed := next(self.deeds, None)) is not None:
            await deed(self.hand, namespace)

    async def try_apply(self, kind: type[Any], body: Any, **more: Any) -> Any:
        """Let somebody act, and apply."""
        await self._let_somebody_act(body["metadata"]["namespace"])
        return await super().try_apply(kind, body, **more)

    async def delete(self, kind: type[Any], name: str, namespace: str = "", **more: Any) -> bool:
        """Let somebody act, and delete."""
        await self._let_somebody_act(namespace)
        return await super().delete(kind, name, namespace, **more)


def interrupted(client: Client, *deeds: Deed) -> Interrupted:
    made = Interrupted(client.connection)
    made.hand, made.deeds = client, iter(deeds)
    return made


@pytest.mark.parametrize(
    ("deeds", "replicas"),
    [
        pytest.param((), 1, id="nobody-does-anything"),
        pytest.param((scale,), 0, id="right-before-the-apply"),
        pytest.param((touch,), 1, id="only-something-else-was-changed"),
        pytest.param((touch, scale), 0, id="after-it-was-looked-at"),
        pytest.param((touch, touch, scale), 0, id="after-it-was-looked-at-twice"),
        pytest.param((wish_more, scale), 0, id="after-somebody-had-asked-for-more"),
        pytest.param((remove,), 1, id="it-was-deleted-and-is-made-again"),
    ],
)
async def test_a_scale_to_0_is_kept(client: Client, namespace: str, deeds: tuple[Deed, ...], replicas: int) -> None:
    controller = stall.controller()
    made = await put(client, Basket, "b", namespace, {"label": "fresh"})
    await controller.reconcile(made.key, await standing_still(client, namespace, controller.kinds))
    await put(client, Basket, "b", namespace, {"label": "ripe"})

    async with interrupted(client, *deeds) as operator:
        await controller.reconcile(made.key, await standing_still(operator, namespace, controller.kinds))
        assert next(operator.deeds, None) is None
    found = await client.get(Deployment, "stall", namespace)
    assert found.spec["replicas"] == replicas
    assert found.spec["template"]["metadata"]["annotations"] == {"label": "ripe"}
    listed = (await client.get(Basket, "b", namespace)).status.overridden
    assert [entry.field for entry in listed] == ([] if replicas else [".spec.replicas"])


async def test_a_scale_to_0_is_kept_if_the_cache_has_not_even_the_workload(client: Client, namespace: str) -> None:
    controller = stall.controller()
    made = await put(client, Basket, "b", namespace, {"label": "fresh"})
    blind = await standing_still(client, namespace, controller.kinds)
    await controller.reconcile(made.key, blind)
    await scale(client, namespace)
    # The cache does not have the parent's last status either, so that the next one is refused.
    with pytest.raises(Conflict):
        await controller.reconcile(made.key, blind)
    assert (await client.get(Deployment, "stall", namespace)).spec["replicas"] == 0


@pytest.mark.parametrize(
    ("deeds", "stays"),
    [
        pytest.param((), False, id="nobody-does-anything"),
        pytest.param((orphan,), True, id="it-was-taken-away-from-its-parent"),
        pytest.param((touch,), False, id="only-something-else-was-changed"),
        pytest.param((touch, orphan), True, id="it-was-taken-away-after-it-was-looked-at"),
        pytest.param((remove,), False, id="it-is-gone-already"),
    ],
)
async def test_what_is_taken_away_from_its_parent_is_not_pruned(
    client: Client, namespace: str, deeds: tuple[Deed, ...], stays: bool
) -> None:
    controller = stall.controller()
    made = await put(client, Basket, "b", namespace, {"label": "fresh"})
    await controller.reconcile(made.key, await standing_still(client, namespace, controller.kinds))
    await put(client, Basket, "b", namespace, {"label": ""})

    async with interrupted(client, *deeds) as operator:
        await controller.reconcile(made.key, await standing_still(operator, namespace, controller.kinds))
        assert next(operator.deeds, None) is None
    found = await client.find(Deployment, "stall", namespace)
    assert (found is not None) is stays


async def test_what_was_orphaned_gets_no_owner_that_is_gone(client: Client, namespace: str) -> None:
    """The garbage collector would delete it, although somebody asked to keep it."""
    controller = stall.controller()
    made = await put(client, Basket, "b", namespace, {"label": "fresh"})
    await controller.reconcile(made.key, await standing_still(client, namespace, controller.kinds))
    await orphan(client, namespace)
    behind = await standing_still(client, namespace, controller.kinds)
    await client.delete(Basket, "b", namespace)
    with pytest.raises(KubeError, match="Basket b is gone"):
        await controller.reconcile(made.key, behind)
    assert not (await client.get(Deployment, "stall", namespace)).metadata.ownerReferences
