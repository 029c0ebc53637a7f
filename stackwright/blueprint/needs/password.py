"""A password, or a key, that the user keeps in spec.secret, or in another Secret that the resource names."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stackwright.api import paths
from stackwright.blueprint.key_rings import KEY_BYTES
from stackwright.blueprint.needs.need import Need, Resolved, WantedPassword
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import has_value, read_value
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait

_CONDITION = "InputReady"
SELECTORS = "passwordSelectors"


@dataclass(frozen=True)
class Password(Need):
    """A password from spec.secret, under the key that spec.passwordSelectors has for `selector`.

    Where it is `fernet`, it is no password but a key by which the service encrypts, in Fernet's form. The facts have it
    as `passwords[selector]`.
    One of several that stand under a prefix is that of an `entry`: its key is what the selector has, followed by the
    entry, and the facts have it as `passwords["selector.entry"]`. Where the Secret has none for an entry, the password
    of the selector `instead` is used, if there is one:

    Each((Password,), lambda nova: (Password("prefixMetadataCellsSecret", entry=cell, instead="metadataSecret")
                                    for cell in nova.spec.cellTemplates))

    One whose key the user names outright is `named`; it is used beside that of the selector, and the facts have it as
    `passwords["selector.named"]`. `secret` is the field that names another Secret than spec.secret, where it says one.
    """

    selector: str
    fernet: bool = False
    entry: str = ""
    instead: str = ""
    named: str = ""
    secret: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", "passwords")
        behind = self.entry or self.named
        object.__setattr__(self, "key", f"{self.selector}.{behind}" if behind else self.selector)

    def passwords(self, resource: Any) -> Iterator[WantedPassword]:
        """Yield its key in the Secret, and that of what is used instead."""
        if self.named:
            # It is there for what was done with it: another one in its place would be of no use.
            return
        key, elsewhere = self._key_of(resource), self._elsewhere(resource)
        yield WantedPassword(key, self.fernet, optional=bool(self.instead), note=self.note, secret=elsewhere)
        if self.instead:
            yield WantedPassword(key_of(resource, self.instead), self.fernet, note=self.note)

    def _key_of(self, resource: Any) -> str:
        return self.named or key_of(resource, self.selector) + self.entry

    def _elsewhere(self, resource: Any) -> str:
        """Return the name of the Secret that has it; "" for spec.secret."""
        found = str(paths.find(resource.spec, self.secret) or "") if self.secret else ""
        return "" if found == resource.spec.secret else found

    @property
    def note(self) -> str:
        """Under which name the status tells of a key that the service encrypts with; "" for a password."""
        return f"key-{self.key}" if self.fernet else ""

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return the password, if it is there and can be one."""
        key = self._key_of(resource)
        if self.instead and not has_value(sight(Secret, resource.spec.secret), key):
            key = key_of(resource, self.instead)
        place = self._elsewhere(resource)
        found = read_password(resource, key, sight, place, self.secret)
        if not self.fernet or not found.ready or _is_fernet_key(found.fact):
            return found
        # What it says otherwise is shown to nobody.
        message = (
            f"what Secret {place or resource.spec.secret} has under {key} is not a Fernet key: 32 bytes in URL-safe"
            " base64; create one with: openssl rand -base64 32 | tr +/ -_"
        )
        return Resolved(ready=False, waits=(Wait("KeyInvalid", message, _CONDITION, ends=Ends.BY_USER),))


def key_of(resource: Any, selector: str) -> str:
    """Return the key of spec.secret for a selector."""
    return str(paths.find(resource.spec, f"{SELECTORS}.{selector}"))


def read_password(resource: Any, key: str, sight: Sight, place: str = "", field: str = "") -> Resolved:
    """Return what spec.secret has under a key, or the Secret `place`, which the field names."""
    name = place or resource.spec.secret
    secret = sight(Secret, name)
    if secret is None:
        said = f"spec.{field if place else 'secret'}"
        message = f"Secret {name}, which {said} names, does not exist; create it with the key {key}"
        return Resolved(ready=False, waits=(Wait("SecretMissing", message, _CONDITION, ends=Ends.BY_AUTHOR),))
    password = read_value(secret, name, key, _CONDITION)
    if isinstance(password, Wait):
        return Resolved(ready=False, waits=(password,))
    return Resolved(ready=True, fact=password)


def _is_fernet_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text.encode(), altchars=b"-_", validate=True)) == KEY_BYTES
    except ValueError:
        return False
