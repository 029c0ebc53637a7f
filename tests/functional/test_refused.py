"""Resources that are refused, on a real API server: what a user made is left alone, and what ran goes on."""

from typing import Any

import pytest

from stackwright.adapters.identity import Credentials, Keystone
from stackwright.api.annotations import RELEASE_OWNER
from stackwright.api.keystone import KeystoneService
from stackwright.kube import builtin
from stackwright.kube.builtin import Deployment, Secret
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.belonging import MADE_FOR
from stackwright.services.placement.kinds import PlacementAPI
from tests.functional.placements import keystone, place, says
from tests.functional.services.cases.placement import CASES
from tests.functional.watching import eventually, is_false, is_ready

__all__ = ["keystone"]

pytestmark = pytest.mark.usefixtures("kinds")

# A value that is none: only the reconcile refuses it where there is no webhook.
UNREADABLE = "[DEFAULT]\ndebug = soon\n"


async def make(client: Client, namespace: str, kind: type[Resource], name: str, **content: Any) -> Resource:
    """Make an object as a user does."""
    body = {"metadata": {"name": name, "namespace": namespace}, **content}
    return await client.apply(kind, body, field_manager="user")


async def lose(client: Client, namespace: str, kind: type[Resource], name: str) -> None:
    """Delete an object, and wait until it is made anew."""
    gone = await client.get(kind, name, namespace)
    await client.delete(kind, name, namespace)
    await eventually(client, kind, name, namespace, lambda seen: seen.metadata.uid != gone.metadata.uid)


@pytest.mark.parametrize(
    ("kind", "name", "content"),
    [
        pytest.param(Secret, "placement-config-data", {"stringData": {"mine": "yes"}}, id="the-configuration"),
        pytest.param(
            builtin.Service, "placement-public", {"spec": {"ports": [{"port": 80}]}}, id="an-object-of-the-chart"
        ),
    ],
)
async def test_what_a_user_made_is_named_and_never_touched(
    client: Client, namespace: str, keystone: Keystone, kind: type[Resource], name: str, content: dict[str, Any]
) -> None:
    theirs = await make(client, namespace, kind, name, **content)
    await place(client, namespace)
    refused = await eventually(
        client, PlacementAPI, "placement", namespace, says(f"{kind.kind.name} {name} exists, was not created for this")
    )
    found = find(refused.status.conditions, "InputReady")
    assert found is not None
    assert "rename or delete it" in found.message
    assert f"{RELEASE_OWNER}: operator" in found.message
    await client.delete(PlacementAPI, "placement", namespace)
    assert (await client.get(kind, name, namespace)).metadata == theirs.metadata


async def test_an_installation_by_hand_is_taken_over_when_the_user_says(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await make(client, namespace, Secret, "placement-config-data", stringData={"old": "yes"})
    await place(client, namespace)
    await eventually(client, PlacementAPI, "placement", namespace, says("exists, was not created for this resource"))
    said = {"metadata": {"annotations": {RELEASE_OWNER: "operator"}}}
    await client.patch(PlacementAPI, "placement", namespace, said)
    taken = await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    secret = await client.get(Secret, "placement-config-data", namespace)
    assert secret.metadata.controller is not None
    assert secret.metadata.controller.uid == taken.metadata.uid


async def test_a_service_that_is_refused_is_not_locked_out_by_another_password(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    """Its pods go on with the former password, so the user in Keystone has to keep it."""
    await place(client, namespace)
    await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    await eventually(client, KeystoneService, "placement", namespace, is_ready)
    (before,) = CASES[0].passwords.values()
    await place(client, namespace, customServiceConfig=UNREADABLE)
    await eventually(client, PlacementAPI, "placement", namespace, says("debug"))
    await make(client, namespace, Secret, "osp-secret", stringData=dict.fromkeys(CASES[0].passwords, "another"))
    words = "it is set in Keystone once PlacementAPI placement is configured with it"
    await eventually(client, KeystoneService, "placement", namespace, is_false(words, "KeystoneServiceOSUserReady"))
    assert await keystone.login(Credentials("placement", before)) is not None
    await place(client, namespace)
    await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    await eventually(client, KeystoneService, "placement", namespace, is_ready)
    assert await keystone.login(Credentials("placement", "another")) is not None


async def test_what_carries_the_mark_of_render_is_taken_over(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    body = {
        "metadata": {
            "name": "placement-config-data",
            "namespace": namespace,
            "annotations": {MADE_FOR: "PlacementAPI/placement"},
        },
        "stringData": {"old": "yes"},
    }
    await client.apply(Secret, body, field_manager="user")
    await place(client, namespace)
    await eventually(client, PlacementAPI, "placement", namespace, is_ready)


async def test_a_service_that_is_refused_is_kept_as_it_was_recorded(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await place(client, namespace)
    ready = await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    before = await client.get(Deployment, "placement", namespace)
    config = await client.get(Secret, "placement-config-data", namespace)
    await place(client, namespace, replicas=3, customServiceConfig=UNREADABLE)
    await eventually(client, PlacementAPI, "placement", namespace, says("debug"))
    lost: tuple[tuple[type[Resource], str], ...] = (
        (builtin.Service, "placement-internal"),
        (Deployment, "placement"),
    )
    for kind, name in lost:
        await lose(client, namespace, kind, name)
    after = await client.get(Deployment, "placement", namespace)
    assert after.spec["template"] == before.spec["template"]
    assert after.spec["replicas"] == before.spec["replicas"]
    assert await client.get(Secret, "placement-config-data", namespace) == config

    def told(seen: PlacementAPI) -> bool:
        found = find(seen.status.conditions, "DeploymentReady")
        return found is not None and found.status == "True" and says("debug")(seen)

    await eventually(client, PlacementAPI, "placement", namespace, told)
    await place(client, namespace, replicas=2)
    await eventually(client, Deployment, "placement", namespace, lambda seen: seen.spec["replicas"] == 2)
    healed = await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    assert healed.metadata.uid == ready.metadata.uid


async def test_one_that_is_refused_for_anothers_account_keeps_what_is_its_own(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await place(client, namespace)
    await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    await place(client, namespace, "placement2", databaseAccount="placement2")
    await eventually(client, PlacementAPI, "placement2", namespace, is_ready)
    await place(client, namespace, databaseAccount="placement2")
    await eventually(client, PlacementAPI, "placement", namespace, says("belongs to PlacementAPI placement2"))
    theirs = await client.get(Deployment, "placement2", namespace)
    await lose(client, namespace, Deployment, "placement")
    assert (await client.get(Deployment, "placement2", namespace)).spec == theirs.spec
