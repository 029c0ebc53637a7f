"""Networks and addresses on a real API server: no address is given twice, and what is deleted is given back."""

import asyncio
from collections.abc import Callable, Iterable

import pytest

from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.network import DNSData, IPSet, NetConfig, Reservation
from stackwright.blueprint.dataplane.inventory import read_hosts
from stackwright.controllers import addresses
from stackwright.kube import conditions, status_writers
from stackwright.kube.builtin import ConfigMap, Event
from stackwright.kube.client import Client
from stackwright.kube.controller import Controller
from stackwright.kube.resource import owner_reference
from stackwright.kube.runtime import Runtime
from stackwright.services.dnsmasq.kinds import DNSMasq
from stackwright.simulator import simulated
from tests.functional.cloud import Cloud
from tests.functional.dataplane.machines import Plane
from tests.functional.net_configs import BOTH, CTLPLANE, INTERNAL
from tests.functional.running import patches, quiet, running
from tests.functional.watching import eventually, gone, some

pytestmark = pytest.mark.usefixtures("kinds")


def told(ip_sets: Iterable[IPSet]) -> list[str]:
    return [each.address for ip_set in ip_sets for each in ip_set.status.reservations]


async def test_no_address_is_given_twice_and_a_released_one_is_given_again(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only one operator leads. Two at once, as here, write under one name, and may take each other for a hand if both
    # write within a second, because the server's times have whole seconds (decision 18).
    monkeypatch.setattr(status_writers, "is_by_hand", lambda *_: False)
    here = Cloud(client, namespace)
    # Two operators that know nothing of each other: neither has the other's addresses in its caches in time.
    first, second = (Runtime(client, addresses.controllers(), namespace=namespace) for _ in range(2))
    async with running(first), running(second):
        names = [f"node-{number}" for number in range(10)]
        await asyncio.gather(*(here.put(IPSet, name, spec={"networks": BOTH}) for name in names))
        await here.says(IPSet, "InputReady", f"NetConfig missing in namespace {namespace}", "node-0")
        await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE, INTERNAL]})
        ready = [await here.ready(IPSet, name) for name in names]
        assert len(set(told(ready))) == 20
        # What both took for the same IPSet is released again.
        reserved = await some(client, Reservation, namespace, lambda there: len(there) == 20)
        held = [entry.address for each in reserved for entry in each.spec.reservation.values()]
        assert sorted(held) == sorted(told(ready))
        # The range of ctlplane is exhausted; the other network still has room.
        await here.put(IPSet, "late", spec={"networks": BOTH})
        late = await here.says(IPSet, "ReservationReady", "no address is left for IPSet late in subnet", "late")
        assert len(late.status.reservations) == 1
        await client.delete(IPSet, "node-4", namespace)
        late = await here.ready(IPSet, "late")
        assert late.status.reservations[0].address == ready[4].status.reservations[0].address
        await some(client, Reservation, namespace, lambda there: len(there) == 20)
        # What somebody deletes by hand is reserved again, and the address stays.
        lost = next(
            each for each in reserved if each.spec.ipSetRef.name == "node-0" and "ctlplane" in each.spec.reservation
        )
        await client.delete(Reservation, lost.metadata.name, namespace)
        await some(
            client,
            Reservation,
            namespace,
            lambda there: any(
                each.metadata.name == lost.metadata.name and each.metadata.uid != lost.metadata.uid for each in there
            ),
        )
        await quiet(first)
        await quiet(second)
    # An operator that starts again finds everything as it is.
    third = Runtime(client, addresses.controllers(), namespace=namespace)
    before = patches()
    async with running(third):
        await asyncio.wait_for(third.informers.synced(), 60)
        await quiet(third)
    assert patches() == before
    await client.delete(IPSet, "node-1", namespace)
    await gone(client, Reservation, f"ctlplane-{told([ready[1]])[0].replace('.', '-')}", namespace)


