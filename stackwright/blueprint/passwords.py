"""Where new passwords and keys come from."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from stackwright.blueprint import key_rings


@dataclass(frozen=True)
class Source:
    """Draws the passwords and keys of one Secret from a source of random bytes."""

    random: Callable[[int], bytes] = field(repr=False)

    def password(self, length: int = 32) -> str:
        """Return a new password of letters, digits, dashes and underscores: it needs quoting nowhere."""
        return base64.urlsafe_b64encode(self.random(length)).decode().replace("=", "")[:length]

    def fernet_key(self) -> str:
        """Return a new key in Fernet's form."""
        return key_rings.new_key(self.random)


@dataclass(frozen=True)
class NewSecret:
    """A Secret to make once; `content` takes new passwords and keys from a source.

    `loss` is what to tell where it was there before. One that is `owned` goes with the resource;
    one that is `apart` is for others, and the service does not wait for it. `notes` are annotations that it gets.
    """

    name: str
    content: Callable[[Source], Mapping[str, str]]
    loss: str = ""
    owned: bool = False
    apart: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)
