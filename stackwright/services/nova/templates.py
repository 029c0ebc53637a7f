"""From what a parent says of a service to the service's own spec: what is left out, the parent says."""

from typing import Any, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def spec_of(spec: type[S], template: msgspec.Struct, parent: Any, **said: Any) -> S:
    """Return the spec of a service: what its template says, what is the same for all services, and what is `said`."""
    fields = set(spec.__struct_fields__)
    known = {name: value for name, value in msgspec.structs.asdict(template).items() if name in fields}
    for name in ("nodeSelector", "topologyRef"):
        # An empty map of labels is not an absent one: it selects any node.
        if known.get(name) is None:
            known[name] = getattr(parent, name)
    return spec(**{**known, **{name: value for name, value in said.items() if name in fields}})
