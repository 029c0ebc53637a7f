"""Kinds for tests of the shapes: a basket, and the fruit in it."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import pytest

from stackwright.kube.client import Client
from stackwright.kube.controller import Controller
from stackwright.kube.markers import Definition, describe
from stackwright.kube.resource import (
    CompositeStatus,
    CustomResource,
    JsonObject,
    Kind,
    ObjectMeta,
    Resource,
    Value,
)
from stackwright.kube.runtime import Runtime
from tests.functional.definitions import defined
from tests.functional.watching import eventually


class FruitSpec(Value, frozen=True, kw_only=True):
    """How a fruit is."""

    colour: Annotated[str, describe("Its colour.")] = "green"
    pieces: Annotated[int, describe("How many there are.")] = 1


class BasketSpec(Value, frozen=True, kw_only=True):
    """What is in a basket."""

    fruits: Annotated[dict[str, str], describe("Colours by names.")] = {}
    elsewhere: Annotated[str, describe("A namespace in which a fruit is wanted.")] = ""
    label: Annotated[str, describe("What stands on the label.")] = ""


class Fruit(CustomResource, frozen=True, kw_only=True):
    """Something in a basket, or on its own."""

    kind: ClassVar[Kind] = Kind("shapes.example.org", "v1", "Fruit", "fruits")
    definition: ClassVar[Definition] = Definition()
    conditions: ClassVar[tuple[str, ...]] = ("RipeReady", "SoldReady")

    spec: FruitSpec = FruitSpec()


class Basket(CustomResource, frozen=True, kw_only=True):
    """Stands for some fruits and a label."""

    kind: ClassVar[Kind] = Kind("shapes.example.org", "v1", "Basket", "baskets")
    definition: ClassVar[Definition] = Definition()
    conditions: ClassVar[tuple[str, ...]] = ("FruitsReady", "LabelReady")

    spec: BasketSpec = BasketSpec()
    status: CompositeStatus = CompositeStatus()


def one(client: Client, controller: Controller, namespace: str) -> Runtime:
    return Runtime(client, (controller,), namespace=namespace)


@pytest.fixture
async def kinds(client: Client) -> None:
    await defined(client, (Fruit, Basket))


async def until(client: Client, resource: Resource, holds: Callable[[Any], bool]) -> Any:
    metadata = resource.metadata
    return await eventually(client, type(resource), metadata.name, metadata.namespace, holds)


async def put(client: Client, kind: type[Any], name: str, namespace: str, spec: JsonObject) -> Any:
    return await client.apply(
        kind, {"metadata": {"name": name, "namespace": namespace}, "spec": spec}, field_manager="user"
    )


def fruit(name: str, namespace: str) -> Fruit:
    return Fruit(metadata=ObjectMeta(name=name, namespace=namespace))


def answered(resource: Any) -> bool:
    return bool(resource.status.observedGeneration == resource.metadata.generation)
