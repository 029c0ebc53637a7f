"""A helm that takes too long is ended, whatever it has printed."""

import asyncio
from pathlib import Path

from stackwright.adapters.helm import programs

# It goes on printing, and so its pipe is full at any moment.
TALKATIVE = "#!/bin/sh\nexec yes\n"
# Whether it hangs depends on the moment at which it is ended.
TIMES = 10


async def test_one_that_has_printed_more_than_a_pipe_holds_is_ended_too(tmp_path: Path) -> None:
    program = tmp_path / "helm"
    program.write_text(TALKATIVE)
    program.chmod(0o755)
    for _ in range(TIMES):
        task = asyncio.create_task(programs.run(program, (), {"PATH": "/usr/bin:/bin"}, deadline=60.0))
        await asyncio.sleep(0.05)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=10.0)
        assert [one.cancelled() for one in done] == [True]
