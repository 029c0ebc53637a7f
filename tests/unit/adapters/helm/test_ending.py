"""A helm that takes too long is ended, whatever it has printed."""

import asyncio
import gc
import sys
import warnings
from pathlib import Path

import pytest

from stackwright.adapters.helm import programs

# It goes on printing, and so its pipe is full at any moment.
TALKATIVE = "#!/bin/sh\nexec yes\n"
PATH = {"PATH": "/usr/bin:/bin"}
# So much that nothing of this machine gets there before it is ended.
LARGE = programs.Bounds(memory=2**40, processor_seconds=600, seconds=60.0, printed=2**40)
# Whether it hangs depends on the moment at which it is ended.
TIMES = 10


async def test_one_that_has_printed_more_than_a_pipe_holds_is_ended_too(tmp_path: Path) -> None:
    program = tmp_path / "helm"
    program.write_text(TALKATIVE)
    program.chmod(0o755)
    for _ in range(TIMES):
        task = asyncio.create_task(programs.run(program, (), PATH, LARGE))
        await asyncio.sleep(0.05)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=10.0)
        assert [one.cancelled() for one in done] == [True]


def script(folder: Path, text: str) -> Path:
    program = folder / "helm"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


def is_alive(pid: str) -> bool:
    state = Path(f"/proc/{pid}/stat")
    # One that has ended and that nobody has waited for is there as Z.
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


async def test_one_that_prints_too_much_is_ended_at_once(tmp_path: Path) -> None:
    done = await programs.run(script(tmp_path, "exec yes"), (), PATH, programs.Bounds(printed=2**20))
    assert (done.exceeded, done.late, done.printed) == ("1 MiB of output", False, b"")


@pytest.mark.parametrize("times", [1, 2])
async def test_one_that_is_cancelled_at_its_start_leaves_nothing_behind(tmp_path: Path, times: int) -> None:
    program = script(tmp_path, "head -c 1000000 /dev/zero; sleep 600")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for turns in range(12):
            task = asyncio.create_task(programs.run(program, (), PATH, LARGE))
            for _ in range(times):
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
            done, _ = await asyncio.wait([task], timeout=10.0)
            assert [one.cancelled() for one in done] == [True]
        gc.collect()
    assert [str(one.message) for one in found] == []


async def test_one_that_complains_without_end_is_heard_at_both_ends(tmp_path: Path) -> None:
    program = script(tmp_path, "echo first >&2; head -c 5000000 /dev/zero | tr '\\0' x >&2; echo last >&2; exit 3")
    done = await programs.run(program, (), PATH, programs.Bounds(complained=1000))
    assert (done.code, len(done.complaint)) == (3, 1000)
    assert done.complaint.startswith("first\n")
    assert done.complaint.endswith("x" * 100 + "last\n")


async def test_one_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    program = script(tmp_path, f"sh -c 'echo $$ > {tmp_path}/child; sleep 600' & wait")
    done = await programs.run(program, (), PATH, programs.Bounds(seconds=0.5))
    assert (done.exceeded, done.late) == ("0.5 s", True)
    assert not is_alive((tmp_path / "child").read_text().strip())


async def test_one_that_keeps_the_processor_busy_is_ended_by_the_kernel(tmp_path: Path) -> None:
    bounds = programs.Bounds(processor_seconds=1, seconds=60.0)
    done = await programs.run(script(tmp_path, "while :; do :; done"), (), PATH, bounds)
    assert (done.code, done.late) == (-9, False)


async def test_one_gets_no_more_memory_and_no_larger_files_than_it_may(tmp_path: Path) -> None:
    code = "import sys; sys.stdin.read(); bytearray(10**9)"
    done = await programs.run(script(tmp_path, f'exec {sys.executable} -c "{code}"'), (), PATH, programs.Bounds())
    assert "MemoryError" in done.complaint
    large = script(tmp_path, f"cat; head -c 100000 /dev/zero > {tmp_path}/file")
    await programs.run(large, (), PATH, programs.Bounds(written=1000))
    assert (tmp_path / "file").stat().st_size == 1000


async def test_a_go_program_without_memory_is_told_from_one_that_fails(tmp_path: Path) -> None:
    said = "fatal error: out of memory allocating heap arena metadata"
    assert (await programs.run(script(tmp_path, f"echo {said} >&2; exit 2"), (), PATH, LARGE)).exceeded
    assert not (await programs.run(script(tmp_path, f"echo {said} >&2; exit 1"), (), PATH, LARGE)).exceeded
    assert not (await programs.run(script(tmp_path, "echo fatal error: else >&2; exit 2"), (), PATH, LARGE)).exceeded


async def test_only_so_many_run_at_once(tmp_path: Path) -> None:
    # Each notes how many others it sees beside itself.
    program = script(
        tmp_path, f"touch {tmp_path}/run-$$; ls {tmp_path} | grep -c run-; sleep 0.1; rm {tmp_path}/run-$$"
    )
    helm = programs.Helm(program, LARGE, at_once=2)
    done = await asyncio.gather(*(helm.run((), PATH) for _ in range(6)))
    assert max(int(one.printed) for one in done) <= 2
    assert [one.code for one in done] == [0] * 6


def test_a_long_complaint_is_cut() -> None:
    assert len(programs.complaint_of("Error: " + "x" * 100_000)) == programs.LONGEST_COMPLAINT + 1
