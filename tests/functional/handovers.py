"""Whose a release is: what tells that helm has it, or the operator."""

from typing import Any

from stackwright.kube.builtin import ConfigMap, Deployment, Job, Service
from stackwright.kube.client import Client
from tests.functional.releases import (
    Small,
    managers,
    pods,
)
from tests.functional.watching import eventually

MARK = "stackwright/applied-configuration"


OBJECTS: list[tuple[type[Any], str]] = [
    (ConfigMap, "small"),
    (Deployment, "small"),
    (Job, "small-once-abc"),
    (Service, "small"),
]


def has_rolled(item: Deployment) -> bool:
    """Return whether all pods of the present template were made, so that no other follows."""
    seen = item.status.get("observedGeneration") == item.metadata.generation
    return seen and item.status.get("updatedReplicas") == item.spec["replicas"]


async def settled_pods(client: Client, namespace: str) -> set[str]:
    await eventually(client, Deployment, "small", namespace, has_rolled)
    await eventually(client, Job, "small-once-abc", namespace, lambda item: item.status.get("active"))
    return await pods(client, namespace)


async def assert_operators(client: Client, small: Small) -> None:
    for of, name in OBJECTS:
        item = await client.get(of, name, small.metadata.namespace)
        assert MARK in item.metadata.annotations, of
        assert item.metadata.controller.uid == small.metadata.uid, of
        assert "helm" not in await managers(client, of, name, small.metadata.namespace), of


async def assert_helms(client: Client, namespace: str) -> None:
    for of, name in OBJECTS:
        item = await client.get(of, name, namespace)
        assert MARK not in item.metadata.annotations, of
        assert item.metadata.ownerReferences == (), of
        found = await managers(client, of, name, namespace)
        assert "helm" in found, of
        assert "stackwright" not in found, of
