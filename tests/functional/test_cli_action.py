"""`stackwright action` on a real API server; where it is waited for, with the real controller."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stackwright.api.service import Action
from stackwright.cli.commands.action import FIELD_MANAGER, _ask
from stackwright.kube.client import Client
from stackwright.local.apiserver.server import Shared
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.memcached.service import SERVICE as MEMCACHED
from tests.functional.cloud import cloud, environment
from tests.functional.commands import command

pytestmark = pytest.mark.usefixtures("kinds")


@pytest.fixture
def kubeconfig(apiserver: Shared) -> Path:
    return apiserver.kubeconfig


def cache(namespace: str, *actions: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "memcached", "namespace": namespace}, "spec": {"actions": list(actions)}}


async def asked(client: Client, namespace: str) -> list[tuple[str, str]]:
    found = await client.get(Memcached, "memcached", namespace)
    return [(entry.name, entry.id) for entry in found.spec.actions]


async def tell(client: Client, namespace: str, name: str, state: str, **fields: str) -> None:
    """Write how an action goes, as an operator would."""
    status = {"actions": [{"name": "restart", "id": name, "state": state, **fields}]}
    body = {"metadata": {"name": "memcached", "namespace": namespace}, "status": status}
    await client.apply(Memcached, body, subresource="status", field_manager="operator")


async def test_an_action_is_run_and_told(client: Client, namespace: str, kubeconfig: Path, kubernetes: Any) -> None:
    await client.apply(Memcached, cache(namespace), field_manager="user")
    async with cloud(client, namespace, (MEMCACHED,), environment(kubernetes)):
        done = await command(kubeconfig, namespace, "action", "run", "memcached", "restart", "--id", "first")
        again = await command(kubeconfig, namespace, "action", "run", "memcached", "restart", "--id", "first")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.splitlines() == [
        "Asked for restart of memcached/memcached, id first.",
        "Succeeded: All pods were restarted",
    ]
    assert again.exit_code == 0
    assert again.stderr.startswith("Was asked for restart")
    listed = await command(kubeconfig, namespace, "action", "list", "memcached")
    assert "first  restart  Succeeded" in listed.stdout


async def test_two_without_an_id_within_a_second_are_two(client: Client, namespace: str, kubeconfig: Path) -> None:
    await client.apply(Memcached, cache(namespace), field_manager="user")
    words = ("action", "run", "memcached", "restart", "--no-wait")
    done = [await command(kubeconfig, namespace, *words) for _ in range(3)]
    assert [one.exit_code for one in done] == [0, 0, 0]
    assert len(set(await asked(client, namespace))) == 3


async def test_entries_of_others_are_not_disturbed(client: Client, namespace: str, kubeconfig: Path) -> None:
    theirs = {"name": "restart", "id": "theirs"}
    await client.apply(Memcached, cache(namespace, theirs), field_manager="user")
    words = ("action", "run", "memcached", "restart", "--no-wait", "--id")
    resource = await client.get(Memcached, "memcached", namespace)
    async with Client(client.connection, field_manager=FIELD_MANAGER) as other:
        # Two who ask at the same time both get what they asked for.
        await asyncio.gather(*(_ask(other, resource, Action(name="restart", id=name)) for name in ("a", "b")))
    assert sorted(await asked(client, namespace)) == [("restart", "a"), ("restart", "b"), ("restart", "theirs")]
    # What is done and ours goes with the next; the user's own stays, and goes when the user takes it away.
    await tell(client, namespace, "a", "Succeeded")
    assert (await command(kubeconfig, namespace, *words, "c")).exit_code == 0
    assert sorted(await asked(client, namespace)) == [("restart", "b"), ("restart", "c"), ("restart", "theirs")]
    again = await command(kubeconfig, namespace, *words, "a")
    assert (again.exit_code, again.stderr) == (0, "Was asked for restart of memcached/memcached, id a.\n")
    await client.apply(Memcached, cache(namespace), field_manager="user")
    assert sorted(await asked(client, namespace)) == [("restart", "b"), ("restart", "c")]


async def test_a_failure_is_told_with_its_log(client: Client, namespace: str, kubeconfig: Path) -> None:
    await client.apply(Memcached, cache(namespace), field_manager="user")
    words = ("action", "run", "memcached", "restart", "--id", "x", "--timeout", "60")
    running = asyncio.create_task(command(kubeconfig, namespace, *words))
    while ("restart", "x") not in await asked(client, namespace):
        await asyncio.sleep(0.1)
    await tell(client, namespace, "x", "Running")
    await tell(client, namespace, "x", "Failed", result="Job failed", log="Traceback: it broke")
    done = await running
    assert done.exit_code == 4
    assert done.stdout == "Traceback: it broke\n"
    assert done.stderr.splitlines()[-1] == "Failed: Job failed"


async def test_nobody_waits_for_ever(client: Client, namespace: str, kubeconfig: Path) -> None:
    body = cache(namespace)
    body["metadata"]["annotations"] = {"openstack.org/paused": "true"}
    await client.apply(Memcached, body, field_manager="user")
    words = ("action", "run", "memcached", "restart", "--timeout", "1s")
    done = await command(kubeconfig, namespace, *words)
    assert done.exit_code == 3
    assert "memcached/memcached is paused" in done.stderr
    assert "is one running?" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(
            ("memcached", "dance"), 2, "There is no action dance here; there are restart", id="no-such-action"
        ),
        pytest.param(("glance", "restart"), 1, "there are memcached/memcached", id="no-such-resource"),
        pytest.param(("memcached", "restart", "--id", "i" * 64), 1, "spec.actions[0].id", id="an-id-that-is-too-long"),
    ],
)
async def test_a_wrong_word_is_answered_with_the_right_ones(
    client: Client, namespace: str, kubeconfig: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    await client.apply(Memcached, cache(namespace), field_manager="user")
    done = await command(kubeconfig, namespace, "action", "run", *words)
    assert said in done.stderr
    assert done.exit_code == code
    assert await asked(client, namespace) == []


async def test_an_id_stands_for_one_action_alone(client: Client, namespace: str, kubeconfig: Path) -> None:
    await client.apply(Memcached, cache(namespace, {"name": "other", "id": "x"}), field_manager="user")
    done = await command(kubeconfig, namespace, "action", "run", "memcached", "restart", "--id", "x")
    assert done.exit_code == 2
    assert "the id x was used for other; choose another" in done.stderr
