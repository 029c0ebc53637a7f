"""Names in a user's snippet that stand for what only the operator knows, as upstream writes them. Pure.

swift_store_auth_address = {{ .KeystoneInternalURL }}
"""

import re
from collections.abc import Iterator

from stackwright.blueprint.needs.login import IdentityFacts

# The field of a service's login that each name stands for.
NAMES = {
    "KeystoneInternalURL": "url",
    "KeystonePublicURL": "public_url",
    "ServicePassword": "password",
    "ServiceUser": "user",
}
_PLACEHOLDER = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}")


def fill(text: str, login: IdentityFacts) -> str:
    """Return a snippet with what its names stand for."""

    def value(found: re.Match[str]) -> str:
        field = NAMES.get(found[1].removeprefix("."), "")
        return str(getattr(login, field)) if field else found[0]

    return _PLACEHOLDER.sub(value, text)


def problems(path: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield what stands in braces in a snippet and cannot be filled in."""
    for said in _PLACEHOLDER.findall(text):
        if not said.startswith(".") or said.removeprefix(".") not in NAMES:
            known = ", ".join(f".{name}" for name in NAMES)
            yield path, f"{{{{ {said} }}}} is not known here; write the value itself, or one of {known}"
