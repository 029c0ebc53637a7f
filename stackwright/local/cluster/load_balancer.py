"""Gives each Service of type LoadBalancer an address of a small pool, at which the host and its neighbours reach it.

The addresses belong to the nodes' range, so nobody needs another route. The node has each of them on its loopback link:
it answers for them wherever its cable leads, and kube-proxy does with what arrives there what the Service says.
"""

import argparse
import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Protocol

from stackwright.kube import config
from stackwright.kube.builtin import Node, Service
from stackwright.kube.client import Client
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import NotFound
from stackwright.kube.health import HealthServer
from stackwright.kube.plan import Step
from stackwright.kube.resource import Key
from stackwright.kube.runtime import Runtime, Settings, serve
from stackwright.local.cluster import network
from stackwright.local.cluster.flags import LOAD_BALANCER_HEALTH
from stackwright.local.probe import LOOPBACK

LINK = "lo"


class Addresses(Protocol):
    """The addresses of the pool that the node answers for."""

    def held(self) -> set[str]:
        """Return those that it has."""
        ...

    def hold(self, address: str) -> None:
        """Add one."""
        ...

    def drop(self, address: str) -> None:
        """Remove one."""
        ...


@dataclass(frozen=True)
class OnLink:
    """Those on a link of this network namespace."""

    pool: IPv4Network
    link: str = LINK

    def held(self) -> set[str]:
        """Return the addresses of the pool that the link has."""
        return {address for address in network.addresses_on(self.link) if IPv4Address(address) in self.pool}

    def hold(self, address: str) -> None:
        """Add an address to the link."""
        network.add_address(address, self.link)

    def drop(self, address: str) -> None:
        """Remove an address from the link."""
        network.remove_address(address, self.link)


@dataclass(frozen=True, kw_only=True)
class Hold(Step):
    """Let the node answer for an address."""

    address: str


@dataclass(frozen=True, kw_only=True)
class Assign(Step):
    """Tell a Service, and with it kube-proxy, which address it has."""

    service: Service
    address: str


@dataclass(frozen=True, kw_only=True)
class Refuse(Step):
    """Tell the user why a Service has no address."""

    service: Service


@dataclass(frozen=True, kw_only=True)
class Drop(Step):
    """Let nobody answer for an address any more."""

    address: str


def decide(services: Iterable[Service], held: Iterable[str], pool: IPv4Network) -> tuple[Step, ...]:
    """Return what is to be done, in this order: the node answers for an address before anybody is told of it."""
    wanted = sorted((service for service in services if is_ours(service)), key=_age)
    kept = _kept(wanted, pool)
    assigned, refused = dict(kept), list[Refuse]()
    for service in wanted:
        if service.key in kept:
            continue
        found = _choose(service, set(assigned.values()), pool)
        if isinstance(found, Refuse):
            refused.append(found)
        else:
            assigned[service.key] = found
    known = {service.key: service for service in wanted}
    used, there = set(assigned.values()), set(held)
    return (
        *(Hold(reason="AddressAdded", address=address) for address in sorted(used - there)),
        *(
            Assign(reason="IPAllocated", service=known[key], address=address)
            for key, address in assigned.items()
            if address_of(known[key]) != address
        ),
        *refused,
        *(Drop(reason="AddressRemoved", address=address) for address in sorted(there - used)),
    )


def is_ours(service: Service) -> bool:
    """Return whether a Service wants an address, and of nobody else in particular."""
    wants = service.spec.get("type") == "LoadBalancer" and not service.spec.get("loadBalancerClass")
    return wants and not service.deleting


def address_of(service: Service) -> str:
    """Return the address that a Service was told; empty if there is none."""
    told = (service.status.get("loadBalancer") or {}).get("ingress") or [{}]
    return str(told[0].get("ip", "")) if len(told) == 1 else ""


def _age(service: Service) -> tuple[str, str, str]:
    metadata = service.metadata
    return metadata.creationTimestamp, metadata.namespace, metadata.name


def _kept(wanted: Iterable[Service], pool: IPv4Network) -> dict[Key, str]:
    """Return the Services that stay as they are: whoever has an address keeps it, also when everything starts anew."""
    found: dict[Key, str] = {}
    ours = set(_listed(pool))
    for service in wanted:
        address = address_of(service)
        asked = service.spec.get("loadBalancerIP") or address
        if address in ours and address == asked and address not in found.values():
            found[service.key] = address
    return found


def _choose(service: Service, taken: set[str], pool: IPv4Network) -> str | Refuse:
    def refused(message: str) -> Refuse:
        return Refuse(reason="AllocationFailed", service=service, message=message)

    asked = service.spec.get("loadBalancerIP", "")
    if not asked:
        free = next((address for address in _listed(pool) if address not in taken), "")
        everything = f"All {pool.num_addresses} addresses of {pool} are taken"
        return free or refused(f"{everything}; this Service gets one when another of type LoadBalancer is deleted")
    if asked not in set(_listed(pool)):
        return refused(f"spec.loadBalancerIP {asked} is not in {pool}, from which this cluster gives addresses")
    return asked if asked not in taken else refused(f"spec.loadBalancerIP {asked} belongs to another Service")


def _listed(pool: IPv4Network) -> Iterator[str]:
    return (str(address) for address in pool)


def controller(node: str, pool: IPv4Network, addresses: Addresses) -> Controller:
    """Return the controller of a node's addresses: any change of a Service has it look at all of them."""
    key = Key("", node)

    async def reconcile(_: Key, context: Context) -> Result | None:
        held = await asyncio.to_thread(addresses.held)
        for step in decide(context.store(Service).list(), held, pool):
            await _act(step, addresses, context)
        return None

    return Controller(
        name="load-balancer",
        kind=Node,
        reconcile=reconcile,
        standing=(key,),
        watches=(Watch(Service, lambda _: (key,)),),
        makes=(Service,),
    )


async def _act(step: Step, addresses: Addresses, context: Context) -> None:
    match step:
        case Hold(address=address):
            await asyncio.to_thread(addresses.hold, address)
        case Assign(service=service, address=address):
            metadata = {"name": service.metadata.name, "namespace": service.metadata.namespace}
            body = {"metadata": metadata, "status": {"loadBalancer": {"ingress": [{"ip": address}]}}}
            try:
                await context.client.apply(Service, body, subresource="status")
            except NotFound:
                return  # Its deletion is the next change that we hear of.
            context.events.event(service, "Normal", step.reason, f"Assigned the address {address}")
        case Refuse(service=service, message=message):
            context.events.event(service, "Warning", step.reason, message)
        case Drop(address=address):
            await asyncio.to_thread(addresses.drop, address)


async def _run(kubeconfig: Path, node: str, pool: IPv4Network) -> None:
    health = HealthServer(host=LOOPBACK, port=LOAD_BALANCER_HEALTH)
    async with Client(config.load(kubeconfig), field_manager="stackwright-load-balancer") as client:
        controllers = (controller(node, pool, OnLink(pool)),)
        await serve(Runtime(client, controllers, health=health, settings=Settings(own_process=True)))


def main() -> None:
    """Read the command line, and run until ended."""
    parser = argparse.ArgumentParser(prog="python -m stackwright.local.cluster.load_balancer", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="who we are to the cluster")
    parser.add_argument("--node", required=True, help="the node that answers for the addresses")
    parser.add_argument("--pool", type=IPv4Network, required=True, help="the addresses, such as 10.192.0.192/27")
    arguments = parser.parse_args()
    asyncio.run(_run(arguments.kubeconfig, arguments.node, arguments.pool))


if __name__ == "__main__":
    main()
