"""What stands in the log of a run: one JSON object a line, the last of which is the summary. Pure.

{"play": "Install the operating system", "hosts": "all"}
{"host": "compute-0", "status": "failed", "task": "Install packages", "message": "No space left on device"}
{"host": "compute-0", "status": "done", "task": "", "message": ""}
{"hostKeys": ["192.0.2.10 ssh-ed25519 AAAA…"]}
{"summary": {"compute-0": "failed", "compute-1": "ok"}}

Nothing runs any more on a host that is done, whether it failed before or not. The keys are those of machines that SSH
met for the first time.

A run that broke before it got to its machines has an empty summary, with a message. One that had nothing to do on a
machine does not name it in the summary.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import msgspec

from stackwright.api.ansibleee import HostResult, HostState
from stackwright.blueprint.dataplane.host_keys import is_line
from stackwright.controllers import excerpts

# A message of Ansible may be a whole log: its beginning says what it is about, and its end what came of it.
LONGEST, BEGINNING = 400, 160
# How many characters the hosts of a playbook's plays may have.
LONGEST_HOSTS = 150
# What else may be the reason that nothing ran on a node.
FAILED_BEFORE = "Others failed, perhaps before Ansible got to this node; correct them first. If not:"
# What is shorter is no secret, or cannot be told from other words.
SHORTEST_SECRET = 6
HIDDEN = "(hidden)"
# How options of a service's configuration end that have no secret in them. Cut out everywhere, their values would make
# other texts unreadable: `service` or `public`, say. What is not named here, or in a file of another form, is secret.
# The program that runs Ansible, in images/ansible-runner, has the same list.
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
# How many keys of machines are taken from one line.
MOST_KEYS = 1000

# The beginning of a section, which only the configuration of a service has.
_SECTION = re.compile(r"^\[\w+\]$", re.MULTILINE)
# The password in a URL.
_IN_URL = re.compile(r"://[^\s:/@]*:([^\s@]+)@")

_EVENTS: Mapping[str, HostState] = {"ok": "Running", "failed": "Failed", "unreachable": "Unreachable", "done": "Ok"}
_SUMMARY: Mapping[str, HostState] = {"ok": "Ok", "failed": "Failed", "unreachable": "Unreachable"}
# Half a character. So Ansible writes the bytes of a machine's words that are no text.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Progress:
    """How a run goes, by host; `complete` once its summary is there. Lines that are read twice change nothing.

    `plays` are the hosts that its plays are for, as the playbook says them, `done` the hosts on which nothing of it
    runs any more.
    """

    hosts: Mapping[str, HostResult] = field(default_factory=dict)
    complete: bool = False
    message: str = ""
    host_keys: frozenset[str] = frozenset()
    plays: tuple[str, ...] = ()
    done: frozenset[str] = frozenset()


def read_lines(progress: Progress, lines: Iterable[str], hidden: Iterable[str] = ()) -> Progress:
    """Return the progress after some lines of the log; `hidden` are the words that are shown to nobody."""
    hosts, keys = dict(progress.hosts), set(progress.host_keys)
    complete, message, plays = progress.complete, progress.message, list(progress.plays)
    done = set(progress.done)
    # The longest first: one secret may be a part of another.
    secrets = sorted({word for word in hidden if len(word) >= SHORTEST_SECRET}, key=len, reverse=True)
    for line in lines:
        event = _parse(line)
        if isinstance(summary := event.get("summary"), dict):
            hosts = _summarize(hosts, summary)
            complete = True
            message = _clean(event.get("message"), secrets)
        elif isinstance(met := event.get("hostKeys"), list):
            keys |= {line for line in met[:MOST_KEYS] if isinstance(line, str) and is_line(line)}
        elif "play" in event and (pattern := _clean(event.get("hosts"), secrets)) not in plays:
            plays.append(pattern)
        elif isinstance(host := event.get("host"), str) and str(event.get("status")) in _EVENTS:
            # What comes after the end of a host was read before, and perhaps not to that end.
            hosts[host] = hosts[host] if host in done else _follow(hosts.get(host), _result(host, event, secrets))
            done |= {host} if event["status"] == "done" else set()
    return replace(
        progress,
        hosts=hosts,
        complete=complete,
        message=message,
        host_keys=frozenset(keys),
        plays=tuple(plays),
        done=frozenset(done),
    )


def _result(host: str, event: Mapping[str, Any], secrets: Iterable[str]) -> HostResult:
    task, message = (_clean(event.get(name), secrets) for name in ("task", "message"))
    state = _EVENTS[event["status"]]
    # Only a failure has something to say.
    return HostResult(host=host, state=state, task=task, message=message if state in ("Failed", "Unreachable") else "")


def _follow(before: HostResult | None, event: HostResult) -> HostResult:
    """Return what is known of a host after an event; the end of a host does not say why it failed."""
    if event.state == "Ok" and before is not None and before.state in ("Failed", "Unreachable"):
        return before
    return event


def _summarize(hosts: Mapping[str, HostResult], summary: Mapping[str, Any]) -> dict[str, HostResult]:
    """Return how each host ended; task and message of a failure are those of its last event."""
    found = dict(hosts)
    for host, word in summary.items():
        state = _SUMMARY.get(str(word), "Unknown")
        before = found.get(host, HostResult(host=host))
        failed = state != "Ok"
        found[host] = HostResult(
            host=host, state=state, task=before.task if failed else "", message=before.message if failed else ""
        )
    return found


def conclude(progress: Progress, names: Iterable[str], *, succeeded: bool) -> tuple[HostResult, ...]:
    """Return how a run ended that its Job says has ended; a host of which nothing is known was not finished.

    A Job that succeeded has applied everything, even if nobody has its log any more.
    """
    every = {name: HostResult(host=name) for name in names} | dict(progress.hosts)
    # A run that broke, or was given up, says why.
    if progress.complete and not progress.message:
        every |= {name: _explain_untouched(name, progress) for name in every if name not in progress.hosts}
    ended = []
    for name in sorted(every):
        result = every[name]
        if result.state in ("Running", "Unknown"):
            why = "" if succeeded else result.message or progress.message
            result = msgspec.structs.replace(result, state="Ok" if succeeded else "Unknown", message=why)
        ended.append(result)
    return tuple(ended)


def _explain_untouched(name: str, progress: Progress) -> HostResult:
    """Return that nothing ran on a host although the run came to its end, and what to do."""
    hosts = excerpts.keep_ends(", ".join(progress.plays), LONGEST_HOSTS, LONGEST_HOSTS // 2)
    plays = f" (hosts: {hosts})" if hosts else ""
    advice = f"write `hosts: all` or `hosts: {name}` into it, and exclude no hosts or tasks by cmdLine"
    message = f"The playbook has no play with tasks for this node{plays}; {advice}"
    if any(host.state != "Ok" for host in progress.hosts.values()):
        # With `serial` or `any_errors_fatal` Ansible ends before it gets to everybody.
        message = f"{FAILED_BEFORE} {message}"
    return HostResult(host=name, state="Failed", message=message)


def secret_words(texts: Iterable[str]) -> frozenset[str]:
    """Return what of secret texts must not be shown: each text, its lines, values, passwords in URLs; in all forms."""
    found: set[str] = set()
    for text in texts:
        public = PUBLIC if _SECTION.search(text) else ()
        for line in (text, *text.splitlines()):
            found.add(line.strip())
            if (name := line.partition("=")[0].strip()).isidentifier() and name.endswith(public):
                continue
            for sign in ("=", ":"):
                found.add(line.partition(sign)[2].strip().strip("'\""))
        found |= {*_IN_URL.findall(text), *_values_of(text)}
    return frozenset(form for word in found if len(word) >= SHORTEST_SECRET for form in forms(word))


def _values_of(text: str) -> Iterator[str]:
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

    Escapes are those of JSON or of Python. The program that runs Ansible has the same forms.
    """
    yield secret
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1])
    yield quote(secret, safe="", errors="replace")
    for text in (secret, f"{secret}\n"):
        yield base64.b64encode(text.encode(errors="replace")).decode()


def _parse(line: str) -> dict[str, Any]:
    """Return what a line says; a line that is no event says nothing, even if it has a thousand brackets."""
    try:
        event = json.loads(line)
        if _HALF.search(line):
            # Nobody could write it into a status, and the run would never end.
            event = json.loads(json.dumps(event, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _clean(text: object, secrets: Iterable[str]) -> str:
    said = " ".join(str(text or "").split())
    for secret in secrets:
        said = said.replace(" ".join(secret.split()), HIDDEN)
    return excerpts.keep_ends(said, LONGEST, BEGINNING)
