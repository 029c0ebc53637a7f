"""The program of the execution image: what it tells of Ansible's events."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stackwright.controllers.dataplane import run_log

PROGRAM = Path(__file__).parents[3] / "images" / "ansible-runner" / "run_ansible.py"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("run_ansible", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


program = load()


def event(name: str, **data: Any) -> dict[str, Any]:
    return {"event": name, "event_data": {"host": "compute-0", "task": "Do it", **data}}


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        pytest.param(event("runner_on_ok", res={"stdout": "x"}), ("ok", ""), id="what-went-well-needs-no-words"),
        pytest.param(event("runner_on_failed", res={"msg": "no space"}), ("failed", "no space"), id="a-failure"),
        pytest.param(
            event("runner_on_failed", res={"msg": "non-zero return code", "stderr": "no such file"}),
            ("failed", "non-zero return code\nno such file"),
            id="a-command-says-more-on-stderr",
        ),
        pytest.param(
            event("runner_on_failed", res={"msg": "non-zero return code", "rc": 3, "stderr": "one\n\ntwo\n"}),
            ("failed", "non-zero return code (rc 3)\none\ntwo"),
            id="a-command-says-how-it-ended",
        ),
        pytest.param(
            event("runner_on_failed", res={"msg": "it failed", "rc": 1, "stderr": "\n".join(map(str, range(100)))}),
            ("failed", "\n".join(["it failed (rc 1)", *map(str, range(90, 100))])),
            id="the-last-lines-say-what-it-failed-of",
        ),
        pytest.param(
            event("runner_on_failed", res={"censored": "hidden", "rc": 3, "stderr": "hunter2"}),
            ("failed", "What went wrong is hidden, because the task handles secrets (no_log)."),
            id="a-command-that-handles-secrets-says-nothing",
        ),
        pytest.param(
            event(
                "runner_on_failed", res={"msg": "All items", "results": [{"msg": "a"}, {"failed": True, "msg": "b"}]}
            ),
            ("failed", "b"),
            id="the-item-that-failed-speaks",
        ),
        pytest.param(
            event(
                "runner_on_unreachable",
                res={"msg": "All items", "results": [{"msg": "a"}, {"unreachable": True, "msg": "no route"}]},
            ),
            ("unreachable", "no route"),
            id="the-item-that-met-nobody-speaks",
        ),
        pytest.param(event("runner_on_failed", ignore_errors=True, res={"msg": "x"}), ("ok", ""), id="it-was-expected"),
        pytest.param(event("runner_on_unreachable", res={"msg": "no route"}), ("unreachable", "no route"), id="away"),
        pytest.param(
            event("runner_on_failed", res={"censored": "hidden", "changed": False}),
            ("failed", "What went wrong is hidden, because the task handles secrets (no_log)."),
            id="a-secret-stays-one",
        ),
    ],
)
def test_an_event_is_told(seen: dict[str, Any], told: tuple[str, str]) -> None:
    (line,) = program.lines(seen)
    assert line == {"host": "compute-0", "status": told[0], "task": "Do it", "message": told[1]}


def test_no_secret_stands_in_a_task_or_a_message(tmp_path: Path) -> None:
    mounted = tmp_path / "hidden" / "one"
    mounted.mkdir(parents=True)
    (mounted / "hidden.json").write_text('["s3cr3t-word", 7]')
    (mounted / "nova.conf").write_text("[database]\nconnection = mysql://nova:hunter2@db\nshort = on\n")
    (mounted / "..data").mkdir()
    key = tmp_path / "ssh_key"
    key.write_text("-----BEGIN-----\nAAAABBBBCCCC\n-----END-----\n")
    secrets = program.read_secrets(tmp_path / "hidden", key)
    seen = event(
        "runner_on_failed", task="Log in with s3cr3t-word", res={"msg": "mysql://nova:hunter2@db is on, AAAABBBBCCCC"}
    )
    (line,) = program.lines(seen, secrets=secrets)
    assert (line["task"], line["message"]) == ("Log in with (hidden)", "(hidden) is on, (hidden)")
    (line,) = program.lines(event("runner_on_failed", res={"msg": "hunter2 was refused"}), secrets=secrets)
    assert line["message"] == "(hidden) was refused"
    failed = {"msg": "it failed", "rc": 1, "stderr": "no user s3cr3t-word"}
    (line,) = program.lines(event("runner_on_failed", res=failed), secrets=secrets)
    assert line["message"] == "it failed (rc 1)\nno user (hidden)"
    # A part of a secret must not be left by cutting the message short.
    long = event("runner_on_failed", res={"msg": "x" * (program.LONGEST - 4) + "s3cr3t-word"})
    (line,) = program.lines(long, secrets=secrets)
    assert "s3cr" not in line["message"]
    assert program.read_secrets(tmp_path / "nothing", tmp_path / "nothing") == ()


CONFIGURATION = """\
[DEFAULT]
state_path = /var/lib/nova
[placement]
auth_type = password
password = hunter2hunter2
project_name = service
valid_interfaces = public
region_name=regionOne
unknown_option = something
[barbican]
barbican_endpoint_type = public
"""


def test_what_is_no_secret_in_a_configuration_stays_in_the_names_of_tasks(tmp_path: Path) -> None:
    mounted = tmp_path / "hidden" / "one"
    mounted.mkdir(parents=True)
    (mounted / "01-nova.conf").write_text(CONFIGURATION)
    secrets = program.read_secrets(tmp_path / "hidden", tmp_path / "nothing")
    said = "Run the service in /var/lib/nova, and read the public host key of regionOne by its password"
    failed = event("runner_on_failed", task=said, res={"msg": "hunter2hunter2 and something"})
    (line,) = program.lines(failed, secrets=secrets)
    assert (line["task"], line["message"]) == (said, "(hidden) and (hidden)")
    # Who has such a word for a password has it hidden.
    (mounted / "02-nova.conf").write_text("[neutron]\npassword = service\n")
    assert "service" in program.read_secrets(tmp_path / "hidden", tmp_path / "nothing")


def test_a_file_of_another_form_is_secret_as_a_whole(tmp_path: Path) -> None:
    mounted = tmp_path / "hidden" / "one"
    mounted.mkdir(parents=True)
    (mounted / "environment").write_text("username=s3cr3t-word\nproject_name: other-word\n")
    secrets = program.read_secrets(tmp_path / "hidden", tmp_path / "nothing")
    assert {"s3cr3t-word", "other-word"} <= set(secrets)


def test_operators_and_the_program_call_the_same_options_public() -> None:
    assert program.PUBLIC == run_log.PUBLIC


ESCAPED = "se\"cret\\w\u00f6rd's\tend"
LOGIN = json.dumps({"auths": {"registry.example": {"username": "puller", "password": ESCAPED, "more": ["list-word"]}}})


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(json.dumps({"p": ESCAPED}), id="json"),
        pytest.param(json.dumps({"p": ESCAPED}, ensure_ascii=False), id="json-with-its-letters"),
        pytest.param(repr({"p": ESCAPED}), id="python"),
        pytest.param(ESCAPED, id="as-it-is"),
    ],
)
def test_a_secret_with_escapes_is_cut_out_by_both(tmp_path: Path, written: str) -> None:
    key = tmp_path / "key"
    key.write_text(ESCAPED)
    (line,) = program.lines(
        event("runner_on_failed", res={"msg": written}), secrets=program.read_secrets(tmp_path / "nothing", key)
    )
    # An image of somebody else's may hide nothing.
    open_line = json.dumps({"host": "compute-0", "status": "failed", "task": "t", "message": written})
    progress = run_log.read_lines(run_log.Progress(), [open_line], run_log.secret_words([ESCAPED]))
    for said in (line["message"], progress.hosts["compute-0"].message):
        assert "(hidden)" in said
        assert "cret" not in said


def test_a_login_to_a_registry_is_cut_out_by_both(tmp_path: Path) -> None:
    mounted = tmp_path / "hidden" / "one"
    mounted.mkdir(parents=True)
    (mounted / ".dockerconfigjson").write_text(LOGIN)
    (mounted / "..data").write_text("Kubernetes' own")
    secrets = set(program.read_secrets(tmp_path / "hidden", tmp_path / "nothing"))
    assert {ESCAPED, "list-word"} <= secrets & run_log.secret_words([LOGIN])
    assert secrets == run_log.secret_words([LOGIN])


@pytest.mark.parametrize("text", ["{", "{" * 100_000, '{"a": 1}', "[1, 2]"])
def test_what_is_no_json_with_words_has_none(text: str) -> None:
    assert list(program.values_of(text)) == []
    assert run_log.secret_words([text, "s3cr3t-word"]) >= {"s3cr3t-word"}


def test_half_a_character_in_json_breaks_nothing() -> None:
    assert "s3cr3t-word" in run_log.secret_words(['{"a": "s3cr3t-word", "b": "half of it \\ud800"}'])
    assert list(program.forms("half of it \ud800"))


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("p@ss/word", id="as-it-is"),
        pytest.param("p%40ss%2Fword", id="in-a-url"),
        pytest.param("cEBzcy93b3Jk", id="in-a-manifest"),
        pytest.param("cEBzcy93b3JkCg==", id="in-a-manifest-with-the-end-of-its-line"),
    ],
)
def test_a_secret_is_cut_out_however_it_is_written(tmp_path: Path, written: str) -> None:
    key = tmp_path / "key"
    key.write_text("p@ss/word\n")
    secrets = program.read_secrets(tmp_path / "nothing", key)
    (line,) = program.lines(event("runner_on_failed", res={"msg": f"it says {written}"}), secrets=secrets)
    assert line["message"] == "it says (hidden)"


def test_the_keys_of_new_machines_are_told_before_the_summary(tmp_path: Path) -> None:
    met = tmp_path / "known_hosts"
    stats = event("playbook_on_stats", ok={"compute-0": 1})
    without = list(program.lines(stats, met))
    met.write_text("192.0.2.10 ssh-ed25519 AAAA\n")
    told = list(program.lines(stats, met))
    assert told == [*without[:-1], {"hostKeys": ["192.0.2.10 ssh-ed25519 AAAA"]}, without[-1]]
    assert "summary" in told[-1]


def test_plays_are_told_with_their_hosts() -> None:
    told = program.lines({"event": "playbook_on_play_start", "event_data": {"name": "Begin", "pattern": "computes"}})
    assert list(told) == [{"play": "Begin", "hosts": "computes"}]


def test_what_the_agent_of_ssh_says_does_not_stand_before_the_cause() -> None:
    said = (
        "Agent pid 12\nIdentity added: /runner/artifacts/run/ssh_key_data (machine)\n"
        "\x1b[0;31m[ERROR]: the playbook: x could not be found\x1b[0m\nOrigin: Identity added: no\n"
    )
    assert program.clean(said) == "[ERROR]: the playbook: x could not be found\nOrigin: Identity added: no"
    wrong = "Error loading key: invalid format"
    assert program.clean(f"{wrong}\n") == wrong


def test_events_that_are_of_no_host_are_not_told() -> None:
    assert list(program.lines(event("playbook_on_task_start"))) == []


def test_the_end_says_how_each_host_is() -> None:
    stats = {"ok": {"a": 1, "b": 2, "c": 1}, "dark": {"c": 1}, "failures": {"b": 1}, "processed": {"a": 1}}
    *done, last = program.lines({"event": "playbook_on_stats", "event_data": stats})
    assert [line["host"] for line in done if line["status"] == "done"] == ["a", "b", "c"]
    assert last == {"summary": {"a": "ok", "b": "failed", "c": "unreachable"}}


@pytest.mark.parametrize(
    ("seen", "done"),
    [
        pytest.param(event("runner_on_ok", task=program.LAST_TASK), True, id="its-last-task"),
        pytest.param(event("runner_on_ok"), False, id="any-other-task"),
        pytest.param(event("runner_on_failed", res={"msg": "x"}), True, id="nothing-runs-on-a-host-that-failed"),
        pytest.param(event("runner_on_unreachable", res={"msg": "x"}), True, id="or-that-is-away"),
        pytest.param(event("runner_on_failed", ignore_errors=True, res={"msg": "x"}), False, id="it-was-expected"),
    ],
)
def test_a_host_is_done_as_soon_as_that_is_known(seen: dict[str, Any], done: bool) -> None:
    last = {"host": "compute-0", "status": "done", "task": "", "message": ""}
    assert (last in list(program.lines(seen, ends=True))) == done
    assert last not in list(program.lines(seen))


@pytest.mark.parametrize(
    ("first", "state"),
    [
        pytest.param(event("runner_on_ok", task_action="ansible.builtin.copy"), "Failed", id="it-answered"),
        pytest.param(
            event("runner_on_failed", task_action="command", ignore_errors=True, res={"msg": "x"}),
            "Failed",
            id="it-answered-with-a-failure-that-was-expected",
        ),
        pytest.param(event("runner_on_ok", task_action="ansible.builtin.assert"), "Unreachable", id="nobody-asked-it"),
        pytest.param(event("runner_on_ok", task_action="validate_argument_spec"), "Unreachable", id="only-here"),
        pytest.param(
            event("runner_on_ok", task_action="command", res={"_ansible_delegated_vars": {}}),
            "Unreachable",
            id="another-one-answered",
        ),
        pytest.param(event("runner_on_skipped", task_action="command"), "Unreachable", id="a-task-that-was-skipped"),
        pytest.param(event("runner_on_ok", host="compute-1", task_action="command"), "Unreachable", id="others-did"),
    ],
)
def test_a_machine_that_answers_and_then_does_not_has_failed(tmp_path: Path, first: dict[str, Any], state: str) -> None:
    """What the run changed may have cut it off; one that never answered says nothing of the change."""
    gone = event("runner_on_unreachable", task="Load the network", res={"msg": "no route"})
    stats = event("playbook_on_stats", dark={"compute-0": 1})
    log = read_to_the_end(begin(tmp_path, [first, gone, stats], status="failed"))
    # The lines of a log are read again from somewhere in it.
    progress = run_log.read_lines(run_log.Progress(), log.splitlines())
    for start in range(len(log.splitlines())):
        progress = run_log.read_lines(progress, log.splitlines()[start:])
    found = progress.hosts["compute-0"]
    assert (found.state, found.task) == (state, "Load the network")
    assert found.message == (f"{program.LOST}: no route" if state == "Failed" else "no route")


@pytest.mark.parametrize(
    ("playbook", "options", "environment", "known"),
    [
        pytest.param("stackwright.edpm.nova", False, {}, True, id="one-of-ours"),
        pytest.param("playbook.yaml", False, {}, False, id="a-users-may-have-more-plays-and-wait-for-the-slowest"),
        pytest.param("partner.tea.brew", False, {}, False, id="that-of-a-partner"),
        pytest.param("", False, {}, False, id="a-role"),
        pytest.param("stackwright.edpm.nova", True, {}, False, id="options-may-name-another-playbook"),
        pytest.param("stackwright.edpm.nova", False, {program.FORCING: "1"}, False, id="handlers-run-after-a-failure"),
    ],
)
def test_of_which_playbooks_it_is_known(
    playbook: str, options: bool, environment: dict[str, str], known: bool, tmp_path: Path
) -> None:
    if options:
        (tmp_path / "cmdline").write_text("--diff")
    assert program.tells_ends(playbook, tmp_path / "cmdline", environment) == known


def test_a_long_message_is_cut() -> None:
    said = program.message({"msg": "x" * 10_000 + "the cause"})
    assert len(said) == program.LONGEST
    assert said.endswith("the cause")


def test_forks_follow_what_the_pod_may_use() -> None:
    assert program.forks("max 100000\n", 4) == 40
    assert program.forks("200000 100000\n", 4) == 20
    assert program.forks("50000 100000\n", 4) == 10
    assert program.forks("", 2) == 20


def test_the_arguments_are_those_of_ansible_runner() -> None:
    asked = program.parse(["ansible-runner", "run", "/runner", "-p", "stackwright.edpm.install_os", "-i", "run-1"])
    assert (asked.directory, asked.playbook, asked.role, asked.ident) == (
        "/runner",
        "stackwright.edpm.install_os",
        None,
        "run-1",
    )
    assert program.parse(["ansible-runner", "run", "/runner", "-r", "a.b.c"]).role == "a.b.c"
    assert program.parse(["ansible", "--version"]) is None
    with pytest.raises(SystemExit):
        program.parse(["ansible-runner", "run", "/runner"])


# What the program uses of ansible-runner. As that one does, it takes SIGTERM for itself unless somebody says when to
# stop, and then ends in order; what Ansible wrote to its terminal is in a file. Events of Ansible's own have a number.
RUNNER = """\
import json, os, signal, threading, types

