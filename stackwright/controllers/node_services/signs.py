"""Asks the API that knows whether a service is up. An answer serves all resources for a few seconds."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from stackwright.adapters.errors import AdapterError, Unavailable
from stackwright.adapters.identity import Credentials, OtherApi, Session
from stackwright.adapters.identity.session import Request
from stackwright.api.base import JsonObject
from stackwright.blueprint.dataplane.node_service import Call, Sign
from stackwright.blueprint.interfaces import INTERNAL
from stackwright.blueprint.look import Survey
from stackwright.blueprint.needs.login import IDENTITY
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import read_value
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.identity.access import BOOTSTRAP_READY
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import find
from stackwright.kube.errors import Retry
from stackwright.kube.plan import Wait


@dataclass(frozen=True)
class Address:
    """Where an API is, and how the administrator logs in to it.

    `shut` says why no new login is tried, while Keystone may not have the password yet.
    """

    url: str
    identity: str
    credentials: Credentials = field(repr=False)
    shut: str = field(default="", compare=False)


def is_served_here(of: str, sight: Sight) -> bool:
    """Return whether the namespace has a resource for an API of a type, ready or not. Pure."""
    return isinstance(sight.look, Survey) and any(True for _ in sight.look.of_kind(sight.providers[of].kind))


def find_address(of: str, sight: Sight) -> Address | str:
    """Return where an API of a type is asked, or why nobody can be asked yet. Pure."""
    server = sight.choose(of, "", lambda offer: bool(offer.urls))
    if server.offer is None:
        return f"No {server.kind} serves yet"
    identity = sight.choose(IDENTITY, "keystone", lambda offer: bool(offer.urls))
    if identity.offer is None:
        return f"No {identity.kind} serves yet"
    who = identity.offer.administrator
    password = read_value(sight(Secret, who["secret"]), who["secret"], who["key"], "")
    if isinstance(password, Wait):
        return password.message
    credentials = Credentials(who["username"], password, who["project"])
    keystone = sight(sight.providers[IDENTITY].kind, identity.name)
    bootstrap = find(keystone.status.conditions, BOOTSTRAP_READY) if keystone is not None else None
    shut = bootstrap is not None and bootstrap.status == "False"
    why = f"{identity} does not have the password of Secret {who['secret']}, key {who['key']} yet" if shut else ""
    return Address(server.offer.urls[INTERNAL], identity.offer.urls[INTERNAL], credentials, why)


@dataclass
class Signs:
    """The APIs that were asked, each with its last answers."""

    dialler: Dialler
    remembered: float = 4.0
    apis: dict[tuple[Address, str], OtherApi] = field(default_factory=dict)
    answers: dict[tuple[str, str], tuple[float, JsonObject]] = field(default_factory=dict)
    asking: dict[tuple[str, str], asyncio.Lock] = field(default_factory=dict)

    async def ask(self, address: Address, sign: Sign, path: str = "") -> JsonObject | str:
        """Return what the API says, at the path of the sign or at another one, or why it does not."""
        path = path or sign.path
        place = (address.url, path)
        async with self.asking.setdefault(place, asyncio.Lock()):
            at, answer = self.answers.get(place, (0.0, {}))
            if at and time.monotonic() < at + self.remembered:
                return answer
            fresh = await self.read(address, sign, path)
            if not isinstance(fresh, str):
                self.answers[place] = (time.monotonic(), fresh)
            return fresh

    async def read(
        self, address: Address, sign: Sign, path: str, query: Mapping[str, str] | None = None
    ) -> JsonObject | str:
        """Return what stands at a path now, or why it cannot be read."""
        try:
            return await self._api(address, sign).read(path, query)
        except AdapterError as error:
            return str(error)

    async def send(self, address: Address, sign: Sign, call: Call) -> None:
        """Change something; raise an AdapterError if that is refused."""
        await self._api(address, sign).ask(Request(call.method, call.path, body=call.body))

    def _api(self, address: Address, sign: Sign) -> OtherApi:
        """Return the way to an API; raise Unavailable while a login would be refused, and count towards a lock."""
        key = (address, sign.version)
        if address.shut and not (key in self.apis and self.apis[key].has_logged_in):
            # What was refused before bootstrap is tried again right after it.
            self.apis.pop(key, None)
            raise Unavailable(address.shut)
        if key not in self.apis:
            # Another password or address is another client; the one before is of no use any more.
            self.apis = {known: api for known, api in self.apis.items() if known[0].url != address.url}
            session = Session(address.identity, address.credentials, dial=self._dial)
            self.apis[key] = OtherApi(session, address.url, dial=self._dial, version=sign.version)
        return self.apis[key]

    async def _dial(self, hostname: str) -> str:
        try:
            return await self.dialler.address(hostname)
        except Retry as error:
            raise Unavailable(str(error)) from error
