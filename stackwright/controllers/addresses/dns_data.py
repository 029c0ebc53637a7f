"""DNSData: whether its names can be served. The webhook refuses what cannot, if it is there to be asked."""

from stackwright.api.annotations import PAUSED
from stackwright.api.network import SERVICE_CONFIG_READY, DNSData
from stackwright.blueprint.addresses.names import find_problems
from stackwright.controllers.addresses.net_configs import describe
from stackwright.kube.controller import Context, Controller
from stackwright.kube.plan import Ends, Plan, Step, Wait
from stackwright.kube.shapes.external import External


async def observe(_: DNSData, __: Context) -> None:
    """Look at nothing: the resource says everything."""


def decide(names: DNSData, _: None) -> Plan:
    """Return what is wrong with the names; nothing is ever to do."""
    problems = tuple(find_problems(names.spec))
    if not problems:
        return Plan()
    message = f"{describe(problems)}; the other names are served"
    return Plan(waits=(Wait("Invalid", message, SERVICE_CONFIG_READY, ends=Ends.BY_USER),))


async def _act(step: Step, _: Context) -> None:
    raise AssertionError(f"DNSData has no steps: {step}")


def controller() -> Controller:
    """Return the controller of DNSData."""
    shape: External[DNSData, None, Context] = External(of=DNSData, read=observe, decide=decide, act=_act, pause=PAUSED)
    return shape.controller(lambda context: context, workers=1)
