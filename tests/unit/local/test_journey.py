"""What `make up` says before it begins."""

import pytest

from stackwright.local import journey, programs
from stackwright.local.images.recipes import Recipe, Scratch
from stackwright.local.journey import Missing


def said(missing: Missing) -> str:
    return "\n".join(journey.announcement("default", missing))


def test_a_new_machine_is_told_of_everything() -> None:
    text = said(Missing(programs=("etcd", "helm"), images=("mariadb", "openstack"), cluster=True))
    assert "get 2 programs of Kubernetes" in text
    assert "minutes of compiling" in text
    assert "(mariadb, openstack)" in text
    assert "start etcd" in text


def test_a_machine_that_has_everything_is_told_of_the_rest() -> None:
    text = said(Missing(programs=(), images=(), cluster=False))
    assert "compiling" not in text
    assert "build" not in text
    assert "start etcd" not in text
    assert "wait for the cloud" in text


RECIPES = {
    "base": Recipe(description="base"),
    "mariadb": Recipe(description="mariadb", needs=("base",)),
    "operator": Recipe(description="operator", needs=("base",), programs=("helm",)),
    "above": Recipe(description="above", needs=("operator",)),
    "coredns": Recipe(description="coredns", scratch=Scratch(next(iter(programs.ALL)), "/program", "1")),
    "pause": Recipe(description="pause", scratch=Scratch("pause", "/pause", "1")),
}


@pytest.mark.parametrize(
    ("name", "waits"),
    [("mariadb", False), ("pause", False), ("operator", True), ("above", True), ("coredns", True)],
)
def test_only_what_carries_a_compiled_program_waits_for_the_compiler(name: str, waits: bool) -> None:
    assert journey._carries_program(name, RECIPES) is waits


@pytest.mark.parametrize(("available", "room"), [(journey.ROOM, True), (journey.ROOM - 1, False)])
def test_both_run_at_once_only_where_there_is_memory(
    available: int, room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert journey._has_room(lambda: available) is room


@pytest.mark.parametrize(
    ("compiled", "early"),
    [pytest.param((), [], id="nothing-to-wait-for"), pytest.param(("etcd",), ["mariadb", "pause"], id="beside-it")],
)
def test_what_needs_no_compiler_is_built_beside_it(
    compiled: tuple[str, ...], early: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journey, "ROOM", 0)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    missing = Missing(programs=compiled, images=("mariadb", "operator", "pause"), cluster=True)
    assert journey._early(missing, RECIPES) == early
