#!/opt/ansible/bin/python
"""One run of Ansible, told as it goes: a JSON object a line for each event, and last the summary.

    {"play": "Install the operating system", "hosts": "all"}
    {"host": "compute-0", "status": "failed", "task": "Install packages", "message": "No space left on device"}
    {"host": "compute-1", "status": "done", "task": "", "message": ""}
    {"hostKeys": ["192.0.2.10 ssh-ed25519 AAAA..."]}
    {"summary": {"compute-0": "failed", "compute-1": "ok"}}

A host that answered in this run and then does not any more has failed: what the run changed may have cut it off. One
that is unreachable has not answered at all.

Nothing runs any more on a host that is done. That is told at the end, and of the playbooks of our collection as soon as
it is so: their last task says it, and who fails in one of them is through with it. Of other playbooks nobody can know
it: plays, handlers and included tasks may follow, a rescue may begin, and with Ansible's default strategy all hosts
wait for the slowest one before each task anyway. The keys are those of machines that SSH met for the first time.

It takes the arguments of `ansible-runner run`, so that an image with ansible-runner alone can stand in for this one.
Any other command is run as it is. What Ansible hides (no_log) is hidden here, too. Of a result the message, the return
code and the last lines of stderr are shown. What stands in the files below /runner/hidden, and the SSH key, is
cut out of tasks and messages: a task may show what it should not, and the log of a pod is kept.
"""

import argparse
import base64
import json
import os
import re
import sys
import tempfile
import time
import uuid
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

