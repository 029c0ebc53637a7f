"""The way between the layers: changed by kubectl (2) or helm (3), and taken back; nothing unseen is reverted."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackwright.api.annotations import RELEASE_OWNER
from stackwright.kube import conditions
from stackwright.kube.builtin import StatefulSet
from stackwright.kube.client import Client
from stackwright.local.apiserver.server import Shared
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.memcached.service import SERVICE
from tests.functional.cloud import IMAGES, ROOT, cloud, environment
from tests.functional.commands import Done, command
from tests.functional.definitions import defined
from tests.functional.releases import Hand
from tests.functional.watching import eventually

OURS = IMAGES["memcached"].reference
THEIRS = "registry.example/memcached:2"
IMAGE = '.spec.template.spec.containers[name="memcached"].image'
CHART = ROOT / "charts" / "memcached"


@dataclass(frozen=True)
class Place:
    """A namespace with one Memcached that an operator keeps, and the three ways to it."""

    client: Client
    namespace: str
    kubeconfig: Path
    kubectl: Path
    helm: Hand

    async def by_hand(self, *words: str) -> None:
        """Run kubectl."""
        process = await asyncio.create_subprocess_exec(
            self.kubectl, "--kubeconfig", self.kubeconfig, "--namespace", self.namespace, *words
        )
        assert await process.wait() == 0

    async def command(self, *words: str) -> Done:
        """Run a command of ours."""
        return await command(self.kubeconfig, self.namespace, *words)

    async def until(self, holds: Any) -> Memcached:
        return await eventually(self.client, Memcached, "memcached", self.namespace, holds)

    async def server(self) -> StatefulSet:
        return await self.client.get(StatefulSet, "memcached", self.namespace)

    async def image(self) -> str:
        return str((await self.server()).spec["template"]["spec"]["containers"][0]["image"])


@pytest.fixture
async def place(
    client: Client, namespace: str, apiserver: Shared, kubernetes: dict[str, Path], tmp_path: Path
) -> AsyncIterator[Place]:
    await defined(client)
    metadata = {"name": "memcached", "namespace": namespace}
    await client.apply(Memcached, {"metadata": metadata, "spec": {}}, field_manager="user")
    hand = Hand(kubernetes["helm"], apiserver.kubeconfig, tmp_path, namespace)
    found = Place(client, namespace, apiserver.kubeconfig, kubernetes["kubectl"], hand)
    async with cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await found.until(is_ready)
        yield found


def is_ready(seen: Memcached) -> bool:
    return conditions.is_true(seen.status.conditions)


def listed(seen: Memcached) -> list[tuple[str, str, str, str]]:
    return [(entry.resource, entry.field, entry.manager, entry.wanted) for entry in seen.status.overridden]


async def test_an_image_set_by_kubectl_stays_until_it_is_taken_back(place: Place) -> None:
    await place.by_hand("set", "image", "statefulset/memcached", f"memcached={THEIRS}")
    changed = await place.until(lambda seen: seen.status.overridden)
    assert listed(changed) == [("StatefulSet/memcached", IMAGE, "kubectl-set", f'"{OURS}"')]
    shown = await place.command("status")
    assert f'overridden: StatefulSet/memcached {IMAGE}, by kubectl-set; asked for: "{OURS}"' in shown.stdout

    # It is shown, and nothing is done before somebody says so.
    for words, code in ((("--dry-run",), 0), ((), 2)):
        preview = await place.command("take", "memcached", *words)
        assert preview.exit_code == code, preview.stderr
        assert preview.stdout.splitlines() == [
            "Memcached memcached: what others set, and what it becomes when the operator takes it back:",
            f"  StatefulSet/memcached {IMAGE}, by kubectl-set",
            f'    now:   "{THEIRS}"',
            f'    after: "{OURS}"',
        ]
    assert "add --yes" in preview.stderr
    # Also a change of something else leaves it alone.
    metadata = {"name": "memcached", "namespace": place.namespace}
    await place.client.apply(Memcached, {"metadata": metadata, "spec": {"replicas": 2}}, field_manager="user")
    await eventually(
        place.client, StatefulSet, "memcached", place.namespace, lambda seen: seen.spec.get("replicas") == 2
    )
    assert await place.image() == THEIRS

    taken = await place.command("take", "memcached", "--yes")
    assert taken.exit_code == 0, taken.stderr
    assert await place.image() == OURS
    assert listed(await place.until(is_ready)) == []
    again = await place.command("take", "memcached", "--yes")
    assert again.stdout == "Memcached memcached: nothing differs from what the operator asks for.\n"


async def test_a_scale_by_kubectl_is_taken_back_too(place: Place) -> None:
    await place.by_hand("scale", "statefulset/memcached", "--replicas=3")
    await place.until(lambda seen: seen.status.overridden)
    assert (await place.server()).spec["replicas"] == 3
    taken = await place.command("take", "memcached", "--yes")
    assert taken.exit_code == 0, taken.stderr
    assert (await place.server()).spec["replicas"] == 1


async def test_a_release_is_given_upgraded_by_helm_and_taken_back(place: Place) -> None:
    before = await place.server()
    shown = await place.command("give", "memcached", "--dry-run")
    assert "The release memcached (revision 1) is handed over to helm with its " in shown.stdout
    given = await place.command("give", "memcached", "--yes")
    assert given.exit_code == 0, given.stderr
    assert (await place.command("give", "memcached")).stderr.startswith("The release memcached belongs to helm")

    await place.helm("upgrade", "memcached", CHART, "--reuse-values", "--set", f"image={THEIRS}")
    assert await place.image() == THEIRS
    preview = await place.command("take", "memcached", "--dry-run")
    assert preview.exit_code == 0, preview.stderr
    assert "revision 2 of the release belongs to helm" in preview.stdout
    assert f"  StatefulSet/memcached {IMAGE}, by helm\n" in preview.stdout
    assert f'    now:   "{THEIRS}"\n    after: "{OURS}"' in preview.stdout
    # The same is in the status, for users without the command line.
    assert ("StatefulSet/memcached", IMAGE, "helm", f'"{OURS}"') in listed(await place.until(lambda _: True))
    assert await place.image() == THEIRS

    taken = await place.command("take", "memcached", "--yes")
    assert taken.exit_code == 0, taken.stderr
    assert await place.image() == OURS
    settled = await place.until(is_ready)
    assert RELEASE_OWNER not in settled.metadata.annotations
    assert listed(settled) == []
    assert (await place.server()).metadata.uid == before.metadata.uid
    assert [entry[1] for entry in await place.helm.history("memcached")] == ["superseded", "superseded", "deployed"]


async def test_what_nobody_changed_is_given_and_taken_back_without_a_rollout(place: Place) -> None:
    done = await place.command("action", "run", "memcached", "restart", "--id", "once")
    assert done.exit_code == 0, done.stderr
    before = await place.server()
    assert (await place.command("give", "memcached", "--yes")).exit_code == 0
    preview = await place.command("take", "memcached", "--dry-run")
    assert "nothing differs" in preview.stdout
    assert (await place.command("take", "memcached", "--yes")).exit_code == 0
    after = await place.server()
    assert after.metadata.generation == before.metadata.generation
    assert [entry[1] for entry in await place.helm.history("memcached")][-1] == "deployed"


async def test_a_forced_upgrade_by_helm_is_shown_and_kept_until_it_is_taken_back(place: Place) -> None:
    words = ("upgrade", "memcached", CHART, "--reuse-values", "--set", f"image={THEIRS}", "--force-conflicts")
    await place.helm(*words)
    contested = await place.until(lambda seen: seen.status.overridden)
    assert ("StatefulSet/memcached", IMAGE, "helm", f'"{OURS}"') in listed(contested)
    state = await place.command("status", "memcached")
    assert state.exit_code == 4
    assert "revision 2 of the release was made with helm by hand" in state.stdout
    assert await place.image() == THEIRS
    taken = await place.command("take", "memcached", "--yes")
    assert taken.exit_code == 0, taken.stderr
    assert await place.image() == OURS
    await place.until(is_ready)


async def test_without_an_operator_nobody_waits_for_ever(
    client: Client, namespace: str, apiserver: Shared, kubernetes: dict[str, Path]
) -> None:
    await defined(client)
    metadata = {"name": "memcached", "namespace": namespace}
    await client.apply(Memcached, {"metadata": metadata, "spec": {}}, field_manager="user")
    none = await command(apiserver.kubeconfig, namespace, "give", "memcached", "--yes")
    assert (none.exit_code, "has no Helm release yet" in none.stderr) == (1, True)
    async with cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await eventually(client, Memcached, "memcached", namespace, is_ready)
    late = await command(apiserver.kubeconfig, namespace, "give", "memcached", "--yes", "--timeout", "1s")
    assert (late.exit_code, "does one run?" in late.stderr) == (3, True)
