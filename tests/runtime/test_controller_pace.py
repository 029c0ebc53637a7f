"""What a run puts off brings its key back, however the run ended."""

import pytest

from stackwright.kube import pace
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.kube.clock import now
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import Condition, Key, ObjectMeta
from tests.runtime.controlling import Runs, body, controller, quiet, running
from tests.runtime.fault_server import FaultServer
from tests.unit.kube.test_pace import MADE, Pot, PotStatus

__all__ = ["quiet"]

WAITING = PotStatus(conditions=(Condition(type="Ready", status="False", severity="Info"),))


@pytest.mark.parametrize("blocked", [False, True], ids=["it-succeeded", "it-was-blocked"])
async def test_a_key_whose_status_was_put_off_is_looked_at_again(
    client: Client, server: FaultServer, monkeypatch: pytest.MonkeyPatch, *, blocked: bool
) -> None:
    monkeypatch.setattr(pace, "PAUSE", 0.01)
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
