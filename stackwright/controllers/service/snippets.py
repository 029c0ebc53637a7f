"""Snippets of configuration that a user keeps in Secrets, read as those in a resource are. Pure."""

from collections.abc import Iterable

from stackwright.blueprint import ini, options
from stackwright.blueprint.option_types import Options
from stackwright.blueprint.service import Look
from stackwright.controllers.outside import text_of
from stackwright.controllers.service.resolved import Resolved
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait

_CONDITION = "InputReady"


def resolve(names: Iterable[str], look: Look) -> Resolved:
    """Return the content of some Secrets by name and key, or what is missing or broken in them."""
    found: dict[str, dict[str, str]] = {}
    waits: list[Wait] = []
    for name in names:
        secret = look(Secret, name)
        if secret is None:
            message = f"Secret {name}, which customServiceConfigSecrets names, does not exist; create it"
            waits.append(Wait("SecretMissing", message, _CONDITION, ends=Ends.BY_USER))
            continue
        read = {key: _read(secret, key) for key in secret.data}
        found[name] = {key: text for key, text in read.items() if isinstance(text, str)}
        waits.extend(text for text in read.values() if isinstance(text, Wait))
    return Resolved(ready=not waits, fact=found, waits=tuple(waits))


def problems(names: Iterable[str], known: Options, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the key of every Secret that sets an option to what the service would refuse, and what it takes."""
    for secret in filter(None, (look(Secret, name) for name in names)):
        for key in sorted(secret.data):
            for finding in options.check(known, text_of(secret, key) or ""):
                if finding.refused:
                    yield f"Secret {secret.metadata.name}, key {key}", finding.sentence


def _read(secret: Secret, key: str) -> str | Wait:
    text, place = text_of(secret, key), f"Secret {secret.metadata.name}, key {key}"
    if text is None:
        return Wait("SecretInvalid", f"{place}: the value is no text; correct it", _CONDITION, ends=Ends.BY_USER)
    parsed = ini.parse(text)
    if isinstance(parsed, ini.Problem):
        # The line itself may be a secret.
        return Wait(
            "SecretInvalid", f"{place}: line {parsed.line} cannot be read; correct it", _CONDITION, ends=Ends.BY_USER
        )
    return text
