"""What the controllers of identity work with: one client for each Keystone, shared by all resources of both kinds."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from stackwright.adapters.errors import Unavailable
from stackwright.adapters.identity import Keystone, Session
from stackwright.controllers import ownership
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.identity.access import Access
from stackwright.controllers.identity.ledger import Ledger
from stackwright.controllers.identity.marks import Made
from stackwright.controllers.identity.passwords import Passwords
from stackwright.controllers.identity.registration import together
from stackwright.controllers.looks import Interests, Looker
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked, Retry
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
        """Return the way to a Keystone, which keeps its token and remembers answers for a while.

        Raise Unavailable while Keystone does not have the administrator's password yet: a login would be refused, and
        count towards the lock of the account.
        """
        key = Key(access.namespace, access.name)
        known, client = self._clients.get(key, (None, None))
        same = known is not None and (known.url, known.credentials) == (access.url, access.credentials)
        if access.bootstrapping and not (same and client is not None and client.has_logged_in):
            # What was refused before bootstrap is tried again right after it.
            self._clients.pop(key, None)
            raise Unavailable(f"KeystoneAPI {access.name} does not have the password of {access.source} yet")
        if client is None or not same:
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
    """Keystone, the ledger and the events, for one pass."""

    context: Context
    interests: Interests
    keystones: Keystones
    passwords: Passwords
    ledger: Ledger

    def looker(self, resource: CustomResource) -> Looker:
        """Return what a pass over a resource looks with; ask it for everything before the first await."""
        return self.interests.begin(resource, self.context)

    def foreign(self, resource: CustomResource, conditions: Mapping[str, str]) -> Blocked | None:
        """Return why something in Keystone is another resource's, None where it is not; `conditions` are by fields."""
        return ownership.refusal(resource, self.context, conditions)

    async def note(self, step: "KeystoneStep") -> None:
        """Note what is about to be made, where the step makes something."""
        if step.noted is not None:
            await self.ledger.note(step.about, step.access.name, step.noted, cloud=step.access.cloud)

    def tell(self, step: "KeystoneStep") -> None:
        """Tell people what was done, where they would wonder."""
        if step.told:
            self.context.events.event(step.about, "Normal", step.reason, step.message)


@dataclass(frozen=True)
class KeystoneStep(Step):
    """Something to do in a Keystone, for a resource; with `told` an event reports it.

    `makes` is what there is after it and was not before. `noted`, where given, is what stands in the ledger as made
    for the resource before the step is taken.
    """

    access: Access
    about: CustomResource = field(repr=False)
    told: bool = field(default=False, kw_only=True)
    makes: Made | None = field(default=None, repr=False, kw_only=True)
    noted: tuple[Made, ...] | None = field(default=None, repr=False, kw_only=True)


@dataclass(frozen=True)
class Note(KeystoneStep):
    """Write only into the ledger: what has become of the things that were made."""


def noting(
    steps: Iterable[KeystoneStep],
    before: tuple[Made, ...],
    now: tuple[Made, ...],
    otherwise: Note,
    *,
    whole: bool,
    adopts: bool = False,
) -> tuple[KeystoneStep, ...]:
    """Return the steps so that what they make is noted first.

    `before` is what is noted, `now` what is there of it; where nothing is made, a difference is noted `otherwise`.
    A note that is not `whole` does not say the cloud. That is written before any mark that names the cloud: a mark
    whose cloud no note has is another's as soon as the KeystoneAPI has another uid. So there is a note, even an empty
    one, if the resource `adopts` something.
    """
    steps = tuple(steps)
    makes = [step.makes for step in steps if step.makes is not None]
    note = replace(otherwise, noted=together(now, makes))
    if makes:
        steps = tuple(step if step.makes is None else replace(step, noted=note.noted) for step in steps)
    if not whole and (now or adopts):
        return (note, *steps)
    return steps if makes or now == before else (*steps, note)


def passwords(*, every: float, clock: Callable[[], float] = time.monotonic) -> Passwords:
    """Return a memory of passwords that asks again with the pace of the passes."""
    return Passwords(seldom=every / 2, often=every / 4, clock=clock)
