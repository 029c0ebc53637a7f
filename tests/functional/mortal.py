"""A client whose nth write is its last: what an operator that is killed has written."""

import asyncio
from dataclasses import dataclass, field

from stackwright.kube.client import Client
from stackwright.kube.errors import Unreachable
from stackwright.kube.transport import Call, Reply


@dataclass
class Mortal:
    """A client whose nth write is its last: from then on nothing that it sends arrives."""

    client: Client
    left: int
    dead: asyncio.Event = field(default_factory=asyncio.Event)
    # The first write that did not arrive.
    cut: str = ""
    # What arrived before.
    written: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._request = self.client.transport.request
        self.client.transport.request = self.request  # type: ignore[method-assign]  # the wire is what is cut

    async def request(self, call: Call) -> Reply:
        if call.method == "GET" or "/events" in call.path:
            return await self._request(call)
        what = f"{call.method} {call.kind.name if call.kind else call.path}"
        if self.left == 0:
            self.cut = self.cut or what
            self.dead.set()
            raise Unreachable("killed")
        self.left -= 1
        self.written.append(what)
        return await self._request(call)
