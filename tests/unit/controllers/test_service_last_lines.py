"""A container that ends without a word in its pod's status is quoted from its log."""

from typing import Any

import pytest

from stackwright.controllers.service import last_lines, pods
from stackwright.kube.builtin import Pod
from stackwright.kube.resource import ObjectMeta


def crashing(*, message: str = "", ready: bool = False, code: int = 1) -> Pod:
    ended: dict[str, Any] = {"exitCode": code, **({"message": message} if message else {})}
    status = {
        "name": "server",
        "ready": ready,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": ended},
    }
    return Pod(metadata=ObjectMeta(name="db-0", namespace="openstack", uid="u"), status={"containerStatuses": [status]})


@pytest.mark.parametrize(
    ("pod", "names"),
    [
        pytest.param(crashing(), ["server"], id="it-left-no-word"),
        pytest.param(crashing(message="no disk"), [], id="it-left-one"),
        pytest.param(crashing(ready=True), [], id="it-is-back"),
        pytest.param(crashing(code=0), [], id="it-ended-well"),
        pytest.param(Pod(), [], id="it-never-ran"),
    ],
)
def test_only_the_log_of_a_silent_crash_is_read(pod: Pod, names: list[str]) -> None:
    assert list(last_lines.silent(pod)) == names


def test_the_line_stands_where_the_container_might_have_left_it() -> None:
    pod = crashing()
    said = last_lines.with_lines(pod, {("u", "server"): "unknown variable 'foo=1'"})
    assert "container server ends with code 1: unknown variable 'foo=1'; see kubectl logs" in pods.trouble([said])
    assert last_lines.with_lines(pod, {("another", "server"): "x"}) is pod


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("one\ntwo\n\n", "two", id="the-last-one"),
        pytest.param(
            "2026-11-16  8:35:08 0 [ERROR] mariadbd: unknown variable 'foo=1'\nStopped\n",
            "[ERROR] mariadbd: unknown variable 'foo=1'",
            id="the-one-that-tells-without-its-time",
        ),
        pytest.param(
            "2026-11-16 08:25:45.500440+00:00 [error] <0.153.0> ERROR: epmd error for host x\nCrash dump is written\n",
            "[error] <0.153.0> ERROR: epmd error for host x",
            id="of-a-broker",
        ),
    ],
)
def test_the_line_that_tells_most_is_quoted(text: str, line: str) -> None:
    assert last_lines.telling(text) == line