async def test_what_cannot_be_is_said_again_without_the_webhook(client: Client, namespace: str) -> None:
    here = Cloud(client, namespace)
    await here.put(DNSData, "wrong", spec={"hosts": [{"ip": "192.0.2.300", "hostnames": ["one"]}]})
    # A Reservation that was restored before its IPSet is its own again.
    restored = {"ctlplane": {"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.77"}}
    await here.put(Reservation, "node", spec={"ipSetRef": {}, "reservation": restored})
    async with running(Runtime(client, addresses.controllers(), namespace=namespace)):
        await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE, INTERNAL]})
        await here.put(IPSet, "node", spec={"networks": BOTH})
        node = await here.ready(IPSet, "node")
        assert told([node]) == ["192.168.122.77", "172.17.0.100"]
        kept = await client.get(Reservation, "node", namespace)
        assert kept.metadata.controller is not None
        assert kept.metadata.controller.uid == node.metadata.uid
        await here.put(Reservation, "third", spec={"reservation": restored})
        await here.put(IPSet, "third", spec={"networks": BOTH[:1]})
        await here.says(IPSet, "ReservationReady", "192.168.122.77 in network ctlplane is also reserved by", "third")
        await here.ready(IPSet, "node")
        # What has no owner would stay.
        await eventually(client, Reservation, "third", namespace, lambda there: there.metadata.controller is not None)
        await client.delete(IPSet, "third", namespace)
        await gone(client, Reservation, "third", namespace)
        await here.put(NetConfig, "netconfig", spec={"networks": [INTERNAL]})
        await here.says(NetConfig, "InputReady", "network ctlplane cannot be removed: it is in use by", "netconfig")
        waiting = await here.says(IPSet, "InputReady", "network ctlplane is not in the NetConfig", "node")
        assert told([waiting]) == told([node])
        await here.put(NetConfig, "netconfig", spec={"networks": [{**CTLPLANE, "mtu": 9000}, INTERNAL]})
        again = await here.ready(IPSet, "node")
        assert [each.mtu for each in again.status.reservations] == [9000, 1500]
        fixed = {"name": "ctlplane", "subnetName": "subnet1", "fixedIP": "192.168.122.77"}
        await here.put(IPSet, "other", spec={"networks": [fixed]})
        await here.says(IPSet, "ReservationReady", "192.168.122.77 is already reserved by IPSet node", "other")
        await client.delete(IPSet, "node", namespace)
        assert told([await here.ready(IPSet, "other")]) == ["192.168.122.77"]
        await here.says(DNSData, "ServiceConfigReady", "spec.hosts[0].ip: '192.0.2.300' is not an IP address", "wrong")
        await here.put(DNSData, "wrong", spec={"hosts": [{"ip": "192.0.2.30", "hostnames": ["one"]}]})
        await here.ready(DNSData, "wrong")


async def test_what_machines_were_told_stays_without_the_webhook(client: Client, namespace: str) -> None:
    here = Cloud(client, namespace)
    retagged = {**INTERNAL, "subnets": [{**INTERNAL["subnets"][0], "vlan": 30}]}
    vlan = "spec.networks[1].subnets[0].vlan: must stay 20: IPSets have addresses in the subnet"
    async with running(Runtime(client, addresses.controllers(), namespace=namespace)):
        await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE, INTERNAL]})
        await here.put(IPSet, "node", spec={"networks": BOTH[1:], "immutable": True})
        before = await here.ready(IPSet, "node")

        await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE, retagged]})
        await here.says(NetConfig, "InputReady", vlan, "netconfig")
        refused = await here.says(IPSet, "InputReady", vlan, "node")
        assert refused.status.reservations == before.status.reservations
        # Nobody else gets an address in what is refused, or the machines of one subnet would not agree on its VLAN.
        await here.put(IPSet, "late", spec={"networks": BOTH[1:]})
        late = await here.says(IPSet, "InputReady", vlan, "late")
        assert late.status.reservations == ()
        await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE, INTERNAL]})
        assert [each.vlan for each in (await here.ready(IPSet, "late")).status.reservations] == [20]
        await here.ready(IPSet, "node")
        await here.ready(NetConfig, "netconfig")

        await here.put(IPSet, "node", spec={"networks": BOTH, "immutable": True})
        immutable = "spec.networks: must stay as it is, because immutable is set"
        refused = await here.says(IPSet, "InputReady", immutable, "node")
        assert refused.status.reservations == before.status.reservations
        assert [each.spec.ipSetRef.name for each in await client.list(Reservation, namespace)] == ["node", "late"]
        await here.put(IPSet, "node", spec={"networks": BOTH, "immutable": False})
        assert len((await here.ready(IPSet, "node")).status.reservations) == 2

        # A VLAN that no machine was told may be another one.
        await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE, retagged]})
        await here.says(NetConfig, "InputReady", vlan, "netconfig")
        await client.delete(IPSet, "late", namespace)
        await client.delete(IPSet, "node", namespace)
        await here.ready(NetConfig, "netconfig")


