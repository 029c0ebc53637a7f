"""Events: aggregated, limited, never in anybody's way."""

import asyncio
from typing import Any

import pytest

from stackwright.kube import events
from stackwright.kube.builtin import ConfigMap, Event, Node
from stackwright.kube.client import Client
from stackwright.kube.events import EventRecorder
from stackwright.kube.resource import ObjectMeta
from tests.runtime.fault_server import Answer, FaultServer, Hang, Reset, Slow
from tests.runtime.hand_clock import HandClock, settle


def config_map(name: str = "a", namespace: str = "n") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, uid=f"uid-of-{name}"))


@pytest.fixture
def hand() -> HandClock:
    return HandClock()


@pytest.fixture
def recorder(client: Client, hand: HandClock) -> EventRecorder:
    return EventRecorder(client, "widget-controller", "pod-1", clock=hand.clock())


def counts(server: FaultServer) -> list[int]:
    return [event.get("series", {"count": 1})["count"] for event in server.objects(Event)]


async def test_an_event_says_who_what_and_why(server: FaultServer, recorder: EventRecorder) -> None:
    recorder.event(config_map(), "Warning", "Broken", "It is broken.", action="Repair")
    await recorder.flush()
    (event,) = server.objects(Event)
    assert event["metadata"]["namespace"] == "n"
    assert event["metadata"]["name"].startswith("a.")
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "a",
        "namespace": "n",
        "uid": "uid-of-a",
    }
    assert (event["type"], event["reason"], event["action"]) == ("Warning", "Broken", "Repair")
    assert event["note"] == "It is broken."
    assert (event["reportingController"], event["reportingInstance"]) == ("widget-controller", "pod-1")
    assert event["eventTime"].endswith("Z")
    assert "series" not in event


async def test_an_object_without_a_namespace_has_its_events_in_the_default_one(
    server: FaultServer, recorder: EventRecorder
) -> None:
    recorder.event(Node(metadata=ObjectMeta(name="node-1")), "Normal", "Seen", "There it is.")
    await recorder.flush()
    (event,) = server.objects(Event)
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["regarding"]
    assert event["action"] == "Seen"


async def test_the_same_again_raises_a_count(server: FaultServer, recorder: EventRecorder, hand: HandClock) -> None:
    for _ in range(5):
        recorder.event(config_map(), "Normal", "Scaled", "One more.")
        await recorder.flush()
        await hand.advance(60)
    assert counts(server) == [5]
    assert [request.verb for request in server.requests] == ["create", "patch", "patch", "patch", "patch"]
    assert server.requests[-1].body.keys() == {"series"}


async def test_what_happens_while_nothing_is_written_is_one_write(server: FaultServer, recorder: EventRecorder) -> None:
    for _ in range(10):
        recorder.event(config_map(), "Normal", "Scaled", "One more.")
    await recorder.flush()
    assert counts(server) == [10]
    assert len(server.requests) == 1


async def test_what_happens_while_it_is_written_is_counted_afterwards(
    server: FaultServer, recorder: EventRecorder
) -> None:
    answer = asyncio.Event()
    server.fault(Slow(until=answer), on="create")
    recorder.event(config_map(), "Normal", "Scaled", "One more.")
    flushed = asyncio.create_task(recorder.flush())
    await server.requested(1)
    recorder.event(config_map(), "Normal", "Scaled", "One more.")
    answer.set()
    await flushed
    assert counts(server) == [2]


async def test_only_so_much_is_remembered(recorder: EventRecorder) -> None:
    for number in range(events.REMEMBERED + 10):
        recorder.event(config_map(f"object-{number}"), "Normal", "Seen", "There it is.")
    assert len(recorder._series._values) == events.REMEMBERED
    assert len(recorder._buckets._values) <= events.REMEMBERED


@pytest.mark.parametrize(
    "other",
    [
        {"note": "Another."},
        {"reason": "Shrunk"},
        {"type": "Warning"},
        {"action": "Act"},
        {"regarding": config_map("b")},
    ],
    ids=lambda other: f"another-{next(iter(other))}",
)
async def test_something_else_is_another_event(
    server: FaultServer, recorder: EventRecorder, other: dict[str, Any]
) -> None:
    first: dict[str, Any] = {"regarding": config_map(), "type": "Normal", "reason": "Scaled", "note": "One more."}
    recorder.event(**first)
    recorder.event(**{**first, **other})
    await recorder.flush()
    assert counts(server) == [1, 1]


async def test_the_same_after_six_quiet_minutes_is_a_new_event(
    server: FaultServer, recorder: EventRecorder, hand: HandClock
) -> None:
    recorder.event(config_map(), "Normal", "Scaled", "One more.")
    await recorder.flush()
    await hand.advance(359)
    recorder.event(config_map(), "Normal", "Scaled", "One more.")
    await recorder.flush()
    assert counts(server) == [2]
    await hand.advance(361)
    recorder.event(config_map(), "Normal", "Scaled", "One more.")
    await recorder.flush()
    assert counts(server) == [2, 1]