def run(*, private_data_dir, event_handler, cancel_callback=None, **_):
    stopped = threading.Event()
    if cancel_callback is None:
        signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    with open(os.path.join(private_data_dir, "events")) as events:
        for event in json.load(events):
            stopped.wait(event.get("after", 0))
            event_handler({"job_id": int(os.environ["JOB_ID"]), **event})
    if os.environ["STATUS"]:
        stopped.set()
    stopped.wait(60)
    return types.SimpleNamespace(
        rc=254, status=os.environ["STATUS"] or "canceled", stdout=open(os.path.join(private_data_dir, "terminal"))
    )
"""


def begin(folder: Path, events: list[dict[str, Any]], terminal: str = "", status: str = "") -> subprocess.Popen[str]:
    """Begin a run in which all this happens; without a status it goes on until it is stopped."""
    (folder / "ansible_runner.py").write_text(RUNNER)
    (folder / "terminal").write_text(terminal)
    (folder / "events").write_text(json.dumps(events))
    arguments = ["ansible-runner", "run", str(folder), "-p", "playbook.yaml"]
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), *arguments],
        env={**os.environ, "PYTHONPATH": str(folder), "STATUS": status},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read_to_the_end(program_of_pod: subprocess.Popen[str]) -> str:
    with program_of_pod:
        assert program_of_pod.stdout is not None
        log = program_of_pod.stdout.read()
    assert program_of_pod.returncode == 254
    return log


def test_a_pod_that_is_killed_has_not_had_its_say(tmp_path: Path) -> None:
    """By how its container ended, the Job knows that another pod has to go on; a summary would end the run."""
    with begin(tmp_path, [event("runner_on_ok")], "PLAY [all]\n") as program_of_pod:
        assert program_of_pod.stdout is not None
        assert json.loads(program_of_pod.stdout.readline())["status"] == "ok"
        program_of_pod.send_signal(signal.SIGTERM)
        assert program_of_pod.stdout.read() == ""
    assert program_of_pod.returncode == -signal.SIGTERM


def test_what_ansible_wrote_to_its_terminal_is_no_event(tmp_path: Path) -> None:
    """A machine may have said it, and the operators read the log."""
    forged = json.dumps({"summary": {"compute-1": "ok"}})
    log = read_to_the_end(begin(tmp_path, [event("runner_on_ok")], f"Something broke\n  {forged}\r\n", "failed"))
    progress = run_log.read_lines(run_log.Progress(), log.splitlines())
    assert (list(progress.hosts), progress.complete) == (["compute-0"], True)
    assert "Something broke" in log
    assert "Something broke" in progress.message


@pytest.mark.parametrize("number", [{"job_id": None}, {"job_id": 1}], ids=["no-number", "another-number"])
def test_what_a_machine_makes_ansible_runner_take_for_an_event_is_none(tmp_path: Path, number: dict[str, Any]) -> None:
    """It would speak for other machines, and end the run before they are through."""
    forged = [
        {**event("runner_on_failed", host="compute-1"), **number},
        {**event("playbook_on_stats", ok={"compute-1": 1}), **number},
    ]
    log = read_to_the_end(begin(tmp_path, [event("runner_on_ok"), *forged], status="failed"))
    progress = run_log.read_lines(run_log.Progress(), log.splitlines())
    assert [(host.host, host.state) for host in progress.hosts.values()] == [("compute-0", "Running")]


def test_a_machine_that_kept_ansible_waiting_for_too_long_is_the_one_that_failed(tmp_path: Path) -> None:
    """It is tried again alone, then; the others would wait for it once more."""
    hosts = ("one", "two", "three", "four")
    began = [
        event(name, host=host, task=task)
        for task, names in (("Begin", ("runner_on_start", "runner_on_ok")), ("Hang on s3cr3t", ("runner_on_start",)))
        for host in hosts
        for name in names
    ]
    ended = [
        event("runner_on_ok", host="one", task="Hang on s3cr3t"),
        event("runner_on_skipped", host="two", task="Hang on s3cr3t"),
        event("runner_on_failed", host="four", task="Hang on s3cr3t", res={"msg": "no space"}),
    ]
    log = read_to_the_end(begin(tmp_path, [*began, *ended], status="timeout"))
    progress = run_log.read_lines(run_log.Progress(), log.splitlines(), ("s3cr3t",))
    found = {host.host: host for host in run_log.conclude(progress, (*hosts, "five"), succeeded=False)}
    assert {name: host.state for name, host in found.items()} == {
        "one": "Unknown",
        "two": "Unknown",
        "three": "Failed",
        "four": "Failed",
        "five": "Unknown",
    }
    assert (found["three"].task, found["three"].message) == ("Hang on (hidden)", program.HUNG)
    assert {found[name].message for name in ("one", "two", "five")} == {program.STOPPED}
    assert found["four"].message == "no space"


def test_what_waits_for_somebody_before_ansible_begins_is_told(tmp_path: Path) -> None:
    """ssh-add asks for a passphrase, say."""
    question = "Agent pid 12\r\nEnter passphrase for /runner/artifacts/run/ssh_key_data: "
    log = read_to_the_end(begin(tmp_path, [], question, status="timeout"))
    progress = run_log.read_lines(run_log.Progress(), log.splitlines())
    (host,) = run_log.conclude(progress, ("one",), succeeded=False)
    assert host.message == f"{program.STOPPED}: Enter passphrase for /runner/artifacts/run/ssh_key_data:"


@pytest.mark.parametrize(
    ("settings", "states"),
    [
        pytest.param('{"idle_timeout": 2, "job_timeout": 3}', ("Failed", "Unknown"), id="one-hangs"),
        pytest.param('{"idle_timeout": 60, "job_timeout": 3}', ("Unknown", "Unknown"), id="none-hangs"),
        pytest.param("idle_timeout: 1", ("Failed", "Failed"), id="a-limit-that-nobody-knows"),
    ],
)
def test_a_machine_that_is_at_work_when_the_time_of_the_run_is_up_has_not_failed(
    tmp_path: Path, settings: str, states: tuple[str, ...]
) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "settings").write_text(settings)
    first = event("runner_on_start", host="one", task="Install packages")
    second = {**event("runner_on_start", host="two", task="Install packages"), "after": 2.5}
    log = read_to_the_end(begin(tmp_path, [first, second], status="timeout"))
    progress = run_log.read_lines(run_log.Progress(), log.splitlines())
    found = run_log.conclude(progress, ("one", "two"), succeeded=False)
    assert tuple(host.state for host in found) == states
    assert [host.message for host in found if host.state == "Unknown"] == [program.STOPPED] * states.count("Unknown")
