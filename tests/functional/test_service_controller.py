"""The generic service controller on a real API server, with the real helm and workloads that are played."""

from pathlib import Path
from typing import Any

import pytest

from stackwright.kube.builtin import Secret, StatefulSet
from stackwright.kube.client import Client
from stackwright.kube.conditions import find, is_true
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.memcached.service import SERVICE as MEMCACHED
from tests.functional.cloud import cloud, environment
from tests.functional.watching import eventually
from tests.functional.workloads import cache


def is_ready(resource: Any) -> bool:
    current = resource.status.observedGeneration == resource.metadata.generation
    return current and is_true(resource.status.conditions)


@pytest.mark.usefixtures("kinds")
async def test_a_cache_comes_up_and_tells_where_it_is(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await client.apply(Memcached, cache(namespace, replicas=2), field_manager="user")
    async with cloud(client, namespace, (MEMCACHED,), environment(kubernetes)):
        ready = await eventually(client, Memcached, "memcached", namespace, is_ready)
    assert ready.status.serverList == (
        f"memcached-0.memcached.{namespace}.svc:11211",
        f"memcached-1.memcached.{namespace}.svc:11211",
    )
    assert ready.status.readyCount == 2
    records = await client.list(Secret, namespace, labels="owner=helm")
    assert [secret.metadata.name for secret in records] == ["sh.helm.release.v1.memcached.v1"]


@pytest.mark.usefixtures("kinds")
async def test_a_restart_rolls_the_pods_once_and_tells_when_it_is_done(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await client.apply(Memcached, cache(namespace), field_manager="user")
    async with cloud(client, namespace, (MEMCACHED,), environment(kubernetes)):
        await eventually(client, Memcached, "memcached", namespace, is_ready)
        asked = [{"name": "restart", "id": "first"}, {"name": "no-such-thing", "id": "second"}]
        await client.apply(Memcached, cache(namespace, actions=asked), field_manager="user")
        done = await eventually(
            client,
            Memcached,
            "memcached",
            namespace,
            lambda seen: {entry.state for entry in seen.status.actions} == {"Succeeded", "Failed"},
        )
        first, second = done.status.actions
        assert (first.id, first.state) == ("first", "Succeeded")
        assert second.result == "There is no action no-such-thing here; there are restart"
        rolled = await client.get(StatefulSet, "memcached", namespace)
        await client.apply(Memcached, cache(namespace), field_manager="user")
        await eventually(client, Memcached, "memcached", namespace, is_ready)
        kept = await client.get(StatefulSet, "memcached", namespace)
        assert kept.metadata.generation == rolled.metadata.generation


@pytest.mark.usefixtures("kinds")
async def test_a_field_that_is_not_supported_yet_is_refused_with_a_word(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await client.apply(Memcached, cache(namespace, tls={"secretName": "certificate"}), field_manager="user")
    async with cloud(client, namespace, (MEMCACHED,), environment(kubernetes)):
        refused = await eventually(client, Memcached, "memcached", namespace, lambda seen: seen.status.conditions)
        ready = find(refused.status.conditions, "Ready")
        assert ready is not None
        assert (ready.status, ready.message) == ("False", "spec.tls.secretName: TLS is not supported yet; leave it out")
        await client.apply(Memcached, cache(namespace), field_manager="user")
        await eventually(client, Memcached, "memcached", namespace, is_ready)