async def test_one_object_gets_25_events_and_then_one_in_five_minutes(
    server: FaultServer, recorder: EventRecorder, hand: HandClock
) -> None:
    for number in range(100):
        recorder.event(config_map(), "Normal", "Counted", f"Number {number}.")
    recorder.event(config_map("quiet"), "Normal", "Counted", "Another object has its own.")
    await recorder.flush()
    assert len(server.objects(Event)) == 26
    await hand.advance(299)
    recorder.event(config_map(), "Normal", "Counted", "Too early.")
    await recorder.flush()
    assert len(server.objects(Event)) == 26
    await hand.advance(2)
    recorder.event(config_map(), "Normal", "Counted", "In time.")
    recorder.event(config_map(), "Normal", "Counted", "Once.")
    await recorder.flush()
    assert len(server.objects(Event)) == 27


async def test_a_series_counts_on_while_it_may_not_be_written(
    server: FaultServer, recorder: EventRecorder, hand: HandClock
) -> None:
    for _ in range(60):
        recorder.event(config_map(), "Normal", "Scaled", "One more.")
        await recorder.flush()
        await hand.advance(1)
    assert counts(server) == [25]
    await hand.advance(300)
    recorder.event(config_map(), "Normal", "Scaled", "One more.")
    await recorder.flush()
    assert counts(server) == [61]


async def test_a_full_buffer_drops_and_nobody_waits(server: FaultServer, recorder: EventRecorder) -> None:
    server.fault(Hang(), times=10**6)
    run = asyncio.create_task(recorder.run())
    for number in range(events.CAPACITY + 500):
        recorder.event(config_map(f"object-{number}"), "Normal", "Seen", "There it is.")
    assert len(recorder._waiting) == events.CAPACITY
    await settle()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


@pytest.mark.parametrize("effect", [Answer(500), Answer(503), Reset(), Reset(after_handling=True)])
async def test_a_server_that_heals_gets_the_event_once(
    server: FaultServer, recorder: EventRecorder, hand: HandClock, effect: Answer | Reset
) -> None:
    server.fault(effect, times=2)
    recorder.event(config_map(), "Normal", "Seen", "There it is.")
    flushed = asyncio.create_task(recorder.flush())
    await hand.until(flushed.done)
    assert counts(server) == [1]
    recorder.event(config_map(), "Normal", "Seen", "There it is.")
    await recorder.flush()
    assert counts(server) == [2]


async def test_an_event_that_the_server_refuses_is_given_up_at_once(
    server: FaultServer, recorder: EventRecorder
) -> None:
    server.fault(Answer(403, message="the namespace is being terminated"))
    recorder.event(config_map(), "Normal", "Seen", "There it is.")
    recorder.event(config_map("b"), "Normal", "Seen", "There it is.")
    await recorder.flush()
    assert [event["regarding"]["name"] for event in server.objects(Event)] == ["b"]


async def test_a_server_that_never_heals_costs_one_event_at_a_time(
    server: FaultServer, recorder: EventRecorder, hand: HandClock
) -> None:
    server.fault(Reset(), times=10**6)
    recorder.event(config_map(), "Normal", "Seen", "There it is.")
    flushed = asyncio.create_task(recorder.flush())
    await hand.until(flushed.done, at_most=60)
    server.heal()
    recorder.event(config_map("b"), "Normal", "Seen", "There it is.")
    await recorder.flush()
    assert counts(server) == [1]


async def test_a_series_whose_event_the_server_forgot_is_told_once_more(
    server: FaultServer, recorder: EventRecorder
) -> None:
    recorder.event(config_map(), "Normal", "Scaled", "One more.")
    await recorder.flush()
    (event,) = server.objects(Event)
    server.remove(Event, event["metadata"]["name"], "n")
    recorder.event(config_map(), "Normal", "Scaled", "One more.")
    await recorder.flush()
    assert counts(server) == [2]


async def test_what_is_too_long_is_cut_between_characters(server: FaultServer, recorder: EventRecorder) -> None:
    recorder.event(config_map("n" * 253), "Normal", "R" * 200, "ä" * 1000)
    await recorder.flush()
    (event,) = server.objects(Event)
    assert len(event["note"].encode()) <= 1024
    assert event["note"].endswith("ä...")
    assert len(event["reason"]) == 128
    assert len(event["metadata"]["name"]) == 253


async def test_an_event_in_flight_when_the_task_is_cancelled_is_not_lost(
    server: FaultServer, recorder: EventRecorder
) -> None:
    server.fault(Hang(), on="create")
    run = asyncio.create_task(recorder.run())
    recorder.event(config_map(), "Normal", "Seen", "There it is.")
    await server.requested(1)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    await recorder.flush()
    assert counts(server) == [1]


async def test_the_task_writes_by_itself(server: FaultServer, recorder: EventRecorder) -> None:
    run = asyncio.create_task(recorder.run())
    for expected in (1, 2):
        recorder.event(config_map(f"object-{expected}"), "Normal", "Seen", "There it is.")
        await server.requested(expected)
        await recorder.flush()
        assert len(server.objects(Event)) == expected
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
