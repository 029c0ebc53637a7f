"""What the controllers of identity work with: one client for each Keystone, shared by all resources of both kinds."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from stackwright.adapters.errors import Unavailable
from stackwright.adapters.identity import Keystone, Session
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.identity.access import Access
from stackwright.controllers.identity.passwords import Passwords
from stackwright.controllers.looking import Interests, Looker
from stackwright.kube.controller import Context
from stackwright.kube.errors import Retry
from stackwright.kube.plan import Step
from stackwright.kube.resource import CustomResource, Key

C = TypeVar("C", bound=CustomResource)


class Keystones:
    """A client for each KeystoneAPI; another password or URL makes another client."""

    def __init__(self, dialler: Dialler, *, remembered: float) -> None:
        self._dialler = dialler
        self._remembered = remembered
        self._clients: dict[Key, tuple[Access, Keystone]] = {}

    def client(self, access: Access) -> Keystone:
        """Return the way to a Keystone, which keeps its token and remembers answers for a while."""
        key = Key(access.namespace, access.name)
        known, client = self._clients.get(key, (None, None))
        if client is None or known is None or (known.url, known.credentials) != (access.url, access.credentials):
            session = Session(access.url, access.credentials, dial=self._dial, remembered=self._remembered)
            client = Keystone(session)
            self._clients[key] = (access, client)
        return client

    async def _dial(self, hostname: str) -> str:
        try:
            return await self._dialler.address(hostname)
        except Retry as error:
            raise Unavailable(str(error)) from error


@dataclass(frozen=True)
class World:
    """All of it, for one pass."""

    context: Context
    interests: Interests
    keystones: Keystones
    passwords: Passwords

    def looker(self, resource: CustomResource) -> Looker:
        """Return what a pass over a resource looks with; ask it for everything before the first await."""
        return self.interests.begin(resource, self.context)

    def tell(self, step: "KeystoneStep") -> None:
        """Tell people what was done, where they would wonder."""
        if step.told:
            self.context.events.event(step.about, "Normal", step.reason, step.message)


@dataclass(frozen=True)
class KeystoneStep(Step):
    """Something to do in a Keystone, for a resource; with `told` people hear of it by an event."""

    access: Access
    about: CustomResource = field(repr=False)
    told: bool = field(default=False, kw_only=True)


def passwords(*, every: float, clock: Callable[[], float] = time.monotonic) -> Passwords:
    """Return a memory of passwords that asks again with the pace of the passes."""
    return Passwords(seldom=every / 2, often=every / 4, clock=clock)
