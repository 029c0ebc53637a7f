"""DNSData: whether its names can be served. The webhook refuses what cannot, if it is there to be asked."""

from collections.abc import Iterable
from typing import Any

from stackwright import services
from stackwright.api.annotations import PAUSED
from stackwright.api.network import SERVICE_CONFIG_READY, DNSData
from stackwright.blueprint.addresses.names import find_problems
from stackwright.blueprint.providers import NAME_SERVER, NameServer, Offerer
from stackwright.controllers.addresses.net_configs import describe
from stackwright.kube.controller import Context, Controller, Watch
from stackwright.kube.informer import Change
from stackwright.kube.plan import Ends, Plan, Step, Wait
from stackwright.kube.resource import CustomResource, Key
from stackwright.kube.shapes.external import External


def _known() -> Offerer:
    return services.providers()[NAME_SERVER]


async def observe(names: DNSData, context: Context) -> tuple[str, ...]:
    """Return the name servers that have no room for the names."""
    known = _known()
    there = context.store(known.kind).list(names.metadata.namespace)
    return find_full(names, {f"{known.kind.kind.name} {each.metadata.name}": known.offer(each) for each in there})


def find_full(names: DNSData, servers: dict[str, NameServer]) -> tuple[str, ...]:
    """Return those of some name servers that are to serve the names, and have no room for them. Pure."""
    wanted, name = names.spec.dnsDataLabelSelectorValue, names.metadata.name
    return tuple(sorted(each for each, offer in servers.items() if offer.serves == wanted and name in offer.left_out))


def decide(names: DNSData, full: tuple[str, ...]) -> Plan:
    """Return what is wrong with the names, and who does not serve them; nothing is ever to do."""
    waits = []
    if problems := tuple(find_problems(names.spec)):
        message = f"{describe(problems)}; the other names are served"
        waits.append(Wait("Invalid", message, SERVICE_CONFIG_READY, ends=Ends.BY_USER))
    if full:
        message = (
            f"None of these names is served: {', '.join(full)} has no room for all names with the value "
            f"{names.spec.dnsDataLabelSelectorValue!r}, and leaves out the largest DNSData. Make this one smaller, or "
            "give it another dnsDataLabelSelectorValue, and create another name server with that value"
        )
        waits.append(Wait("TooManyNames", message, SERVICE_CONFIG_READY, ends=Ends.BY_USER))
    return Plan(waits=tuple(waits))


async def _act(step: Step, _: Context) -> None:
    raise AssertionError(f"DNSData has no steps: {step}")


def _left_out(server: CustomResource) -> Iterable[Key]:
    return (Key(server.metadata.namespace, name) for name in _known().offer(server).left_out)


def _leaves_out_others(change: Change[Any]) -> bool:
    """Return whether a name server has room for others than before, or is for others."""
    before, after = (
        (offer.serves, offer.left_out) if (offer := _offer(each)) is not None else None
        for each in (change.old, change.new)
    )
    return before != after


def _offer(server: CustomResource | None) -> NameServer | None:
    found: NameServer | None = _known().offer(server) if server is not None else None
    return found


def controller() -> Controller:
    """Return the controller of DNSData."""
    shape: External[DNSData, tuple[str, ...], Context] = External(
        of=DNSData, read=observe, decide=decide, act=_act, pause=PAUSED
    )
    # A server names those for which it has no room, so that a new name wakes none of a thousand others.
    watch = Watch(_known().kind, to=_left_out, when=_leaves_out_others)
    return shape.controller(lambda context: context, watches=(watch,), workers=1)
