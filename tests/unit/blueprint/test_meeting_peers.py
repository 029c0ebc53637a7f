"""When a refusal of a peer ends a process, and when it does not."""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from stackwright.blueprint import serving
from stackwright.blueprint.service import ConfigFile
from stackwright.services.barbican.settings import PROGRAMS as BARBICAN
from stackwright.services.neutron.programs import DAEMONS as NEUTRON
from stackwright.services.nova import programs as nova

REASON = "there is no such schema"


@pytest.fixture
def pod(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The programs of pods; of the library that only services have, they need no more here than its names."""
    library, cfg = ModuleType("oslo_config"), ModuleType("oslo_config.cfg")
    for name in ("ConfigOpts", "ConfigFileValueError", "ConfigSourceValueError", "TemplateSubstitutionError"):
        setattr(cfg, name, type(name, (Exception,), {}))
    library.cfg = cfg  # type: ignore[attr-defined]  # a module of this test
    monkeypatch.setitem(sys.modules, "oslo_config", library)
    monkeypatch.setitem(sys.modules, "oslo_config.cfg", cfg)
    names = ("serving", "peers")
    found = {name: importlib.import_module(f"stackwright.blueprint.pod.{name}") for name in names}
    monkeypatch.setattr(found["serving"], "DOUBTS", (0, 0))
    yield SimpleNamespace(**found)
    for name in names:
        del sys.modules[f"stackwright.blueprint.pod.{name}"]


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        pytest.param([[]], 1, id="nobody-refuses"),
        pytest.param([[REASON], []], 2, id="an-account-that-is-just-made"),
        pytest.param([[REASON], [REASON], []], 3, id="one-that-takes-longer"),
    ],
)
def test_a_process_goes_on_once_nobody_refuses_it(pod: SimpleNamespace, answers: list[list[str]], asked: int) -> None:
    left = iter(answers)
    seen = []

    def ask() -> list[str]:
        seen.append(True)
        return next(left)

    pod.serving.meet(ask)
    assert len(seen) == asked


def test_a_process_that_is_refused_each_time_ends_and_says_why_once(
    pod: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(pod.serving.Unusable):
        pod.serving.meet(lambda: [f"[database] connection: {REASON}", f"[database] connection: {REASON}"])
    sentence = f"Others refuse the service with these values: [database] connection: {REASON}"
    assert capsys.readouterr().err.splitlines() == [sentence]


AWAY, UNKNOWN = ConnectionError("who knows"), RuntimeError("who knows")


def put(pod: SimpleNamespace, answers: dict[str, Any]) -> list[str]:
    """Put a question to a peer that answers so; return what it is asked, as it comes."""
    seen: list[str] = []

    def ask(said: str, section: str) -> str:
        seen.append(said)
        if isinstance(answers[said], Exception):
            raise answers[said]
        return str(answers[said])

    pod.peers.QUESTIONS["here"] = (lambda said, _: said, ask)
    return seen


@pytest.mark.parametrize(
    ("theirs", "ours", "answers", "reason", "asked"),
    [
        pytest.param("one", "one", {}, "", [], id="the-user-says-nothing-else"),
        pytest.param(None, "one", {}, "", [], id="what-was-read-has-none"),
        pytest.param("one", None, {}, "", [], id="operators-say-none"),
        pytest.param("two", "one", {"two": ""}, "", ["two"], id="it-lets-the-user-in"),
        pytest.param("two", "one", {"two": UNKNOWN}, "", ["two"], id="it-has-no-room"),
        pytest.param("two", "one", {"two": AWAY, "one": AWAY}, "", ["two", "one"], id="both-are-away"),
        pytest.param("two", "one", {"two": REASON, "one": ""}, REASON, ["two", "one"], id="only-the-user-is-refused"),
        # A new password comes to Keystone when pods are ready with it.
        pytest.param("two", "one", {"two": REASON, "one": REASON}, "", ["two", "one"], id="operators-are-refused-too"),
        pytest.param("two", "one", {"two": REASON, "one": AWAY}, "", ["two", "one"], id="nobody-can-tell"),
    ],
)
def test_a_refusal_counts_where_the_same_peer_lets_operators_in(
    pod: SimpleNamespace, theirs: Any, ours: Any, answers: dict[str, Any], reason: str, asked: list[str]
) -> None:
    seen = put(pod, answers)
    assert pod.peers.refuses("here", "section", theirs, ours) == reason
    assert seen == asked


def test_an_address_where_nobody_is_counts_where_operators_name_another(pod: SimpleNamespace) -> None:
    put(pod, {"two": AWAY, "one": ""})
    assert pod.peers.refuses("here", "section", "two", "one") == pod.peers.AWAY


@pytest.mark.parametrize(
    ("theirs", "ours", "answers", "reason"),
    [
        pytest.param("one", "one", {"one": REASON}, REASON, id="it-is-refused"),
        pytest.param("one", "one", {"one": ""}, "", id="it-is-let-in"),
        pytest.param("one", "one", {"one": AWAY}, "", id="it-is-away"),
        pytest.param(None, None, {}, "", id="there-is-none"),
        # `refuses` asks about that.
        pytest.param("two", "one", {}, "", id="the-user-says-something-else"),
    ],
)
def test_any_refusal_counts_of_what_operators_pass_on(
    pod: SimpleNamespace, theirs: Any, ours: Any, answers: dict[str, Any], reason: str
) -> None:
    seen = put(pod, answers)
    asked: set[Any] = set()
    assert pod.peers.refuses_given("here", "section", theirs, ours, asked) == reason
    # Another section with the same login is another name for it.
    assert pod.peers.refuses_given("here", "another", theirs, ours, asked) == ""
    assert seen == list(answers)


PROGRAMS = {
    **BARBICAN,
    **NEUTRON,
    **{program.content.split('"nova-')[1].split('"')[0]: program for program in (nova.SCHEDULER, nova.CONDUCTOR)},
    "compute": nova.COMPUTE,
    "novncproxy": nova.NOVNCPROXY,
}


@pytest.mark.parametrize("program", [pytest.param(program, id=name) for name, program in PROGRAMS.items()])
def test_each_program_asks_its_peers_before_it_works(program: ConfigFile) -> None:
    lines = program.content.partition("def peers()")[2]
    service = program.destination.split("/")[2]
    assert f'list_refusals("/etc/{service}/{service}.conf.d/01-*.conf", "/etc/{service}/given")' in lines
    first = lines.index("peers)")
    assert first < lines.find("STARTED.touch()") or "application = load(" in lines


def test_what_an_api_cannot_load_is_explained_by_a_refusal(
    pod: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(pod.serving.Unusable):
        pod.serving.load("there_is_no_such_module", lambda: [f"[database] connection: {REASON}"])
    assert capsys.readouterr().err.splitlines() == [
        f"Others refuse the service with these values: [database] connection: {REASON}"
    ]


def test_the_texts_are_one_program_whose_names_do_not_collide() -> None:
    text = serving.daemon("peering", "").content
    defined = [line.split("(")[0].split(":")[0] for line in text.splitlines() if line.startswith(("def ", "class "))]
    assert len(defined) == len(set(defined))
