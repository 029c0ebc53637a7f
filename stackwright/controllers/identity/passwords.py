"""Whether users can log in with the password of their Secret, asked as seldom as it can be.

A try that fails may count towards the lock of an account, and each try costs Keystone a slow hash. So a password is
tried when it is new to us, and the token of that try is kept: Keystone revokes it as soon as somebody changes the
password, so that from then on a cheap look at the token tells. A password that does not work is tried once in a while,
ever more seldom; that of a user that is not ours is tried with the longest pause from the beginning, because somebody
else may set it. One that would not be set in Keystone in any case is not tried again before it changes.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from stackwright.adapters.identity import Credentials, Keystone, Token, User
from stackwright.kube.resource import Key

# Seconds after which a password that does not work is tried again at the latest.
_LONGEST_PAUSE = 600.0


class PasswordState(Enum):
    """What is known of a password."""

    WORKS = "works"
    DIFFERS = "differs"
    # It was set by us and does not work all the same: to set it again would only revoke tokens again.
    FUTILE = "futile"
    UNKNOWN = "unknown"


@dataclass
class _Memory:
    digest: bytes
    token: Token | None = field(default=None, repr=False)
    at: float = 0.0
    pause: float = 0.0
    given: bool = False
    changed: str = ""


class Passwords:
    """What was found out, by the resource that names the password. None of it leaves the process."""

    def __init__(self, *, seldom: float, often: float, clock: Callable[[], float]) -> None:
        self._seldom = seldom
        self._often = often
        self._clock = clock
        # The digest tells a new password; with a key of this process alone it is of no use to anybody else.
        self._key = secrets.token_bytes(32)
        self._known: dict[Key, _Memory] = {}

    async def state(
        self, of: Key, keystone: Keystone, user: User, password: str, *, again: bool = True, ours: bool = True
    ) -> PasswordState:
        """Return whether the user can log in with the password.

        One that did not work is tried only if `again`, and most seldom if the user is not `ours`.
        """
        memory = self._memory(of, user.id, password)
        waited = self._clock() - memory.at
        if memory.token is not None and (waited < self._often or await keystone.is_good(memory.token)):
            memory.at = memory.at if waited < self._often else self._clock()
            return PasswordState.WORKS
        if memory.token is None and memory.at and (not again or waited < memory.pause):
            return _failed(memory)
        memory.token = await keystone.login(Credentials(user.name, password))
        memory.at = self._clock()
        if memory.token is None:
            memory.pause = min(2 * memory.pause or self._seldom, _LONGEST_PAUSE) if ours else _LONGEST_PAUSE
            return _failed(memory)
        memory.given, memory.pause = False, 0.0
        return PasswordState.WORKS

    def gave(self, of: Key, user_id: str, password: str, now: str) -> None:
        """Take note that the user got this password just now."""
        memory = self._memory(of, user_id, password)
        memory.token, memory.at, memory.pause, memory.given, memory.changed = None, 0.0, 0.0, True, now

    def changed(self, of: Key) -> str:
        """Return when the user last got a password, empty when not by this process."""
        memory = self._known.get(of)
        return memory.changed if memory is not None else ""

    def forget(self, of: Key) -> None:
        """Forget a resource that is gone."""
        self._known.pop(of, None)

    def _memory(self, of: Key, user_id: str, password: str) -> _Memory:
        digest = hmac.digest(self._key, f"{user_id}\0{password}".encode(), hashlib.sha256)
        memory = self._known.get(of)
        if memory is None or memory.digest != digest:
            memory = self._known[of] = _Memory(digest, changed=memory.changed if memory is not None else "")
        return memory


def _failed(memory: _Memory) -> PasswordState:
    return PasswordState.FUTILE if memory.given else PasswordState.DIFFERS
