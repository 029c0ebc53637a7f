"""NetConfig: whether its networks can be as they are. The webhook refuses what cannot, if it is there to be asked."""

from dataclasses import dataclass

from stackwright.api.annotations import PAUSED
from stackwright.api.network import INPUT_READY, IPSet, NetConfig, Reservation
from stackwright.blueprint.addresses import refusals
from stackwright.blueprint.addresses.allocation import Held, list_held
from stackwright.blueprint.addresses.subnets import elder_first
from stackwright.blueprint.refusal import Problem
from stackwright.controllers.looks import Interests, Looker
from stackwright.kube.controller import Context, Controller
from stackwright.kube.informer import Change
from stackwright.kube.plan import Ends, Plan, Step, Wait
from stackwright.kube.predicates import asked_differently
from stackwright.kube.shapes.external import External

# How many of several faults are named.
NAMED = 3


@dataclass(frozen=True)
class Seen:
    """What a NetConfig finds in its namespace: the one that counts, who has which address, and what IPSets tell."""

    elder: str
    held: tuple[Held, ...]
    ip_sets: tuple[IPSet, ...]


@dataclass(frozen=True)
class World:
    """What a pass works with."""

    context: Context
    interests: Interests


async def observe(net_config: NetConfig, world: World) -> Seen:
    """Look at the addresses of the namespace."""
    look: Looker = world.interests.begin(net_config, world.context)
    return Seen(
        elder=next((each.metadata.name for each in elder_first(look.all(NetConfig))), ""),
        held=tuple(list_held(look.all(Reservation))),
        ip_sets=tuple(look.all(IPSet)),
    )


def decide(net_config: NetConfig, seen: Seen) -> Plan:
    """Return what is wrong with the networks; nothing is ever to do."""
    if seen.elder != net_config.metadata.name:
        message = f"NetConfig {seen.elder} was there first, and a namespace has one at most; delete one of them"
        return Plan(waits=(Wait("NotTheOnlyOne", message, INPUT_READY, ends=Ends.BY_USER),))
    problems = tuple(refusals.of_net_config(net_config.spec, seen.held, seen.ip_sets))
    if not problems:
        return Plan()
    return Plan(waits=(Wait("Invalid", describe(problems), INPUT_READY, ends=Ends.BY_USER),))


def describe(problems: tuple[Problem, ...]) -> str:
    """Return the first faults as a sentence."""
    more = f"; and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
    return "; ".join(f"{path}: {sentence}" for path, sentence in problems[:NAMED]) + more


async def _act(step: Step, _: World) -> None:
    raise AssertionError(f"a NetConfig has no steps: {step}")


def _went(change: Change[Reservation | IPSet]) -> bool:
    """Return whether an address was released; that one is taken makes no NetConfig wrong."""
    return change.new is None


def controller() -> Controller:
    """Return the controller of NetConfigs."""
    interests = Interests()
    shape: External[NetConfig, Seen, World] = External(
        of=NetConfig, read=observe, decide=decide, act=_act, pause=PAUSED
    )
    return shape.controller(
        lambda context: World(context, interests),
        watches=(
            interests.watch(NetConfig, asked_differently),
            *(interests.watch(kind, _went) for kind in (Reservation, IPSet)),
        ),
        owns=(),
        workers=1,
    )
