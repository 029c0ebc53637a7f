"""The code of docs/writing-a-controller.md does what the page says, on a real API server."""

import asyncio
import contextlib
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from prometheus_client import REGISTRY

from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.kube.conditions import find, is_true
from stackwright.kube.crd import generate, install
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.resource import CustomResource, owner_reference
from stackwright.kube.runtime import Runtime
from stackwright.local.apiserver.server import Shared
from tests.documentation import blocks, sessions
from tests.documentation.sessions import Reader
from tests.functional.running import patches, running
from tests.functional.watching import PATIENCE, eventually

PAGES = blocks.run_in(__file__)
PAGE = Path(__file__).parents[2] / "docs" / "writing-a-controller.md"
CODE = re.compile(r"<!-- file: (\w+\.py) -->\n```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The page's modules, as a reader would have typed them."""
    names = []
    for name, code in CODE.findall(PAGE.read_text()):
        (tmp_path / name).write_text(code)
        names.append(name.removesuffix(".py"))
    assert names == ["greeting", "note", "operator"]
    # The page's operator.py has the name of a module of Python's own, which is loaded already.
    (tmp_path / "operator.py").rename(tmp_path / "page_operator.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        yield importlib.import_module("page_operator")
    finally:
        for name in ("greeting", "note", "page_operator"):
            sys.modules.pop(name, None)


@pytest.fixture
def connected(namespace: str, apiserver: Shared, kubernetes: dict[str, Path], tmp_path: Path) -> Reader:
    """Somebody whose kubectl works in the namespace of the test."""
    programs = sessions.equip(tmp_path / "programs", kubernetes)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(apiserver.kubeconfig.read_text())
    command = (programs / "kubectl", "config", "set-context", "--current", f"--namespace={namespace}")
    subprocess.run([*command, f"--kubeconfig={kubeconfig}"], check=True, timeout=60)
    return sessions.reader(tmp_path / "reader", programs, kubeconfig)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    return made


@pytest.fixture
async def kinds(client: Client, page: ModuleType) -> ModuleType:
    """The page's kinds, installed."""
    kinds = (sys.modules["greeting"].Greeting, sys.modules["note"].Note)
    await install.install(client, [generate.manifest(kind) for kind in kinds])
    return page


async def until_gone(client: Client, kind: type[Any], name: str, namespace: str) -> None:
    async with asyncio.timeout(PATIENCE):
        events = client.watch(kind, namespace, fields=f"metadata.name={name}", initial=True)
        async with contextlib.aclosing(events):
            async for event in events:
                if event.type == "DELETED" or (
                    event.initial_events_end and await client.find(kind, name, namespace) is None
                ):
                    return


def greeting(namespace: str, *languages: str) -> dict[str, Any]:
    spec = {"name": "Ada", "languages": list(languages)}
    return {"metadata": {"name": "hello", "namespace": namespace}, "spec": spec}


def note(namespace: str, text: str) -> dict[str, Any]:
    return {"metadata": {"name": "memo", "namespace": namespace}, "spec": {"text": text}}


def ready(resource: CustomResource) -> bool:
    seen = resource.status.observedGeneration == resource.metadata.generation
    return seen and is_true(resource.status.conditions)


async def test_a_composite_applies_prunes_and_repairs(
    client: Client, namespace: str, kinds: ModuleType, directory: Path
) -> None:
    greetings = sys.modules["greeting"].Greeting
    async with running(kinds.runtime(client, directory, namespace)):
        await client.apply(greetings, greeting(namespace, "en", "de"))
        await eventually(client, greetings, "hello", namespace, ready)
        texts = {
            child.metadata.name: child.data["text"]
            for child in await client.list(ConfigMap, namespace)
            if child.metadata.controller
        }
        assert texts == {"hello-en": "Hello, Ada!", "hello-de": "Guten Tag, Ada!"}

        await client.apply(greetings, greeting(namespace, "en"))
        await until_gone(client, ConfigMap, "hello-de", namespace)

        await client.delete(ConfigMap, "hello-en", namespace)
        await eventually(client, ConfigMap, "hello-en", namespace, lambda child: child.data["text"] == "Hello, Ada!")


async def test_its_commands_run_as_they_read(
    client: Client,
    namespace: str,
    kinds: ModuleType,
    directory: Path,
    connected: Reader,
) -> None:
    greetings, notes = sys.modules["greeting"].Greeting, sys.modules["note"].Note
    async with running(kinds.runtime(client, directory, namespace)):
        await client.apply(greetings, greeting(namespace, "en", "de"))
        await client.apply(notes, note(namespace, "buy milk"))
        for commands in PAGES.values():
            await asyncio.to_thread(connected.follow, commands)


async def test_a_wait_shows_and_nothing_is_pruned_meanwhile(
    client: Client, namespace: str, kinds: ModuleType, directory: Path
) -> None:
    greetings = sys.modules["greeting"].Greeting
    async with running(kinds.runtime(client, directory, namespace)):
        await client.apply(greetings, greeting(namespace, "en", "de"))
        await eventually(client, greetings, "hello", namespace, ready)

        await client.apply(greetings, greeting(namespace, "en", "tlh"))
        waiting = await eventually(
            client, greetings, "hello", namespace, lambda found: not is_true(found.status.conditions)
        )
        words = find(waiting.status.conditions, "WordsReady")
        assert words is not None
        assert (words.status, words.reason) == ("False", "UnknownLanguage")
        assert words.message == "spec.languages: tlh is not known; use en, de, fr"
        assert is_true(waiting.status.conditions, "MapsReady")
        await client.get(ConfigMap, "hello-de", namespace)

        await client.apply(greetings, greeting(namespace, "en", "fr"))
        await eventually(client, greetings, "hello", namespace, ready)
        await until_gone(client, ConfigMap, "hello-de", namespace)


async def test_what_somebody_else_set_on_a_child_stays_theirs(
    client: Client, namespace: str, kinds: ModuleType, directory: Path
) -> None:
    greetings = sys.modules["greeting"].Greeting
    async with running(kinds.runtime(client, directory, namespace)):
        await client.apply(greetings, greeting(namespace, "en"))
        await eventually(client, greetings, "hello", namespace, ready)

        theirs = {"metadata": {"name": "hello-en", "namespace": namespace}, "data": {"text": "Hi!"}}
        await client.apply(ConfigMap, theirs, field_manager="ada")
        shown = await eventually(client, greetings, "hello", namespace, lambda found: bool(found.status.overridden))
        entry = shown.status.overridden[0]
        assert (entry.resource, entry.field, entry.manager) == ("ConfigMap/hello-en", ".data.text", "ada")
        assert is_true(shown.status.conditions)
        assert (await client.get(ConfigMap, "hello-en", namespace)).data == {"text": "Hi!"}


async def test_a_child_of_somebody_else_is_not_taken(
    client: Client, namespace: str, kinds: ModuleType, directory: Path
) -> None:
    greetings = sys.modules["greeting"].Greeting
    owner = await client.apply(ConfigMap, {"metadata": {"name": "owner", "namespace": namespace}})
    theirs = {"name": "hello-en", "namespace": namespace, "ownerReferences": [owner_reference(owner)]}
    await client.apply(ConfigMap, {"metadata": theirs, "data": {"text": "mine"}}, field_manager="somebody")
    async with running(kinds.runtime(client, directory, namespace)):
        await client.apply(greetings, greeting(namespace, "en"))
        refused = await eventually(client, greetings, "hello", namespace, lambda found: bool(found.status.conditions))
    condition = find(refused.status.conditions, "MapsReady")
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "OwnedByAnother")
    assert condition.message == "ConfigMap hello-en belongs to ConfigMap owner; rename or delete one of the two"
    assert (await client.get(ConfigMap, "hello-en", namespace)).data == {"text": "mine"}


async def test_a_settled_composite_makes_no_write(
    client: Client, namespace: str, kinds: ModuleType, directory: Path
) -> None:
    greetings = sys.modules["greeting"].Greeting
    async with running(kinds.runtime(client, directory, namespace)):
        await client.apply(greetings, greeting(namespace, "en", "fr"))
        await eventually(client, greetings, "hello", namespace, ready)
    looked, written = runs(), patches()
    async with running(kinds.runtime(client, directory, namespace)), asyncio.timeout(PATIENCE):
        while runs() == looked:
            await asyncio.sleep(0.01)
    assert patches() == written


def runs() -> float:
    labels = {"controller": "greeting", "result": "success"}
    return REGISTRY.get_sample_value("controller_runtime_reconcile_total", labels) or 0.0


async def test_an_external_writes_repairs_and_removes(
    client: Client, namespace: str, kinds: ModuleType, directory: Path
) -> None:
    notes = sys.modules["note"].Note
    shape = replace(sys.modules["note"].note, every=0.1)
    runtime = Runtime(client, (shape.controller(lambda _context: directory),), namespace=namespace)
    async with running(runtime):
        await client.apply(notes, note(namespace, "buy milk"))
        written = await eventually(client, notes, "memo", namespace, ready)
        assert (directory / "memo").read_text() == "buy milk"
        assert written.metadata.finalizers == ("example.org/note",)

        (directory / "memo").write_text("buy beer")
        async with asyncio.timeout(PATIENCE):
            while (directory / "memo").read_text() != "buy milk":
                await asyncio.sleep(0.02)  # A file cannot be watched with the standard library.

        await client.delete(notes, "memo", namespace)
        await until_gone(client, notes, "memo", namespace)
        assert not (directory / "memo").exists()


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        pytest.param(
            Blocked("The disk is full; make room", reason="DiskFull"),
            "DiskFull",
            "The disk is full; make room",
            id="blocked",
        ),
        pytest.param(Retry("The disk is slow"), "Error", "The disk is slow", id="retry"),
        pytest.param(
            ZeroDivisionError("secret"),
            "InternalError",
            "Internal error (ZeroDivisionError); the operator's log has the details",
            id="a-bug",
        ),
    ],
)
async def test_a_failing_step_says_why_and_heals(
    client: Client, namespace: str, kinds: ModuleType, directory: Path, error: Exception, reason: str, message: str
) -> None:
    notes, healthy = sys.modules["note"].Note, sys.modules["note"].note
    broken = True

    async def act(step: Any, world: Path) -> None:
        if broken:
            raise error
        await healthy.act(step, world)

    shape = replace(healthy, act=act, every=0.1)
    runtime = Runtime(client, (shape.controller(lambda _context: directory),), namespace=namespace)
    async with running(runtime):
        await client.apply(notes, note(namespace, "buy milk"))
        failed = await eventually(client, notes, "memo", namespace, lambda found: bool(found.status.conditions))
        condition = find(failed.status.conditions, "FileReady")
        assert condition is not None
        assert (condition.status, condition.severity, condition.reason) == ("False", "Error", reason)
        assert condition.message == message
        broken = False
        await eventually(client, notes, "memo", namespace, ready)
