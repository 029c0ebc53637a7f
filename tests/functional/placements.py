"""Placements beside a Keystone that lists them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.identity import Keystone
from stackwright.kube.client import Client
from stackwright.services.placement.kinds import PlacementAPI
from stackwright.simulator import Script, simulated
from tests.functional.cloud import environment
from tests.functional.services.cases.placement import CASES
from tests.functional.services.place import Place
from tests.functional.watching import is_false


async def place(client: Client, namespace: str, name: str = "placement", **spec: Any) -> None:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    body = {"metadata": {"name": name, "namespace": namespace}, "spec": said}
    await client.apply(PlacementAPI, body, field_manager="user")


@pytest.fixture
async def keystone(
    client: Client, namespace: str, kubernetes: dict[str, Path], request: pytest.FixtureRequest
) -> AsyncIterator[Keystone]:
    """The operator of Placement, whose needs are played; all is well with its pods if no other script is given."""
    script = getattr(request, "param", Script())
    (case,) = CASES
    there = Place(client, namespace, case=case, environment=environment(kubernetes))
    await there.give(**case.passwords)
    async with simulated(client, namespace, script), there.provided(), there.operated():
        assert there.keystone is not None
        yield there.keystone


def says(words: str) -> Any:
    """Return what holds of a resource that is refused with these words."""
    return is_false(words, "InputReady")
