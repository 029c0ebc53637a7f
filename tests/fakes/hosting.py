"""Hosts fakes of one kind in one process: each has a port and a state of its own, and costs no process of its own.

It reads a line for each wish, and answers with a port: a JSON list has the arguments of a new fake, a number is the
port of one that shall end. It ends with whoever started it.
"""

import asyncio
import json
import sys
from collections.abc import Callable

from aiohttp import web


async def host(make: Callable[..., web.Application]) -> None:
    """Start and end fakes until nobody asks any more."""
    reader, runners = asyncio.StreamReader(), dict[int, web.AppRunner]()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        match json.loads(line):
            case int(port):
                await runners.pop(port).cleanup()
            case arguments:
                # Whoever ends it does not wait for those who are connected.
                runner = web.AppRunner(make(*arguments), shutdown_timeout=0)
                await runner.setup()
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                port = runner.addresses[0][1]
                runners[port] = runner
        print(port, flush=True)  # noqa: T201  how it tells who asked