async def test_a_restored_address_outlives_an_ip_set_whose_node_goes(client: Client, namespace: str) -> None:
    here = Cloud(client, namespace)
    await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE, INTERNAL]})
    entry = {"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.77"}
    await here.put(Reservation, "restored", spec={"ipSetRef": {"name": "node"}, "reservation": {"ctlplane": entry}})
    # The garbage collector leaves the IPSet alone until this finalizer goes.
    metadata = {"name": "node", "namespace": namespace, "finalizers": ["example.com/held"]}
    node = await client.create(OpenStackDataPlaneNode, {"metadata": metadata, "spec": {"role": "compute"}})
    owned = {"name": "node", "namespace": namespace, "ownerReferences": [owner_reference(node)]}
    await client.create(IPSet, {"metadata": owned, "spec": {"networks": BOTH[:1]}})
    await client.delete(OpenStackDataPlaneNode, "node", namespace)
    async with running(Runtime(client, addresses.controllers(), namespace=namespace)):
        await here.says(IPSet, "ReservationReady", "restored is left alone: OpenStackDataPlaneNode node", "node")
        await client.patch(OpenStackDataPlaneNode, "node", namespace, {"metadata": {"finalizers": None}})
        await gone(client, IPSet, "node", namespace)
        kept = await client.get(Reservation, "restored", namespace)
        assert kept.metadata.ownerReferences == ()
        # The next one has the address of its machine, and the Reservation goes with it.
        await here.put(IPSet, "node", spec={"networks": BOTH[:1]})
        assert told([await here.ready(IPSet, "node")]) == ["192.168.122.77"]
        await client.delete(IPSet, "node", namespace)
        await gone(client, Reservation, "restored", namespace)


async def test_a_restored_address_is_not_released_for_one_that_was_taken(client: Client, namespace: str) -> None:
    here = Cloud(client, namespace)
    await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE, INTERNAL]})
    node = await here.put(IPSet, "node", spec={"networks": BOTH[:1]})
    # An operator took an address, and died before it told it; then somebody restored what the machine has.
    for name, address, owners in (
        ("ctlplane-192-168-122-100", "192.168.122.100", [owner_reference(node)]),
        ("restored", "192.168.122.77", []),
    ):
        entry = {"network": "ctlplane", "subnet": "subnet1", "address": address}
        metadata = {"name": name, "namespace": namespace, "ownerReferences": owners}
        spec = {"ipSetRef": {"name": "node"}, "reservation": {"ctlplane": entry}}
        await client.create(Reservation, {"metadata": metadata, "spec": spec})
    async with running(Runtime(client, addresses.controllers(), namespace=namespace)):
        assert told([await here.ready(IPSet, "node")]) == ["192.168.122.77"]
        await gone(client, Reservation, "ctlplane-192-168-122-100", namespace)
        kept = await client.get(Reservation, "restored", namespace)
        assert [owner.uid for owner in kept.metadata.ownerReferences] == [node.metadata.uid]


async def test_an_address_that_is_restored_beside_another_one_is_told(client: Client, namespace: str) -> None:
    here = Cloud(client, namespace)
    await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE, INTERNAL]})
    await here.put(IPSet, "node", spec={"networks": BOTH[:1]})

    def said(ip_set: IPSet, reason: str) -> bool:
        found = conditions.find(ip_set.status.conditions, "ReservationReady")
        return found is not None and (found.status, found.reason) == ("True", reason)

    async with running(Runtime(client, addresses.controllers(), namespace=namespace)):
        assert told([await here.ready(IPSet, "node")]) == ["192.168.122.100"]
        entry = {"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.77"}
        spec = {"ipSetRef": {"name": "node"}, "reservation": {"ctlplane": entry}}
        await here.put(Reservation, "restored", spec=spec)
        warned = await eventually(client, IPSet, "node", namespace, lambda seen: said(seen, "AddressBeside"))
        assert (told([warned]), conditions.is_true(warned.status.conditions)) == (["192.168.122.100"], True)
        events = await some(
            client, Event, namespace, lambda found: any(each.reason == "AddressBeside" for each in found)
        )
        assert [each.type for each in events if each.reason == "AddressBeside"] == ["Warning"]
        await client.delete(Reservation, "restored", namespace)
        ended = await eventually(client, IPSet, "node", namespace, lambda seen: said(seen, "Ready"))
        assert "192.168.122.77" not in str(ended.status.conditions)


