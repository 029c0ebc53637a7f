"""What is somebody's stays theirs: two Placements on a real API server that would share an account."""

import asyncio
import contextlib

import pytest

from stackwright.adapters.identity import Keystone
from stackwright.api.keystone import KeystoneService
from stackwright.api.mariadb import DATABASE_LABEL, MariaDBAccount, MariaDBDatabase
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.belonging import MADE_FOR
from stackwright.services.placement.kinds import PlacementAPI
from tests.functional.placements import keystone, place, says
from tests.functional.watching import eventually, gone, is_ready

__all__ = ["keystone"]

pytestmark = pytest.mark.usefixtures("kinds")

TAKEN = "spec.databaseAccount: MariaDBAccount placement belongs to PlacementAPI placement; name another account"
KEPT = "spec.databaseAccount: MariaDBAccount placement was created for PlacementAPI placement and is kept for it"


THINGS: tuple[tuple[type[Resource], str], ...] = (
    (PlacementAPI, "placement"),
    (MariaDBAccount, "placement"),
    (MariaDBDatabase, "placement"),
    (KeystoneService, "placement"),
    (Secret, "placement-db-secret"),
    (Secret, "placement-config-data"),
)


async def versions(client: Client, namespace: str) -> dict[str, str]:
    """Return in which version each thing of the first Placement is: any write changes it."""
    found = [await client.get(kind, name, namespace) for kind, name in THINGS]
    return {f"{each.kind.name} {each.metadata.name}": each.metadata.resourceVersion for each in found}


async def test_a_second_placement_is_refused_and_nothing_of_the_first_is_written(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await place(client, namespace)
    await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    before = await versions(client, namespace)
    await place(client, namespace, "placement2")
    refused = await eventually(client, PlacementAPI, "placement2", namespace, says(TAKEN))
    ready = find(refused.status.conditions, "Ready")
    assert ready is not None
    assert (ready.status, ready.severity) == ("False", "Error")
    for kind in (MariaDBDatabase, KeystoneService):
        assert await client.find(kind, "placement2", namespace) is None
    # With an account of its own it comes up, and by then whoever exchanges anything would have.
    await place(client, namespace, "placement2", databaseAccount="placement2")
    await eventually(client, PlacementAPI, "placement2", namespace, is_ready)
    assert await versions(client, namespace) == before


async def test_an_elder_does_not_take_the_account_of_a_younger_one(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await place(client, namespace)
    await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    await place(client, namespace, "placement2", databaseAccount="placement2")
    await eventually(client, PlacementAPI, "placement2", namespace, is_ready)
    account = await client.get(MariaDBAccount, "placement2", namespace)
    await place(client, namespace, databaseAccount="placement2")
    await eventually(client, PlacementAPI, "placement", namespace, says("belongs to PlacementAPI placement2"))
    # The one that is refused is woken when the other one goes, and finds that what it left is kept for it.
    await client.delete(PlacementAPI, "placement2", namespace)
    await eventually(client, PlacementAPI, "placement", namespace, says("was created for PlacementAPI placement2"))
    assert await client.get(MariaDBAccount, "placement2", namespace) == account


async def test_what_is_kept_is_found_by_the_same_name_alone(client: Client, namespace: str, keystone: Keystone) -> None:
    await place(client, namespace)
    await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    await client.delete(PlacementAPI, "placement", namespace)
    await place(client, namespace, "other", databaseAccount="placement")
    await eventually(client, PlacementAPI, "other", namespace, says(KEPT))
    await place(client, namespace)
    await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    account = await client.get(MariaDBAccount, "placement", namespace)
    assert account.metadata.labels[DATABASE_LABEL] == "placement"


async def test_an_account_that_a_user_made_is_used_and_not_taken_along(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    secret = {"metadata": {"name": "mine", "namespace": namespace}, "stringData": {"DatabasePassword": "mine"}}
    await client.apply(Secret, secret, field_manager="user")
    body = {"metadata": {"name": "mine", "namespace": namespace}, "spec": {"userName": "me", "secret": "mine"}}
    await client.apply(MariaDBAccount, body, field_manager="user")
    await place(client, namespace, databaseAccount="mine")
    await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    used = await client.get(MariaDBAccount, "mine", namespace)
    assert used.metadata.labels[DATABASE_LABEL] == "placement"
    assert MADE_FOR not in used.metadata.annotations
    # One that was made for the service goes when it is no longer used; this one stays.
    for account in ("second", "third"):
        await place(client, namespace, databaseAccount=account)
        await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    await gone(client, MariaDBAccount, "second", namespace)
    kept = await client.get(MariaDBAccount, "mine", namespace)
    assert (kept.deleting, kept.spec.deletionPolicy) == (False, "Retain")


async def test_an_exchange_that_does_not_end_is_ended_and_told(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await place(client, namespace)
    await eventually(client, PlacementAPI, "placement", namespace, is_ready)

    body = {
        "metadata": {"name": "placement", "namespace": namespace, "labels": {DATABASE_LABEL: "theirs"}},
        "spec": {"userName": "placement", "secret": "placement-db-secret"},
    }

    async def contend() -> None:
        # Under the operators' own name, as an older one of them would: the server sees no conflict.
        async for event in client.watch(MariaDBAccount, namespace, fields="metadata.name=placement", initial=True):
            if event.object.metadata.labels.get(DATABASE_LABEL) == "placement":
                await client.apply(MariaDBAccount, body)

    contending = asyncio.create_task(contend())

    def noticed(seen: PlacementAPI) -> bool:
        found = find(seen.status.conditions, "MariaDBAccountReady")
        return found is not None and found.reason == "EndlessExchange"

    try:
        told = await eventually(client, PlacementAPI, "placement", namespace, noticed)
    finally:
        contending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await contending
    found = find(told.status.conditions, "MariaDBAccountReady")
    assert found is not None
    assert "MariaDBAccount placement is changed back each time it is written" in found.message
