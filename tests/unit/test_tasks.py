"""Tasks that have an owner."""

import asyncio
import gc
from typing import Any

import pytest

from stackwright import tasks


@pytest.fixture
def shouts() -> Any:
    """What asyncio says of tasks that nobody asked."""
    found: list[str] = []
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _, context: found.append(context["message"]))
    yield loop, found
    loop.close()


async def failing() -> None:
    await asyncio.sleep(0)
    raise RuntimeError("on purpose")


def test_a_failure_that_nobody_waits_for_any_more_is_not_shouted(shouts: Any) -> None:
    loop, found = shouts

    async def give_up() -> None:
        shared = tasks.Shared[str, None]()

        async def stubborn() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await failing()

        waiting = asyncio.create_task(shared.once("a", stubborn))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait((waiting,))
        tasks.start(failing())
        await asyncio.sleep(0.01)

    loop.run_until_complete(give_up())
    gc.collect()
    assert found == []

    async def careless() -> None:
        # So that the fixture is known to hear it.
        asyncio.create_task(failing())  # noqa: RUF006  on purpose: nobody owns it
        await asyncio.sleep(0.01)

    loop.run_until_complete(careless())
    gc.collect()
    assert found == ["Task exception was never retrieved"]


async def test_work_is_done_once_and_goes_on_while_one_waits() -> None:
    shared, go, runs = tasks.Shared[str, int](), asyncio.Event(), 0

    async def work() -> int:
        nonlocal runs
        runs += 1
        await go.wait()
        return runs

    impatient, patient = (asyncio.create_task(shared.once("a", work)) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.wait((impatient,))
    go.set()
    assert await patient == 1
    assert await shared.once("a", work) == 2


async def test_work_ends_when_the_last_one_gives_up_and_begins_anew_for_the_next() -> None:
    shared, ended = tasks.Shared[str, int](), asyncio.Event()

    async def endless() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    async def quick() -> int:
        return 7

    waiting = [asyncio.create_task(shared.once("a", endless)) for _ in range(2)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    assert ended.is_set()
    assert await shared.once("a", quick) == 7


async def test_everyone_who_waits_gets_the_failure() -> None:
    shared = tasks.Shared[str, None]()
    found = await asyncio.gather(*(shared.once("a", failing) for _ in range(3)), return_exceptions=True)
    assert [str(error) for error in found] == ["on purpose"] * 3


async def test_what_is_done_together_ends_together() -> None:
    ended: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            # It has to be waited for, not only cancelled: whoever called may close what it uses.
            await asyncio.sleep(0.01)
            ended.append("slow")

    with pytest.raises(RuntimeError, match="on purpose"):
        await tasks.together(slow(), failing())
    assert ended == ["slow"]

    waiting = tasks.start(tasks.together(slow(), slow()))
    await asyncio.sleep(0.01)
    await tasks.end(waiting)
    assert ended == ["slow"] * 3


async def test_what_is_done_together_returns_in_order() -> None:
    async def number(value: int, turns: int) -> int:
        for _ in range(turns):
            await asyncio.sleep(0)
        return value

    assert await tasks.together(number(1, 3), number(2, 0), number(3, 1)) == [1, 2, 3]


async def test_each_is_done_to_its_own_end() -> None:
    async def late() -> str:
        await asyncio.sleep(0.01)
        return "done"

    failed, done = await tasks.outcomes(failing(), late())
    assert isinstance(failed, RuntimeError)
    assert done == "done"