async def test_an_address_that_somebody_asks_for_is_not_given_to_others(client: Client, namespace: str) -> None:
    here = Cloud(client, namespace)
    ranges = [{"start": "192.168.122.100", "end": "192.168.122.101"}]
    subnet = {**CTLPLANE["subnets"][0], "allocationRanges": ranges}
    fixed = {**BOTH[0], "fixedIP": "192.168.122.100"}
    # Whose IPSet is not there yet, and one that waits for another network.
    await here.put(OpenStackDataPlaneNode, "one", spec={"role": "compute", "node": {"networks": [fixed]}})
    waiting = [{**BOTH[0], "fixedIP": "192.168.122.101"}, {"name": "storage", "subnetName": "subnet1"}]
    await here.put(IPSet, "two", spec={"networks": waiting})
    await here.put(NetConfig, "netconfig", spec={"networks": [{**CTLPLANE, "subnets": [subnet]}]})
    async with running(Runtime(client, addresses.controllers(), namespace=namespace)):
        await here.says(IPSet, "InputReady", "network storage is not in the NetConfig", "two")
        await here.put(IPSet, "three", spec={"networks": BOTH[:1]})
        await here.says(IPSet, "ReservationReady", "no address is left for IPSet three", "three")
        # What somebody lets go of is free.
        await here.put(IPSet, "two", spec={"networks": [{**BOTH[0], "fixedIP": "192.168.122.50"}]})
        assert told([await here.ready(IPSet, "three")]) == ["192.168.122.101"]
        await here.put(IPSet, "one", spec={"networks": [fixed]})
        assert told([await here.ready(IPSet, "one")]) == ["192.168.122.100"]


async def test_names_for_which_there_is_no_room_say_so_themselves(client: Client, namespace: str) -> None:
    here = Cloud(client, namespace)
    hosts = {"hosts": [{"ip": "192.0.2.1", "hostnames": ["one.example.com"]}]}
    async with running(Runtime(client, addresses.controllers(), namespace=namespace)):
        for name in ("large", "small"):
            await here.put(DNSData, name, spec=hosts)
            await here.ready(DNSData, name)
        await here.put(DNSMasq, "dns", spec={})
        await leave_out(here, "large")
        await here.says(DNSData, "ServiceConfigReady", "DNSMasq dns has no room for all names", "large")
        await here.ready(DNSData, "small")
        await leave_out(here)
        await here.ready(DNSData, "large")
        await leave_out(here, "large")
        await here.says(DNSData, "ServiceConfigReady", "DNSMasq dns has no room for all names", "large")
        await client.delete(DNSMasq, "dns", namespace)
        await here.ready(DNSData, "large")


async def leave_out(here: Cloud, *names: str) -> None:
    """Say of a name server, as its operator does, that it has no room for some names."""
    await here.client.patch(DNSMasq, "dns", here.namespace, {"status": {"leftOut": names}}, subresource="status")


class Networked(Plane):
    """Machines with addresses in networks."""

    def controllers(self) -> tuple[Controller, ...]:
        return (*super().controllers(), *addresses.controllers())


def asks(*servers: str) -> Callable[[ConfigMap], bool]:
    """Return whether an inventory tells a machine to ask these name servers."""

    def is_told(inventory: ConfigMap) -> bool:
        (host,) = read_hosts(inventory.data["inventory"]).values()
        return tuple(host.get("ctlplane_dns_nameservers", ())) == servers

    return is_told


