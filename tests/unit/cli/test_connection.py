"""Which cluster a command speaks to."""

from pathlib import Path

import click
import msgspec
import pytest

from stackwright.cli.connection import Where, connection_of
from stackwright.kube.errors import ConfigError
from stackwright.local.cluster import layout, processes
from stackwright.local.cluster.layout import ProcessKey, State


def kubeconfig(path: Path, server: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"""
apiVersion: v1
kind: Config
current-context: here
contexts: [{{name: here, context: {{cluster: here}}}}]
clusters: [{{name: here, cluster: {{server: "{server}"}}}}]
""")
    return path


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a ~/.kube/config that nobody named."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    kubeconfig(tmp_path / ".kube" / "config", "https://production.example")
    return tmp_path


def runs(name: str, *, alive: bool = True) -> None:
    """Leave what a cluster of that name leaves: its first process is this one, or one that has ended."""
    place = layout.of(name)
    kubeconfig(place.kubeconfig, f"https://{name}.local.example")
    me = processes.key_of(1)
    assert me is not None
    first = me if alive else ProcessKey(me.pid, me.started + 1)
    place.state.write_bytes(msgspec.json.encode(State(first)))


def test_without_a_word_it_is_the_cluster_on_this_machine() -> None:
    runs("default")
    assert connection_of(Where()).server == "https://default.local.example"


def test_a_cluster_on_this_machine_can_be_named(monkeypatch: pytest.MonkeyPatch, machine: Path) -> None:
    runs("default")
    runs("trial")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(machine / "other", "https://other.example")))
    assert connection_of(Where(name="trial")).server == "https://trial.local.example"


def test_a_cluster_that_the_environment_names_goes_before(monkeypatch: pytest.MonkeyPatch, machine: Path) -> None:
    runs("default")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(machine / "other", "https://other.example")))
    assert connection_of(Where()).server == "https://other.example"


def test_a_kubeconfig_that_is_named_goes_before_all(monkeypatch: pytest.MonkeyPatch, machine: Path) -> None:
    runs("default")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(machine / "other", "https://other.example")))
    named = kubeconfig(machine / "named", "https://named.example")
    assert connection_of(Where(kubeconfig=named)).server == "https://named.example"


def test_the_file_in_the_home_is_taken_only_with_a_context() -> None:
    assert connection_of(Where(context="here")).server == "https://production.example"


@pytest.mark.parametrize("left_behind", [False, True], ids=["none-was-ever-there", "one-has-ended"])
def test_no_cluster_is_taken_by_surprise(left_behind: bool) -> None:
    if left_behind:
        runs("default", alive=False)
    with pytest.raises(ConfigError, match=r"none runs on this machine.*`stackwright up`.*KUBECONFIG"):
        connection_of(Where())


def test_a_named_cluster_that_does_not_run_is_said() -> None:
    with pytest.raises(ConfigError, match="The cluster trial does not run"):
        connection_of(Where(name="trial"))


def test_two_ways_to_name_a_cluster_are_one_too_many(machine: Path) -> None:
    with pytest.raises(click.UsageError, match="--name is a cluster on this machine"):
        connection_of(Where(name="trial", kubeconfig=machine / "named"))
