"""Snippets of configuration that a user keeps in Secrets, read as those in a resource are."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from stackwright.blueprint import ini
from stackwright.blueprint.needs.need import Need, Resolved
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import text_of
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait

_CONDITION = "InputReady"


@dataclass(frozen=True)
class Snippets(Need):
    """Configuration that the user keeps in Secrets; `secrets` names those that a resource reads.

    The fact is their content, by Secret and key.
    """

    secrets: Callable[[Any], Iterable[str]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", "snippets")

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return the content of the Secrets by name and key, or what is missing or broken in them."""
        found: dict[str, dict[str, str]] = {}
        waits: list[Wait] = []
        for name in self.secrets(resource):
            secret = sight(Secret, name)
            if secret is None:
                message = f"Secret {name}, which customServiceConfigSecrets names, does not exist; create it"
                waits.append(Wait("SecretMissing", message, _CONDITION, ends=Ends.BY_USER))
                continue
            read = {key: _read(secret, key) for key in secret.data}
            found[name] = {key: text for key, text in read.items() if isinstance(text, str)}
            waits.extend(text for text in read.values() if isinstance(text, Wait))
        return Resolved(ready=not waits, fact=found, waits=tuple(waits))


def _read(secret: Secret, key: str) -> str | Wait:
    text, place = text_of(secret, key), f"Secret {secret.metadata.name}, key {key}"
    if text is None:
        return Wait("SecretInvalid", f"{place}: the value is not text; correct it", _CONDITION, ends=Ends.BY_USER)
    parsed = ini.parse(text)
    if isinstance(parsed, ini.Problem):
        # The line itself may be a secret.
        return Wait(
            "SecretInvalid", f"{place}: line {parsed.line} cannot be read; correct it", _CONDITION, ends=Ends.BY_USER
        )
    return text