LONGEST = 2000
# How many lines of what a program wrote are shown: the last ones say what it failed of.
LAST_LINES = 10
FORKS_PER_CORE = 10
# Where SSH writes the keys of machines that it did not know, as the image's ssh_config says.
MET = Path("/tmp/known_hosts")  # noqa: S108  a volume of the pod's own
# Files with secrets: some of them are mounted a second time, so that it is known what must not be shown.
SECRETS, KEY = Path("/runner/hidden"), Path("/runner/env/ssh_key")
# What is shorter is no secret, or cannot be told from other words.
SHORTEST_SECRET = 6
HIDDEN = "(hidden)"
# How options of a service's configuration end that have no secret in them. Cut out everywhere, their values would make
# other texts unreadable: `service` or `public`, say. What is not named here, or in a file of another form, is secret.
# The operators, which read the log, have the same list.
PUBLIC = (
    "auth_type",
    "domain_name",
    "driver",
    "endpoint_type",
    "lock_path",
    "project_name",
    "region_name",
    "state_path",
    "username",
    "valid_interfaces",
)
# The beginning of a section, which only the configuration of a service has.
SECTION = re.compile(r"^\[\w+\]$", re.MULTILINE)
# The password in a URL.
IN_URL = re.compile(r"://[^\s:/@]*:([^\s@]+)@")
# What ssh-agent and ssh-add say if all is well. It comes first, and would stand before what went wrong.
OF_AGENT = re.compile(r"^(Agent pid \d+|Identity added: ).*$\n?", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# The playbooks that end with such a task for each host, by themselves, and what could have more run after it: options,
# which may name another playbook, and handlers of hosts that failed.
OURS, LAST_TASK = "stackwright.edpm.", "Say that nothing more runs on this machine"
OPTIONS, FORCING = Path("/runner/env/cmdline"), "ANSIBLE_FORCE_HANDLERS"
# The events by which a task of a host ends; what is said of a host whose task does not, and of a run that is stopped by
# the limits in env/settings.
ENDS_OF_TASKS = ("runner_on_ok", "runner_on_failed", "runner_on_unreachable", "runner_on_skipped")
HUNG = "The task did not end in time"
LOST = "The machine answered, and then did not any more"
# What Ansible does without the machine, whether it answers or not.
LOCAL = (
    "add_host",
    "assert",
    "debug",
    "fail",
    "group_by",
    "import_role",
    "import_tasks",
    "include_role",
    "include_tasks",
    "include_vars",
    "meta",
    "pause",
    "set_fact",
    "set_stats",
    "validate_argument_spec",
)
STOPPED = "Ansible was stopped, because tasks, or the run as a whole, did not end in time"
# A task hangs if it has taken as long as a run may say nothing; an event gets here a little after that time begins.
HANGING = 0.9
CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")
# The summary's words, by the numbers of Ansible's statistics; the first that is not zero counts.
_FAILURES = {"dark": "unreachable", "failures": "failed"}


def parse(arguments: Sequence[str]) -> argparse.Namespace | None:
    """Return what `ansible-runner run` is asked for, or None if it is another command."""
    if list(arguments[:2]) != ["ansible-runner", "run"]:
        return None
    parser = argparse.ArgumentParser(prog="ansible-runner run")
    parser.add_argument("directory")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("-p", "--playbook")
    what.add_argument("-r", "--role")
    parser.add_argument("-i", "--ident", default="run")
    return parser.parse_args(arguments[2:])


def read_secrets(folder: Path = SECRETS, key: Path = KEY) -> tuple[str, ...]:
    """Return what must not be shown, the longest first: one secret may be a part of another."""
    # Those with two dots are Kubernetes' own. A key of a Secret may begin with one.
    mounted = (file for mount in folder.glob("*") for file in mount.glob("*") if not file.name.startswith(".."))
    found = [key, *mounted]
    texts: list[str] = []
    for file in (file for file in found if file.is_file()):
        text = file.read_text(errors="replace")
        texts += map(str, json.loads(text)) if file.suffix == ".json" and text.startswith("[") else [text]
    words: set[str] = set()
    for text in texts:
        public = PUBLIC if SECTION.search(text) else ()
        for line in (text, *text.splitlines()):
            words.add(line.strip())
            if (name := line.partition("=")[0].strip()).isidentifier() and name.endswith(public):
                continue
            words |= {line.partition(sign)[2].strip().strip("'\"") for sign in "=:"}
        words |= {*IN_URL.findall(text), *values_of(text)}
    long = [word for word in words if len(word) >= SHORTEST_SECRET]
    return tuple(sorted({form for word in long for form in forms(word)}, key=len, reverse=True))


def values_of(text: str) -> Iterator[str]:
    """Yield the values in a text that is a JSON object as a whole, such as a login to registries."""
    try:
        left = [json.loads(text)] if text.lstrip().startswith("{") else []
    except (ValueError, RecursionError):
        return
    while left:
        match left.pop():
            case dict() as entries:
                left += entries.values()
            case list() as entries:
                left += entries
            case str() as word:
                yield word


def forms(secret: str) -> Iterator[str]:
    """Yield how a secret may be written: as it is, with escapes, in a URL, and by base64 as in a manifest.

    Escapes are those of JSON or of Python. The operators have the same forms.
    """
    yield secret
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1])
    yield quote(secret, safe="", errors="replace")
    for text in (secret, f"{secret}\n"):
        yield base64.b64encode(text.encode(errors="replace")).decode()


def hide(text: str, secrets: Sequence[str]) -> str:
    """Return a text without secrets."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def tells_ends(playbook: str, options: Path = OPTIONS, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether it is known of a playbook when it is through with a host, before all others are."""
    return playbook.startswith(OURS) and not options.exists() and FORCING not in environment


def lines(
    event: Mapping[str, Any],
    met: Path = MET,
    secrets: Sequence[str] = (),
    *,
    ends: bool = False,
    answered: Container[str] = (),
) -> Iterator[dict[str, Any]]:
    """Return what is told of one event of ansible-runner; `met` has the keys of machines that SSH did not know.

    `ends` is whether it is known when a host is done, `answered` are the hosts that answered before in this run.
    """
    data = event.get("event_data", {})
    status, host = _status(str(event.get("event", "")), data), str(data.get("host", ""))
    if status:
        failed = status in ("failed", "unreachable")
        said = message(data.get("res", {}), secrets) if failed else ""
        if status == "unreachable" and host in answered:
            status, said = "failed", f"{LOST}: {said}"
        task = hide(str(data.get("task", "")), secrets)
        yield {"host": host, "status": status, "task": task, "message": said}
        if ends and (failed or data.get("task") == LAST_TASK):
            yield _done(host)
    if event.get("event") == "playbook_on_play_start":
        yield {name: hide(str(data.get(of, "")), secrets) for name, of in (("play", "name"), ("hosts", "pattern"))}
    if event.get("event") == "playbook_on_stats":
        found = {host: _blame(word, answered=host in answered) for host, word in summary(data).items()}
        yield from map(_done, found)
        if met.is_file():
            yield {"hostKeys": met.read_text().splitlines()}
        yield {"summary": found}


