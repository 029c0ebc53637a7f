"""What the end of a pass tells people: events, once for each change."""

from typing import ClassVar

from stackwright.kube.builtin import Event
from stackwright.kube.client import Client
from stackwright.kube.conditions import Finding
from stackwright.kube.resource import CompositeStatus, CustomResource, Kind
from stackwright.kube.shapes.composite import Composite
from tests.runtime.controlling import caught_up, quiet, running
from tests.runtime.fault_server import FaultServer

__all__ = ["quiet"]


class Parent(CustomResource, frozen=True, kw_only=True):
    """A kind that is nobody's."""

    kind: ClassVar[Kind] = Kind("reports.example.org", "v1", "Parent", "parents")
    conditions: ClassVar[tuple[str, ...]] = ("InputReady",)

    status: CompositeStatus = CompositeStatus()


async def test_a_warning_of_a_condition_that_holds_is_one_event_for_each_change(
    client: Client, server: FaultServer
) -> None:
    said = ["one is taken"]

    def children(_: Parent, __: None) -> tuple[Finding, ...]:
        return tuple(Finding("InputReady", "True", "NameTaken", word, "Warning") for word in said)

    parent = {"metadata": {"name": "p", "namespace": "one"}}
    server.put(Parent, parent)
    shape = Composite(of=Parent, owns=(), children=children)
    async with running(client, shape.controller()) as runtime:
        for number, words in enumerate((["one is taken"], ["one is taken"], ["two is taken"], [], ["two is taken"])):
            said[:] = words
            there = server.object(Parent, "p", "one")
            assert there is not None
            server.put(Parent, {**there, "metadata": {**there["metadata"], "labels": {"number": str(number)}}})
            await caught_up(runtime, server)
    (status,) = (each["status"]["conditions"] for each in server.objects(Parent))
    assert {each["type"]: each["status"] for each in status} == {"Ready": "True", "InputReady": "True"}
    found = [(each["note"], each.get("series", {"count": 1})["count"]) for each in server.objects(Event)]
    assert [each for each in found if "taken" in each[0]] == [("one is taken", 1), ("two is taken", 2)]
