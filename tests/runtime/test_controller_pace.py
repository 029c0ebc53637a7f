"""What a run puts off brings its key back, however the run ended."""

from dataclasses import dataclass

import pytest

from stackwright.kube import pace
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.kube.clock import now
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.plan import Plan, Step
from stackwright.kube.resource import Condition, Key, ObjectMeta
from stackwright.kube.shapes.external import External
from tests.runtime.controlling import Runs, body, controller, quiet, running
from tests.runtime.fault_server import FaultServer
from tests.unit.kube.pots import MADE, Pot, PotStatus

__all__ = ["quiet"]

WAITING = PotStatus(conditions=(Condition(type="Ready", status="False", severity="Info"),))


@pytest.mark.parametrize("blocked", [False, True], ids=["it-succeeded", "it-was-blocked"])
async def test_a_key_whose_status_was_put_off_is_looked_at_again(
    client: Client, server: FaultServer, monkeypatch: pytest.MonkeyPatch, *, blocked: bool
) -> None:
    monkeypatch.setattr(pace, "QUIET", 0.01)
    monkeypatch.setattr(pace, "OWN", 0.01)
    server.put(ConfigMap, body("a"))
    put_off: list[bool] = []

    async def say(key: Key, context: Context) -> None:
        resource = Pot(metadata=ObjectMeta(name=key.name, uid="1", annotations=MADE))
        put_off.append(context.pace.puts_off(resource, WAITING, now()))
        if blocked:
            raise Blocked("a user must act")

    runs = Runs(say)
    async with running(client, controller(runs)):
        await runs.reach("a", "a")
    # The second run knows since when the first one has put it off.
    assert put_off == [True, False]
    assert runs.names == ["a", "a"]


@dataclass
class Stove:
    """A world outside the cluster that refuses the first who ask, and then has all that a pot needs."""

    refusals: int


async def observe(_: Pot, stove: Stove) -> None:
    if stove.refusals:
        stove.refusals -= 1
        raise Retry("Connection refused", reason="Unavailable", condition="Hot", after=0.01)


def decide(_: Pot, __: None) -> Plan:
    return Plan()


async def act(_: Step, __: Stove) -> None:
    """There is nothing to do."""


@pytest.mark.parametrize(
    ("refusals", "pause", "said", "events"),
    [
        pytest.param(2, 5.0, ["True"], [], id="an-error-that-passes-is-neither-written-nor-told"),
        pytest.param(200, 0.05, ["False"], ["Unavailable"], id="one-that-lasts-is-both"),
    ],
)
async def test_an_error_on_the_way_to_ready(
    client: Client,
    server: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    refusals: int,
    pause: float,
    said: list[str],
    events: list[str],
) -> None:
    monkeypatch.setattr(pace, "PAUSE", pause)
    server.put(Pot, {"metadata": {"name": "a", "namespace": "one", "annotations": MADE}})
    stove = Stove(refusals)
    shape = External(of=Pot, read=observe, decide=decide, act=act)
    async with running(client, shape.controller(lambda _: stove)):
        await server.requested(1, verb="apply")
        if events:
            await server.requested(1, verb="create")
    written = [request.body["status"]["conditions"] for request in server.seen("apply", subresource="status")]
    assert [ready["status"] for ready, *_ in written][: len(said)] == said
    assert [request.body["reason"] for request in server.seen("create")] == events