async def test_a_node_has_addresses_and_names_as_long_as_it_is_there(client: Client, namespace: str) -> None:
    async with simulated(client, namespace) as play:
        here = Networked(client, namespace, play=play)
        await here.prepare()
        async with here.operator():
            template = {"ansibleSSHPrivateKeySecret": "ssh-key", "networks": BOTH}
            await here.role(nodeTemplate=template, preProvisioned=True)
            await here.node("one", ansibleHost="192.168.122.31")
            await here.node("two", ansibleHost="")
            await here.says(OpenStackDataPlaneNode, "InputReady", "There is no NetConfig yet", "one")
            await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE, INTERNAL]})
            for name, address in (("one", "192.168.122.31"), ("two", "192.168.122.100")):
                await here.ready(OpenStackDataPlaneNode, name)
                inventory = await client.get(ConfigMap, f"dataplanenode-{name}", namespace)
                host = read_hosts(inventory.data["inventory"])[name]
                assert (host["ansible_host"], host["ctlplane_ip"]) == (address, address)
                assert (host["internalapi_vlan_id"], host["internalapi_cidr"]) == (20, 24)
                assert "ctlplane_dns_nameservers" not in host
                names = await client.get(DNSData, name, namespace)
                assert [(each.ip, each.hostnames) for each in names.spec.hosts] == [
                    (address, (f"{name}.ctlplane.example.com",)),
                    (host["internalapi_ip"], (f"{name}.internalapi.example.com",)),
                ]
                await here.ready(DNSData, name)
            # Its machines ask a name server from the moment on in which they can reach it.
            await here.put(DNSMasq, "dns", spec={})
            reached = {"status": {"dnsAddresses": ["192.168.122.80"]}}
            await client.patch(DNSMasq, "dns", namespace, reached, subresource="status")
            for name in ("one", "two"):
                await eventually(client, ConfigMap, f"dataplanenode-{name}", namespace, asks("192.168.122.80"))
            await client.delete(DNSMasq, "dns", namespace)
            await eventually(client, ConfigMap, "dataplanenode-two", namespace, asks())
            # Its machine uses the addresses, even if nobody asks for them any more.
            await here.role(preProvisioned=True)
            unasked = await here.says(OpenStackDataPlaneNode, "InputReady", "IPSet two still has its addresses", "two")
            await here.worked_through(unasked)
            assert len(await client.list(Reservation, namespace)) == 4
            await client.delete(IPSet, "two", namespace)
            await here.ready(OpenStackDataPlaneNode, "two")
            await gone(client, DNSData, "two", namespace)
            await here.role(nodeTemplate=template, preProvisioned=True)
            await here.ready(IPSet, "two")
            await client.delete(OpenStackDataPlaneNode, "one", namespace)
            await gone(client, IPSet, "one", namespace)
            await gone(client, DNSData, "one", namespace)
            await some(client, Reservation, namespace, lambda there: len(there) == 2)


async def test_the_address_of_a_machine_is_not_given_to_another(client: Client, namespace: str) -> None:
    here = Cloud(client, namespace)
    ranges = [{"start": "192.168.122.100", "end": "192.168.122.101"}]
    subnet = {**CTLPLANE["subnets"][0], "allocationRanges": ranges}
    await here.put(NetConfig, "netconfig", spec={"networks": [{**CTLPLANE, "subnets": [subnet]}]})
    for name, address in (("one", "192.168.122.100"), ("two", "192.168.122.101")):
        await here.put(OpenStackDataPlaneNode, name, spec={"role": "compute", "ansibleHost": address})
    async with running(Runtime(client, addresses.controllers(), namespace=namespace)):
        # An IPSet of a node may have the address of that node, also in another order than that of the ranges.
        await here.put(IPSet, "two", spec={"networks": BOTH[:1]})
        assert told([await here.ready(IPSet, "two")]) == ["192.168.122.101"]
        await here.put(IPSet, "gateway", spec={"networks": BOTH[:1]})
        await here.says(IPSet, "ReservationReady", "no address is left for IPSet gateway", "gateway")
        # It is free as soon as the machine is somewhere else.
        await here.put(OpenStackDataPlaneNode, "one", spec={"role": "compute", "ansibleHost": "one.example.com"})
        assert told([await here.ready(IPSet, "gateway")]) == ["192.168.122.100"]
