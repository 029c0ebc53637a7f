"""What a person does by hand to objects of ours, or forbids, on a real API server: what the status says of it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from stackwright.controllers.service import missing_pods
from stackwright.kube.builtin import StatefulSet
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from stackwright.local.apiserver.server import Shared
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.memcached.service import SERVICE as MEMCACHED
from tests.functional.cloud import cloud, environment
from tests.functional.commands import command
from tests.functional.crds.kubectl import Kubectl
from tests.functional.watching import eventually, is_ready
from tests.functional.workloads import cache

pytestmark = pytest.mark.usefixtures("kinds")

POD = ".spec.template.spec"
SIDECAR: dict[str, Any] = {"containers": [{"name": "side", "image": "registry.example/side:1"}]}
ANNOTATED: dict[str, Any] = {"annotations": {"example.org/mine": "yes"}}


Hand = Callable[..., Awaitable[str]]


@pytest.fixture
def by_hand(kubernetes: dict[str, Path], apiserver: Shared, namespace: str, tmp_path: Path) -> Hand:
    """The real kubectl in the namespace: who writes what is decided by its own field managers."""
    kubectl = Kubectl(kubernetes["kubectl"], apiserver.kubeconfig, tmp_path / "cache")

    async def run(*arguments: str) -> str:
        return await asyncio.to_thread(kubectl, *arguments, "--namespace", namespace)

    return run


async def test_what_is_added_by_hand_is_listed_shown_and_taken_away(
    client: Client, namespace: str, kubernetes: dict[str, Path], apiserver: Shared, by_hand: Hand
) -> None:
    await client.apply(Memcached, cache(namespace), field_manager="user")
    async with cloud(client, namespace, (MEMCACHED,), environment(kubernetes)):
        await eventually(client, Memcached, "memcached", namespace, is_ready)
        before = await client.get(StatefulSet, "memcached", namespace)
        workload = "statefulset/memcached"
        await by_hand("set", "env", workload, "MINE=yes")
        change = {"spec": {"template": {"metadata": ANNOTATED, "spec": SIDECAR}}}
        await by_hand("patch", workload, "-p", json.dumps(change))
        # A restart is a deed that is over, and nothing that anybody asks for.
        await by_hand("rollout", "restart", workload)
        listed = await eventually(client, Memcached, "memcached", namespace, lambda seen: len(overridden(seen)) == 3)
        assert overridden(listed) == {
            f'{POD}.containers[name="memcached"].env[name="MINE"]': ("kubectl-set", ""),
            f'{POD}.containers[name="side"]': ("kubectl-patch", ""),
            ".spec.template.metadata.annotations.example.org/mine": ("kubectl-patch", ""),
        }
        done = await command(apiserver.kubeconfig, namespace, "take", "memcached", "--yes")
        assert done.exit_code == 0, done.stderr
        assert '    now:   {"name":"MINE","value":"yes"}\n    after: nothing\n' in done.stdout
        after = await client.get(StatefulSet, "memcached", namespace)
        assert after.spec["template"]["spec"] == before.spec["template"]["spec"]
        assert "example.org/mine" not in after.spec["template"]["metadata"]["annotations"]
        await eventually(client, Memcached, "memcached", namespace, lambda seen: not seen.status.overridden)


async def test_what_is_added_under_our_own_name_is_listed_and_taken_away(
    client: Client, namespace: str, kubernetes: dict[str, Path], apiserver: Shared, by_hand: Hand
) -> None:
    await client.apply(Memcached, cache(namespace), field_manager="user")
    async with cloud(client, namespace, (MEMCACHED,), environment(kubernetes)):
        await eventually(client, Memcached, "memcached", namespace, is_ready)
        await by_hand("set", "env", "statefulset/memcached", "MINE=yes", f"--field-manager={client.field_manager}")
        listed = await eventually(client, Memcached, "memcached", namespace, lambda seen: bool(overridden(seen)))
        variable = f'{POD}.containers[name="memcached"].env[name="MINE"]'
        assert overridden(listed) == {variable: (client.field_manager, "")}
        done = await command(apiserver.kubeconfig, namespace, "take", "memcached", "--yes")
        assert done.exit_code == 0, done.stderr
        after = await client.get(StatefulSet, "memcached", namespace)
        assert "MINE" not in json.dumps(after.spec["template"]["spec"]["containers"])
        await eventually(client, Memcached, "memcached", namespace, lambda seen: not seen.status.overridden)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        pytest.param(
            {"type": "ExternalName", "externalName": "elsewhere.example.org", "clusterIP": "", "clusterIPs": None},
            "the host elsewhere.example.org",
            id="to-another-host",
        ),
        pytest.param({"selector": {"app.kubernetes.io/name": "stranger"}}, "stranger", id="to-other-pods"),
    ],
)
async def test_a_service_that_a_hand_leads_elsewhere_is_told_and_taken_back(
    client: Client,
    namespace: str,
    kubernetes: dict[str, Path],
    apiserver: Shared,
    by_hand: Hand,
    change: dict[str, Any],
    where: str,
) -> None:
    await client.apply(Memcached, cache(namespace), field_manager="user")
    async with cloud(client, namespace, (MEMCACHED,), environment(kubernetes)):
        await eventually(client, Memcached, "memcached", namespace, is_ready)
        await by_hand("patch", "service/memcached", "-p", json.dumps({"spec": change}))

        def led_away(seen: Memcached) -> bool:
            ready = find(seen.status.conditions, "Ready")
            return ready is not None and ready.reason == "LedAway" and where in ready.message

        told = await eventually(client, Memcached, "memcached", namespace, led_away)
        assert {entry.resource for entry in told.status.overridden} == {"Service/memcached"}
        done = await command(apiserver.kubeconfig, namespace, "take", "memcached", "--yes")
        assert done.exit_code == 0, done.stderr
        await eventually(client, Memcached, "memcached", namespace, is_ready)


@pytest.mark.parametrize("replicas", [0, 2])
async def test_a_workload_that_was_scaled_by_hand_stays_so_is_listed_and_taken_back(
    client: Client,
    namespace: str,
    kubernetes: dict[str, Path],
    apiserver: Shared,
    by_hand: Hand,
    replicas: int,
) -> None:
    await client.apply(Memcached, cache(namespace), field_manager="user")
    async with cloud(client, namespace, (MEMCACHED,), environment(kubernetes)):
        await eventually(client, Memcached, "memcached", namespace, is_ready)
        await by_hand("scale", "statefulset/memcached", f"--replicas={replicas}")
        listed = await eventually(client, Memcached, "memcached", namespace, lambda seen: seen.status.overridden)
        ((field, (_, wanted)),) = overridden(listed).items()
        assert (field, wanted) == (".spec.replicas", "1")
        # It goes on so through further changes.
        await client.apply(Memcached, cache(namespace, cacheSize=65), field_manager="user")
        await eventually(
            client, StatefulSet, "memcached", namespace, lambda seen: seen.metadata.generation > 2 and _argued(seen)
        )
        seen = await eventually(client, Memcached, "memcached", namespace, _settled)
        assert (await client.get(StatefulSet, "memcached", namespace)).spec["replicas"] == replicas
        ready = find(seen.status.conditions, "Ready")
        assert ready is not None
        assert ready.status == "True" if replicas else ready.reason == "ScaledToZero"
        done = await command(apiserver.kubeconfig, namespace, "take", "memcached", "--yes")
        assert done.exit_code == 0, done.stderr
        assert f"    now:   {replicas}\n    after: 1\n" in done.stdout
        await eventually(client, StatefulSet, "memcached", namespace, lambda seen: seen.spec["replicas"] == 1)
        await eventually(
            client, Memcached, "memcached", namespace, lambda seen: is_ready(seen) and not overridden(seen)
        )


def _argued(workload: StatefulSet) -> bool:
    return "65" in str(workload.spec["template"]["spec"]["containers"])


def _settled(resource: Memcached) -> bool:
    ready = find(resource.status.conditions, "Ready")
    current = resource.status.observedGeneration == resource.metadata.generation
    return current and ready is not None and (ready.status == "True" or ready.reason == "ScaledToZero")


def overridden(resource: Memcached) -> dict[str, tuple[str, str]]:
    assert all(entry.resource == "StatefulSet/memcached" for entry in resource.status.overridden)
    return {entry.field: (entry.manager, entry.wanted) for entry in resource.status.overridden}


async def test_pods_that_are_refused_are_an_error_that_somebody_must_mend(
    client: Client, namespace: str, kubernetes: dict[str, Path], by_hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missing_pods, "LOOK_AGAIN", 0.5)
    monkeypatch.setattr(missing_pods, "GRACE", 0.0)
    await by_hand("create", "quota", "none", "--hard=pods=0")
    await client.apply(Memcached, cache(namespace), field_manager="user")
    async with cloud(client, namespace, (MEMCACHED,), environment(kubernetes)):
        told = await eventually(client, Memcached, "memcached", namespace, lambda seen: _reason(seen) == "FailedCreate")
        ready = find(told.status.conditions, "Ready")
        assert ready is not None
        assert ready.severity == "Error"
        assert ready.message.startswith("StatefulSet memcached cannot create its pods: forbidden: ")
        assert "quota" in ready.message
        await by_hand("delete", "quota", "none")
        await eventually(client, Memcached, "memcached", namespace, is_ready)


def _reason(resource: Memcached) -> str:
    ready = find(resource.status.conditions, "Ready")
    return ready.reason if ready is not None else ""
