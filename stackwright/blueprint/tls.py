"""Where a resource switches TLS on, which no service here speaks yet: one check for all kinds. Pure.

TLS that is switched off says nothing: every resource that was exported from an upstream cloud without TLS has the
fields, with nothing in them.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from stackwright.blueprint.refusal import Problem

TLS = "tls"
# The fields below `tls` that switch something on: certificates, authorities, and switches proper. The others only say
# how: lifetimes, issuers.
SWITCHES = frozenset(
    {"enabled", "secretName", "caBundleSecretName", "caSecretName", "disableNonTLSListeners", "sslVerifyMode"}
)
# Switches that stand outside of `tls`.
ALONE = frozenset({"requireTLS", "disableNonTLSListeners"})
# How a user says that clients need no certificate.
NONE = "None"


def problems(spec: object) -> Iterator[Problem]:
    """Yield the path of every field of a spec that switches TLS on, with a sentence that says how to switch it off."""
    for path, value in _switched_on("spec", spec, below=False):
        yield path, f"TLS is not supported yet; {'set it to false' if value is True else 'leave it out'}"


def _switched_on(path: str, value: Any, *, below: bool) -> Iterator[tuple[str, Any]]:
    """Yield the switches in a value and what they say; `below` says that the value stands below a field `tls`."""
    match value:
        case msgspec.Struct():
            entries = {name: getattr(value, name) for name in value.__struct_fields__}
        case dict():
            entries = value
        case _:
            return
    if entries.get("enabled") is False:
        # A section that is disabled is not deployed, and a part of TLS that is disabled needs none of its fields.
        return
    for name, entry in entries.items():
        at = f"{path}.{name}" if isinstance(value, msgspec.Struct) or below else f"{path}[{name}]"
        if (name in ALONE or (below and name in SWITCHES)) and entry and entry != NONE:
            yield at, entry
        elif isinstance(value, msgspec.Struct) or below or isinstance(entry, msgspec.Struct):
            # What a map of free form has is not ours to read, unless it stands for TLS.
            yield from _switched_on(at, entry, below=below or name == TLS)
