"""Fixtures: the place of a service, and the same with all that it needs and its operator in it."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stackwright.blueprint.needs.database import DATABASE
from stackwright.kube.builtin import StorageClass
from stackwright.kube.client import Client
from stackwright.simulator import Script, simulated, storage_class
from tests.functional import neighbours
from tests.functional.definitions import defined
from tests.functional.services.case import CLASS, ServiceCase
from tests.functional.services.place import Place, surroundings


@pytest.fixture
def script() -> Script:
    """What pods do: all of them succeed, unless a module says otherwise."""
    return Script()


@pytest.fixture
async def place(
    case: ServiceCase, client: Client, namespace: str, kubernetes: dict[str, Path], tmp_path: Path, script: Script
) -> AsyncIterator[Place]:
    """A namespace whose pods are played, with nothing in it that the service needs."""
    await defined(client)
    await defined(client, case.kinds)
    await client.apply(StorageClass, storage_class(CLASS))
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(simulated(client, namespace, script))
        if (provides := case.blueprint.provides) is not None and provides.word == DATABASE:
            await stack.enter_async_context(neighbours.nodes_agree(client, namespace, case.name))
        found = Place(client, namespace, case=case, environment=surroundings(case, kubernetes, tmp_path))
        for name, content in case.given.items():
            await found.secret(name, **content)
        yield found


@pytest.fixture
async def standing(place: Place) -> AsyncIterator[Place]:
    """The place of a service that has all that it needs, and whose operator runs; nobody has asked for it yet."""
    await place.give(**place.case.passwords)
    async with place.provided(), place.operated():
        yield place
