"""The supervisor on small real programs: it starts what is needed first, starts again what ended, and tells."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from stackwright.local.cluster import node
from stackwright.local.cluster.layout import Layout, ProcessKey, ProgramState
from stackwright.local.cluster.preparation import ClusterProgram
from stackwright.local.cluster.supervisor import Supervisor, pause
from stackwright.local.running import Launch

PATIENCE = 20.0


@pytest.mark.parametrize(
    ("ends", "seconds"),
    [
        pytest.param(1, 0.1, id="the-first-end-costs-nearly-nothing"),
        pytest.param(2, 0.2, id="the-second-twice-that"),
        pytest.param(100, 30.0, id="never-more-than-half-a-minute"),
    ],
)
def test_the_pause_grows_with_every_end(ends: int, seconds: float) -> None:
    assert pause(ends) == pytest.approx(seconds)


def program(
    place: Layout, name: str, *command: str, needs: tuple[str, ...] = (), ready: asyncio.Event | None = None
) -> ClusterProgram:
    async def question() -> bool:
        return ready is None or ready.is_set()

    return ClusterProgram(Launch(name, list(command), place.directory / f"{name}.log", question), needs)


@contextlib.asynccontextmanager
async def running(place: Layout, *programs: ClusterProgram) -> AsyncIterator[None]:
    supervisor = Supervisor(place, programs, ProcessKey(os.getpid(), 0))
    task = asyncio.create_task(supervisor.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        asyncio.get_running_loop().remove_signal_handler(signal.SIGCHLD)
        await supervisor.stop(lambda: ())


async def told(place: Layout, question: Callable[[dict[str, ProgramState]], bool]) -> dict[str, ProgramState]:
    """Wait until the state file says something."""
    async with asyncio.timeout(PATIENCE):
        while True:
            state = place.read_state()
            programs = {one.name: one for one in state.programs} if state else {}
            if programs and question(programs):
                return programs
            await asyncio.sleep(0.02)


async def logged(log: Path, text: str) -> None:
    """Wait until a program has said this, and nothing else: it is ready before it has said anything."""
    async with asyncio.timeout(PATIENCE):
        while await asyncio.to_thread(log.read_text) != text:
            await asyncio.sleep(0.02)


async def test_a_program_waits_for_what_it_needs(tmp_path: Path) -> None:
    place, sign = Layout(tmp_path), asyncio.Event()
    first = program(place, "first", "sleep", "60", ready=sign)
    second = program(place, "second", "sleep", "60", needs=("first",))
    async with running(place, first, second):
        found = await told(place, lambda programs: programs["first"].state == "starting")
        assert found["second"].state == "waiting"
        assert found["second"].pid == 0
        sign.set()
        await told(place, lambda programs: programs["second"].state == "ready")


async def test_a_program_that_is_killed_is_started_again(tmp_path: Path) -> None:
    place = Layout(tmp_path)
    async with running(place, program(place, "one", "sleep", "60")):
        before = (await told(place, lambda programs: programs["one"].state == "ready"))["one"]
        os.kill(before.pid, signal.SIGKILL)
        after = (await told(place, lambda programs: programs["one"].pid not in (0, before.pid)))["one"]
        assert after.restarts == 1
        assert "one was killed by SIGKILL" in after.trouble


async def test_a_program_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    place = Layout(tmp_path)
    async with running(place, program(place, "one", "/nowhere/program")):
        found = await told(place, lambda programs: programs["one"].restarts > 1)
        assert "one cannot be started" in found["one"].trouble


async def test_a_large_log_begins_anew(tmp_path: Path) -> None:
    place = Layout(tmp_path)
    with (tmp_path / "one.log").open("wb") as log:
        log.truncate(65 << 20)
    async with running(place, program(place, "one", "sh", "-c", "echo fresh; sleep 60")):
        await told(place, lambda programs: programs["one"].state == "ready")
        await logged(tmp_path / "one.log", "fresh\n")
    assert (tmp_path / "one.log.1").stat().st_size == 65 << 20


async def test_a_state_that_cannot_be_written_ends_nothing_and_is_told_later(tmp_path: Path) -> None:
    place = Layout(tmp_path)
    async with running(place, program(place, "one", "sh", "-c", "echo up; exec sleep 60")):
        before = (await told(place, lambda programs: programs["one"].state == "ready"))["one"]
        await logged(tmp_path / "one.log", "up\n")
        # As on a full disk: the file cannot be made.
        (tmp_path / "state.new").mkdir()
        os.kill(before.pid, signal.SIGKILL)
        await logged(tmp_path / "one.log", "up\nup\n")
        (tmp_path / "state.new").rmdir()
        after = (await told(place, lambda programs: programs["one"].restarts == 1))["one"]
        assert "one was killed by SIGKILL" in after.trouble


async def test_a_bug_of_ours_ends_the_programs_in_order(tmp_path: Path) -> None:
    place = Layout(tmp_path)

    async def broken() -> bool:
        if (tmp_path / "one.log").read_text():
            raise ValueError("a bug")
        return False

    # It says when it is asked to end, which nobody can who is killed.
    command = ["sh", "-c", 'trap "echo asked; exit" TERM; echo up; while :; do sleep 0.1; done']
    wanted = ClusterProgram(Launch("one", command, place.directory / "one.log", broken))
    with pytest.raises(ExceptionGroup):
        await node._run(Supervisor(place, [wanted], ProcessKey(os.getpid(), 0)))
    for number in (signal.SIGCHLD, signal.SIGTERM):
        asyncio.get_running_loop().remove_signal_handler(number)
    assert "asked" in (tmp_path / "one.log").read_text()


async def test_a_program_has_the_environment_that_it_is_given(tmp_path: Path) -> None:
    place = Layout(tmp_path)

    async def well() -> bool:
        return (tmp_path / "one.log").read_text() == "given\n"

    command = ["/bin/sh", "-c", "echo $WORD; exec /bin/sleep 60"]
    launch = Launch("one", command, place.directory / "one.log", well, {"WORD": "given"})
    async with running(place, ClusterProgram(launch)):
        await told(place, lambda programs: programs["one"].state == "ready")
