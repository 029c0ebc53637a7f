"""Definitions of an older version, on a real API server: which fields it drops is known without rights to read them."""

import asyncio
import dataclasses
from typing import Annotated, ClassVar

import pytest
import structlog

from stackwright.controllers.operator_process import outdated_definitions
from stackwright.kube.client import Client
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.crd import generate, install, served
from stackwright.kube.markers import Definition, describe
from stackwright.kube.resource import CustomResource, Key, Kind, Status, Value

KIND = Kind("aged.example.org", "v1", "Cask", "casks")


class OldSpec(Value, frozen=True, kw_only=True):
    """What it is made of."""

    wood: Annotated[str, describe("Of what.")] = ""


class Hoop(Value, frozen=True, kw_only=True):
    """One of many."""

    width: Annotated[int, describe("How wide.")] = 0


class Spec(OldSpec, frozen=True, kw_only=True):
    """What it is made of, in the newer version."""

    hoops: Annotated[tuple[Hoop, ...], describe("What holds it.")] = ()


class NewStatus(Status, frozen=True, kw_only=True):
    """How it is, in the newer version."""

    addresses: Annotated[dict[str, str], describe("Where it is.")] = {}


class OldCask(CustomResource, frozen=True, kw_only=True):
    """A cask as it was."""

    kind: ClassVar[Kind] = KIND
    definition: ClassVar[Definition] = Definition()
    spec: OldSpec = OldSpec()
    status: Status = Status()


class Cask(CustomResource, frozen=True, kw_only=True):
    """A cask as it is."""

    kind: ClassVar[Kind] = KIND
    definition: ClassVar[Definition] = Definition()
    spec: Spec = Spec()
    status: NewStatus = NewStatus()


@pytest.fixture
def nobody(client: Client) -> Client:
    """A client of an account that has no rights at all, as far as definitions go."""
    headers = (("Impersonate-User", "nobody"), ("Impersonate-Group", "system:authenticated"))
    return Client(dataclasses.replace(client.connection, impersonate=headers))


async def test_what_an_older_definition_drops_is_named(client: Client, nobody: Client) -> None:
    async with nobody:
        await install.install(client, [generate.manifest(OldCask)])
        async with asyncio.timeout(120):
            # A server publishes a schema a moment after it serves the kind.
            while not (found := await served.unknown_fields(nobody, [Cask])):
                await asyncio.sleep(0.1)
        assert found == {"casks.aged.example.org": ("spec.hoops", "status.addresses")}
        assert await served.unknown_fields(nobody, [OldCask]) == {}

        async def reconcile(key: Key, context: Context) -> Result | None:
            return None

        with structlog.testing.capture_logs() as logged:
            said = await outdated_definitions(nobody, [Controller(name="cask", kind=Cask, reconcile=reconcile)])
        assert "casks.aged.example.org lacks spec.hoops, status.addresses. Install those of this version" in said
        assert [(entry["log_level"], entry["event"]) for entry in logged] == [("warning", said)]


def test_what_both_know_is_compared_all_the_way_down() -> None:
    ours = generate.manifest(Cask)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    known = served.read(ours)
    assert list(served.unknown(known, known)) == []
    hoops = {"type": "array", "items": {"type": "object", "properties": {}}}
    parts = ours["properties"]
    theirs = {"properties": {**parts, "spec": {"properties": {**parts["spec"]["properties"], "hoops": hoops}}}}
    assert list(served.unknown(known, served.read(theirs))) == ["spec.hoops[].width"]
    loose = {"properties": {"spec": {served.KEEPS_ALL: True}, "status": {served.KEEPS_ALL: True}}}
    assert list(served.unknown(known, served.read(loose))) == []
