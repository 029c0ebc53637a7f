"""What stands in the log of a run: one JSON object a line, the last of which is the summary. Pure.

{"host": "compute-0", "status": "failed", "task": "Install packages", "message": "No space left on device"}
{"hostKeys": ["192.0.2.10 ssh-ed25519 AAAA…"]}
{"summary": {"compute-0": "failed", "compute-1": "ok"}}

The keys are those of machines that SSH met for the first time.

A run that broke before it got to its machines has an empty summary, with a message.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from stackwright.api.ansibleee import HostResult, HostState
from stackwright.blueprint.dataplane.host_keys import is_line

# A message of Ansible may be a whole log; its beginning says what it is about.
LONGEST = 400
# What is shorter is no secret, or cannot be told from other words.
SHORTEST_SECRET = 6
HIDDEN = "(hidden)"
# How many keys of machines are taken from one line.
MOST_KEYS = 1000

# The password in a URL.
_IN_URL = re.compile(r"://[^\s:/@]*:([^\s@]+)@")

_EVENTS: Mapping[str, HostState] = {"ok": "Running", "failed": "Failed", "unreachable": "Unreachable", "done": "Ok"}
_SUMMARY: Mapping[str, HostState] = {"ok": "Ok", "failed": "Failed", "unreachable": "Unreachable"}


@dataclass(frozen=True)
class Progress:
    """How a run goes, by host; `complete` once its summary is there. Lines that are read twice change nothing."""

    hosts: Mapping[str, HostResult] = field(default_factory=dict)
    complete: bool = False
    message: str = ""
    host_keys: frozenset[str] = frozenset()


def read_lines(progress: Progress, lines: Iterable[str], hidden: Iterable[str] = ()) -> Progress:
    """Return the progress after some lines of the log; `hidden` are the words that are shown to nobody."""
    hosts, keys = dict(progress.hosts), set(progress.host_keys)
    complete, message = progress.complete, progress.message
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
        elif isinstance(host := event.get("host"), str) and event.get("status") in _EVENTS:
            hosts[host] = _follow(hosts.get(host), _result(host, event, secrets))
    return replace(progress, hosts=hosts, complete=complete, message=message, host_keys=frozenset(keys))


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
    ended = []
    for name in sorted(every):
        result = every[name]
        if result.state in ("Running", "Unknown"):
            why = "" if succeeded else result.message or progress.message
            result = msgspec.structs.replace(result, state="Ok" if succeeded else "Unknown", message=why)
        ended.append(result)
    return tuple(ended)


def secret_words(texts: Iterable[str]) -> frozenset[str]:
    """Return what of secret texts must not be shown: each text, its lines, values of settings, passwords in URLs."""
    found: set[str] = set()
    for text in texts:
        for line in (text, *text.splitlines()):
            found.add(line.strip())
            for sign in ("=", ":"):
                found.add(line.partition(sign)[2].strip().strip("'\""))
        found |= set(_IN_URL.findall(text))
    return frozenset(word for word in found if len(word) >= SHORTEST_SECRET)


def _parse(line: str) -> dict[str, Any]:
    """Return what a line says; a line that is no event says nothing."""
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _clean(text: object, secrets: Iterable[str]) -> str:
    said = " ".join(str(text or "").split())
    for secret in secrets:
        said = said.replace(" ".join(secret.split()), HIDDEN)
    return said if len(said) <= LONGEST else said[:LONGEST] + "…"
