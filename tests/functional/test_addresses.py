"""A Service that comes back keeps the address that clients know, outside the cluster and inside."""

from pathlib import Path

import pytest

from stackwright.kube.builtin import Deployment, Event, Job, Service
from stackwright.kube.client import Client
from stackwright.local.apiserver.server import Shared
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE
from tests.functional import neighbours
from tests.functional.clockwork import without_clock
from tests.functional.cloud import cloud, environment
from tests.functional.keystones import ask, until_ready
from tests.functional.releases import Hand
from tests.functional.watching import eventually, is_ready, told

pytestmark = pytest.mark.usefixtures("kinds")

OUTSIDE = {"service": {"public": {"spec": {"type": "NodePort"}}}}


async def public(client: Client, namespace: str, *, after: str = "") -> Service:
    """Return the public Service, or the next one after that of a uid."""
    return await eventually(client, Service, "keystone-public", namespace, lambda seen: seen.metadata.uid != after)


async def internal(client: Client, namespace: str, *, after: str = "") -> Service:
    """Return the Service inside the cluster, or the next one after that of a uid."""
    return await eventually(client, Service, "keystone-internal", namespace, lambda seen: seen.metadata.uid != after)


async def rolled(client: Client, namespace: str) -> object:
    """Return what is another when something ran or rolled again."""
    own = without_clock(await client.list(Job, namespace))
    return {job.metadata.uid for job in own}, (await client.get(Deployment, "keystone", namespace)).metadata.generation


async def test_a_public_service_that_is_deleted_comes_back_at_the_same_port(
    client: Client, namespace: str, kubernetes: dict[str, Path], apiserver: Shared, tmp_path: Path
) -> None:
    await ask(client, namespace, override=OUTSIDE)
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        first = await until_ready(client, namespace)
        before, service = await rolled(client, namespace), await public(client, namespace)
        port = service.spec["ports"][0]["nodePort"]
        assert first.status.addresses["keystone-public"].nodePorts == {service.spec["ports"][0]["name"]: port}
        await client.delete(Service, "keystone-public", namespace)
        again = await public(client, namespace, after=service.metadata.uid)
        assert again.spec["ports"][0]["nodePort"] == port
        healed = await until_ready(client, namespace)
        assert healed.status.apiEndpoints == first.status.apiEndpoints
        assert await rolled(client, namespace) == before

        # The same with the address inside the cluster.
        inside = await internal(client, namespace)
        address = inside.spec["clusterIP"]
        assert first.status.addresses["keystone-internal"].clusterIPs == (address,)
        await client.delete(Service, "keystone-internal", namespace)
        inside = await internal(client, namespace, after=inside.metadata.uid)
        assert inside.spec["clusterIP"] == address

        # The same where helm takes all of it away.
        hand = Hand(kubernetes["helm"], apiserver.kubeconfig, tmp_path, namespace)
        await hand("uninstall", "keystone")
        last = await public(client, namespace, after=again.metadata.uid)
        assert last.spec["ports"][0]["nodePort"] == port
        inside = await internal(client, namespace, after=inside.metadata.uid)
        assert inside.spec["clusterIP"] == address
        await eventually(
            client,
            KeystoneAPI,
            "keystone",
            namespace,
            lambda seen: is_ready(seen) and seen.status.apiEndpoints == first.status.apiEndpoints,
        )
    # What was asked for once is not asked for any more, and stays.
    kept = await public(client, namespace)
    assert (kept.metadata.uid, kept.spec["ports"][0]["nodePort"]) == (last.metadata.uid, port)
    kept = await internal(client, namespace)
    assert (kept.metadata.uid, kept.spec["clusterIP"]) == (inside.metadata.uid, address)
    found = await client.list(Event, namespace)
    assert [event.note for event in found if event.reason == "AddressChanged"] == []


async def test_an_address_inside_that_somebody_took_meanwhile_is_replaced_and_told(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await ask(client, namespace)
    surroundings = environment(kubernetes)
    async with neighbours.schemas(client, namespace):
        async with cloud(client, namespace, (SERVICE,), surroundings):
            await until_ready(client, namespace)
        service = await internal(client, namespace)
        address = service.spec["clusterIP"]
        # While no operator looks.
        await client.delete(Service, "keystone-internal", namespace)
        thief = {
            "metadata": {"name": "thief", "namespace": namespace},
            "spec": {"clusterIP": address, "ports": [{"port": 1}], "selector": {"a": "b"}},
        }
        await client.apply(Service, thief, field_manager="user")
        # Also a resource that is refused keeps its Services, and tells.
        await ask(client, namespace, customServiceConfig="oops")
        async with cloud(client, namespace, (SERVICE,), surroundings):
            again = await internal(client, namespace, after=service.metadata.uid)
            other = again.spec["clusterIP"]
            assert other != address
            words = f"{other} inside the cluster, and no longer {address}"
            await told(client, namespace, "keystone", "AddressChanged", words)
            await ask(client, namespace)
            await until_ready(client, namespace)


async def test_a_port_that_somebody_took_meanwhile_is_replaced_and_told(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await ask(client, namespace, override=OUTSIDE)
    surroundings = environment(kubernetes)
    async with neighbours.schemas(client, namespace):
        async with cloud(client, namespace, (SERVICE,), surroundings):
            first = await until_ready(client, namespace)
        service = await public(client, namespace)
        port = service.spec["ports"][0]["nodePort"]
        # While no operator looks.
        await client.delete(Service, "keystone-public", namespace)
        thief = {
            "metadata": {"name": "thief", "namespace": namespace},
            "spec": {"type": "NodePort", "ports": [{"port": 1, "nodePort": port}], "selector": {"a": "b"}},
        }
        await client.apply(Service, thief, field_manager="user")
        async with cloud(client, namespace, (SERVICE,), surroundings):
            again = await public(client, namespace, after=service.metadata.uid)
            other = again.spec["ports"][0]["nodePort"]
            assert other != port
            old = first.status.apiEndpoints["public"]
            new = old.replace(str(port), str(other))
            await told(client, namespace, "keystone", "AddressChanged", f"at {new}, and no longer at {old}")
            await eventually(
                client,
                KeystoneAPI,
                "keystone",
                namespace,
                lambda seen: is_ready(seen) and seen.status.apiEndpoints["public"] == new,
            )
