"""Services of type LoadBalancer on the real API server: each has an address, keeps it, and says why it has none."""

from dataclasses import dataclass, field
from ipaddress import IPv4Network

from stackwright.kube.builtin import Event, Service
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.kube.runtime import Runtime
from stackwright.local.cluster import load_balancer
from stackwright.local.cluster.load_balancer import address_of
from tests.functional.running import running, worked_through
from tests.functional.watching import eventually, until

POOL = IPv4Network("10.192.0.192/31")
FIRST, SECOND = "10.192.0.192", "10.192.0.193"


@dataclass
class Link:
    """A link without a kernel: the addresses that it has."""

    addresses: set[str] = field(default_factory=set)

    def held(self) -> set[str]:
        return set(self.addresses)

    def hold(self, address: str) -> None:
        self.addresses.add(address)

    def drop(self, address: str) -> None:
        self.addresses.remove(address)


def service(name: str, namespace: str, kind: str = "LoadBalancer") -> JsonObject:
    spec = {"type": kind, "ports": [{"port": 80}], "selector": {"app": name}}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def runtime_of(client: Client, namespace: str, link: Link) -> Runtime:
    return Runtime(client, (load_balancer.controller("node-1", POOL, link),), namespace=namespace)


async def test_services_get_addresses_until_none_is_left_and_then_those_of_others(
    client: Client, namespace: str
) -> None:
    link = Link()
    runtime = runtime_of(client, namespace, link)
    async with running(runtime):
        for name in ("a", "b"):
            await client.create(Service, service(name, namespace))
            await eventually(client, Service, name, namespace, address_of)
        found = {one.metadata.name: address_of(one) for one in await client.list(Service, namespace)}
        assert found == {"a": FIRST, "b": SECOND}
        late = await client.create(Service, service("c", namespace))
        await worked_through(runtime, late)
        assert address_of(await client.get(Service, "c", namespace)) == ""
        assert link.addresses == {FIRST, SECOND}

        def is_refused(found: list[Event]) -> bool:
            told = [one for one in found if one.regarding.get("name") == "c" and one.reason == "AllocationFailed"]
            return bool(told) and "All 2 addresses of 10.192.0.192/31 are taken" in told[0].note

        await until(lambda: client.list(Event, namespace), is_refused)
        await client.delete(Service, "a", namespace)
        await eventually(client, Service, "c", namespace, lambda found: address_of(found) == FIRST)
        assert link.addresses == {FIRST, SECOND}


async def test_an_address_outlives_the_node_and_goes_with_the_type(client: Client, namespace: str) -> None:
    link = Link()
    async with running(runtime_of(client, namespace, link)):
        for name in ("a", "b"):
            await client.create(Service, service(name, namespace))
            await eventually(client, Service, name, namespace, address_of)
        await client.delete(Service, "a", namespace)
        await until(lambda: link.addresses == {SECOND})
    # The node starts anew, with nothing on its links.
    anew = Link()
    async with running(runtime_of(client, namespace, anew)):
        await until(lambda: anew.addresses == {SECOND})
        assert address_of(await client.get(Service, "b", namespace)) == SECOND
        await client.apply(Service, service("b", namespace, kind="ClusterIP"))
        await until(lambda: anew.addresses == set())
    assert address_of(await client.get(Service, "b", namespace)) == ""
