"""Events as the real API server takes them."""

import time
from datetime import timedelta

from stackwright.kube import clock
from stackwright.kube.builtin import ConfigMap, Event, Namespace
from stackwright.kube.client import Client
from stackwright.kube.clock import Clock
from stackwright.kube.events import EventRecorder


async def test_an_event_is_taken_and_its_series_counted(client: Client, namespace: str) -> None:
    made = await client.create(ConfigMap, {"metadata": {"name": "a", "namespace": namespace}})
    recorder = EventRecorder(client, "widget-controller")
    for _ in range(3):
        recorder.event(made, "Warning", "Broken", "It is broken: ä" * 200, action="Repair")
        await recorder.flush()
    (event,) = await client.list(Event, namespace)
    assert (event.type, event.reason, event.action) == ("Warning", "Broken", "Repair")
    assert event.series is not None
    assert event.series["count"] == 3
    assert event.regarding["uid"] == made.metadata.uid
    assert event.reportingController == "widget-controller"


async def test_a_series_that_is_over_is_followed_by_another(client: Client, namespace: str) -> None:
    made = await client.create(ConfigMap, {"metadata": {"name": "a", "namespace": namespace}})
    later = 0.0
    times = Clock(monotonic=lambda: time.monotonic() + later, now=lambda: clock.now() + timedelta(seconds=later))
    recorder = EventRecorder(client, "widget-controller", clock=times)
    for _ in range(2):
        recorder.event(made, "Normal", "Scaled", "One more.")
        await recorder.flush()
        later += 400.0
    assert len(await client.list(Event, namespace)) == 2


async def test_an_event_of_an_object_without_a_namespace_is_taken(client: Client, namespace: str) -> None:
    regarding = await client.get(Namespace, namespace)
    recorder = EventRecorder(client, "widget-controller")
    recorder.event(regarding, "Normal", "Seen", "There it is.")
    recorder.event(regarding, "Normal", "Seen", "There it is.")
    await recorder.flush()
    found = [event for event in await client.list(Event, "default") if event.regarding.get("name") == namespace]
    assert [event.series["count"] if event.series else 1 for event in found] == [2]


async def test_an_event_in_a_namespace_that_is_going_is_given_up(client: Client, namespace: str) -> None:
    made = await client.create(
        ConfigMap, {"metadata": {"name": "a", "namespace": namespace, "finalizers": ["example.org/keep"]}}
    )
    await client.delete(Namespace, namespace)
    recorder = EventRecorder(client, "widget-controller")
    recorder.event(made, "Normal", "Seen", "Nobody reads this.")
    await recorder.flush()
    await client.patch(ConfigMap, "a", namespace, {"metadata": {"finalizers": None}})
    assert [event.note for event in await client.list(Event, namespace) if event.regarding.get("name") == "a"] == []
