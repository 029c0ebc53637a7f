"""The end of a log that cannot be read at once."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from stackwright.controllers.dataplane import runs
from stackwright.controllers.dataplane.run_logs import RunLogs
from stackwright.kube.errors import KubeError, NotFound, Unreachable
from tests.unit.controllers.dataplane.run_parts import Server, job, owned, run, waiting, world

BEGINNING = b'{"host": "one", "status": "ok", "task": "Do it"}\n{"host": "two", "status": "ok", "task": "Do it"}\n'
END = b'{"host": "two", "status": "failed", "task": "Do it"}\n{"summary": {"one": "ok", "two": "failed"}}\n'


class Source:
    """The log of a pod, as far as it was written, and why nobody gets it right now."""

    def __init__(self) -> None:
        self.text = BEGINNING
        self.trouble: KubeError | None = None

    async def read(self, *_: object) -> AsyncIterator[bytes]:
        yield self.text[:50]
        if self.trouble is not None:
            raise self.trouble
        yield self.text[50:]


def began(source: Source, ended: str = "") -> tuple[runs.World, Server]:
    """Return what a pass works with, over a run whose pod has ended, with its Job."""
    server = Server(
        job("a", ended=ended), waiting("Failed" if ended else "Running", "terminated" if ended else "running")
    )
    here: Any = world(server)
    return runs.World(here.context, here.interests, here.occupancy, RunLogs(source.read), "image"), server


async def test_a_node_that_does_not_answer_for_a_moment_takes_no_results_away() -> None:
    """They would all be applied again, and maxUnavailable would not count those that still serve."""
    source, mine = Source(), owned(run("a"))
    here, server = began(source)
    assert runs.conclude(mine, await runs.observe(mine, here)).jobStatus == "Running"
    server.objects = [job("a", ended="Failed"), waiting("Failed", "terminated")]
    source.text, source.trouble = BEGINNING + END, Unreachable("The node does not answer")
    seen = await runs.observe(mine, here)
    status = runs.conclude(mine, seen)
    assert (status.jobStatus, status.finishedAt) == ("Running", "")
    (wait,) = runs.decide(mine, seen).waits
    assert (wait.reason, wait.after) == ("Running", here.poll)
    source.trouble = None
    status = runs.conclude(mine, await runs.observe(mine, here))
    assert bool(status.finishedAt)
    assert [(host.host, host.state) for host in status.hosts] == [("one", "Ok"), ("two", "Failed")]


@pytest.mark.parametrize(
    ("trouble", "ended", "waited"),
    [
        pytest.param(Unreachable("The node does not answer"), "Failed", 31.0, id="the-node-does-not-come-back"),
        pytest.param(NotFound("no such pod"), "Failed", 0.0, id="the-pod-is-gone"),
        pytest.param(Unreachable("The node does not answer"), "Complete", 31.0, id="all-went-well-anyway"),
    ],
)
async def test_a_log_that_nobody_will_ever_read_is_not_waited_for(
    trouble: KubeError, ended: str, waited: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, mine = Source(), owned(run("a"))
    here, _ = began(source, ended)
    source.trouble = trouble
    seen = await runs.observe(mine, here)
    if waited:
        assert not seen.over
        for reading in here.logs.known.values():
            assert reading.missed is not None
            reading.missed -= waited
        seen = await runs.observe(mine, here)
    assert seen.over
    states = {host.state for host in runs.conclude(mine, seen).hosts}
    assert states == ({"Ok"} if ended == "Complete" else {"Unknown"})


async def test_the_log_of_a_run_that_succeeded_is_waited_for_too() -> None:
    """Else a machine's key would not be recorded, and a node for which there is no play would count as applied."""
    source, mine = Source(), owned(run("a"))
    key = "192.0.2.10 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA"
    here, _ = began(source, "Complete")
    source.text = f'{{"hostKeys": ["{key}"]}}\n{{"summary": {{"one": "ok"}}}}\n'.encode()
    source.trouble = Unreachable("The node does not answer")
    assert not (await runs.observe(mine, here)).over
    source.trouble = None
    status = runs.conclude(mine, await runs.observe(mine, here))
    assert status.hostKeys == (key,)
    assert [(host.host, host.state) for host in status.hosts] == [("one", "Ok"), ("two", "Failed")]