def _blame(word: str, *, answered: bool) -> str:
    return "failed" if word == "unreachable" and answered else word


def has_answered(event: Mapping[str, Any]) -> bool:
    """Return whether an event says that a task was at work on its host, and not here or on another one."""
    data = event.get("event_data", {})
    result = data.get("res")
    elsewhere = isinstance(result, dict) and "_ansible_delegated_vars" in result
    action = str(data.get("task_action", "")).rpartition(".")[2]
    at_work = event.get("event") in ("runner_on_ok", "runner_on_failed")
    return at_work and not elsewhere and action not in LOCAL


def follow_work(event: Mapping[str, Any], working: dict[str, tuple[str, float]], now: float) -> None:
    """Note in `working` which hosts have begun a task, when, and have not said yet how it ended."""
    data = event.get("event_data", {})
    if event.get("event") == "runner_on_start":
        working[str(data.get("host", ""))] = (str(data.get("task", "")), now)
    elif event.get("event") in ENDS_OF_TASKS:
        working.pop(str(data.get("host", "")), None)


def hung(
    working: Mapping[str, tuple[str, float]], since: float, secrets: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Return what is told of hosts whose task has not ended `since` then: the others are not to blame.

    A run that takes too long as a whole may be stopped while many of them are at work, and none of them hangs.
    """
    for host, (task, began) in working.items():
        if began <= since:
            yield {"host": host, "status": "failed", "task": hide(task, secrets), "message": HUNG}


def longest_silence(directory: Path) -> float:
    """Return for how many seconds a run may say nothing, by its settings; 0 where they do not say it."""
    try:
        settings = json.loads((directory / "env" / "settings").read_text())
    except (OSError, ValueError):
        return 0.0
    return float(settings.get("idle_timeout") or 0) if isinstance(settings, dict) else 0.0


def _done(host: str) -> dict[str, str]:
    return {"host": host, "status": "done", "task": "", "message": ""}


def _status(name: str, data: Mapping[str, Any]) -> str:
    if name == "runner_on_failed":
        return "ok" if data.get("ignore_errors") else "failed"
    return {"runner_on_ok": "ok", "runner_on_unreachable": "unreachable"}.get(name, "")


def message(result: Mapping[str, Any], secrets: Sequence[str] = ()) -> str:
    """Return why a task failed, in words: of several items, that of the first that failed or met nobody."""
    items = result.get("results")
    if isinstance(items, list):
        wrong = (item for item in items if isinstance(item, dict) and (item.get("failed") or item.get("unreachable")))
        result = next(wrong, result)
    if "censored" in result:
        return "What went wrong is hidden, because the task handles secrets (no_log)."
    # Hidden before anything is cut, so that no part of a secret is left.
    said = hide(str(result.get("msg", "")).strip(), secrets)
    written = [last_lines(hide(str(result.get(name, "")), secrets)) for name in ("stderr", "module_stderr")]
    if code := result.get("rc"):
        said = f"{said} (rc {code})".strip()
    words = "\n".join(dict.fromkeys(word for word in (said, *written) if word))
    words = words or last_lines(hide(str(result.get("stdout", "")), secrets))
    return shorten(words) or "The task failed, and said nothing."


def last_lines(text: str) -> str:
    """Return the end of what a program wrote."""
    return "\n".join([line.rstrip() for line in text.splitlines() if line.strip()][-LAST_LINES:])


def shorten(text: str) -> str:
    """Return the beginning and the end of a long text: what it is about, and what came of it."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[: half - 1]}…{text[-half:]}"


def clean(output: str) -> str:
    """Return what Ansible wrote to its terminal, without colours and what the SSH agent says."""
    return OF_AGENT.sub("", COLOUR.sub("", output)).strip()


def summary(statistics: Mapping[str, Any]) -> dict[str, str]:
    """Return how each host ended."""
    numbers = ("ok", "changed", "dark", "failures", "processed", "skipped")
    hosts = sorted({host for name in numbers for host in statistics.get(name, {})})
    return {
        host: next((word for name, word in _FAILURES.items() if statistics.get(name, {}).get(host)), "ok")
        for host in hosts
    }


def forks(limit: str, cores: int) -> int:
    """Return how many machines are worked on at once; `limit` is what the pod may use, as its control group says."""
    words = limit.split()
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
        cores = min(cores, max(1, round(int(words[0]) / int(words[1]))))
    return FORKS_PER_CORE * cores


def tell(line: Mapping[str, Any]) -> None:
    """Print a line."""
    print(json.dumps(line), flush=True)


def run(wanted: argparse.Namespace, scratch: Path) -> int:
    """Run Ansible to its end, and return the exit code."""
    import ansible_runner  # noqa: PLC0415  the functions above are tried where it is not installed

    playbook = wanted.playbook
    if wanted.role:
        # ansible-runner would write it into the project, which nobody may write.
        path = scratch / "role.json"
        path.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "become": True, "roles": [wanted.role]}]))
        playbook = str(path)
    complete, begun, secrets, ends = False, False, read_secrets(), tells_ends(wanted.playbook or "")
    working: dict[str, tuple[str, float]] = {}
    answered: set[str] = set()
    # ansible-runner finds events by marks in what Ansible writes to its terminal. A machine may write such marks too:
    # a warning of a module is shown as it is. This number is in each event of Ansible's own, and no machine knows it.
    number = uuid.uuid4().int
    os.environ["JOB_ID"] = str(number)

    def follow(event: Mapping[str, Any]) -> bool:
        nonlocal complete, begun
        if event.get("job_id") != number:
            return False
        begun = True
        follow_work(event, working, time.monotonic())
        for line in lines(event, secrets=secrets, ends=ends, answered=answered):
            complete = complete or "summary" in line
            tell(line)
        if has_answered(event):
            answered.add(str(event["event_data"].get("host", "")))
        return False  # It keeps no copy of the event.

    done = ansible_runner.run(
        private_data_dir=wanted.directory,
        playbook=playbook,
        ident=wanted.ident,
        quiet=True,
        event_handler=follow,
        # Without this it takes SIGTERM for itself, and ends as after a failure: the Job would not replace the pod.
        cancel_callback=lambda: False,
    )
    stopped = done.status == "timeout"
    if not complete and stopped and begun:
        since = time.monotonic() - HANGING * longest_silence(Path(wanted.directory))
        for line in (*hung(working, since, secrets), {"summary": {}, "message": STOPPED}):
            tell(line)
    elif not complete:
        said = Path(done.stdout.name).read_text(errors="replace")
        said = hide(clean(said), secrets)
        # A machine may have said some of it, so that no line of it may look like one of ours.
        print(*(f"| {line}" for line in said.splitlines()), sep="\n", file=sys.stderr, flush=True)
        # Nothing that comes before the first play takes long, unless it waits for somebody, as ssh-add does.
        words = (STOPPED, last_lines(said)) if stopped else (said,)
        tell({"summary": {}, "message": shorten(": ".join(word for word in words if word))})
    return int(done.rc or 0) if complete else int(done.rc or 1)


def main() -> int:
    """Read the command line and run it."""
    wanted = parse(sys.argv[1:])
    if wanted is None:
        os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606  the user's own command
    # By this name the machines know what this pod does there; the next pod of the same run has another one.
    os.environ["STACKWRIGHT_RUN"] = f"{wanted.ident}-{uuid.uuid4().hex[:12]}"
    limit = CGROUP_LIMIT.read_text() if CGROUP_LIMIT.is_file() else ""
    os.environ.setdefault("ANSIBLE_FORKS", str(forks(limit, len(os.sched_getaffinity(0)))))
    with tempfile.TemporaryDirectory() as scratch:
        return run(wanted, Path(scratch))


if __name__ == "__main__":
    sys.exit(main())
