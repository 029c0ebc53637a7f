"""Whether the values in a resource are in the range and of the form that their types ask for. Pure.

The server has asked most of it, by the schema; it is asked again because a resource may be older than its schema. What
no schema says is asked here alone: the form of a value (`bounds`), and what free-form parts become (`embedding`).
"""

from collections.abc import Iterator

import msgspec

from stackwright.blueprint import agreements, bounds, embedding, quantities, structs
from stackwright.blueprint.refusal import Problem


def problems(resource: object) -> Iterator[Problem]:
    """Yield the path of each value that is not allowed, and what to do about it."""
    spec = getattr(resource, "spec", None)
    found: dict[str, str] = {}
    for path, struct in structs.structured("spec", spec):
        found.update((f"{path}{at}", sentence) for at, sentence in _of_struct(struct))
    for field in (*structs.fields("spec", spec), *embedding.fields("spec", spec)):
        for at, sentence in (problem for marker in field.markers for problem in bounds.problems(marker, field.value)):
            # One sentence for each value is enough.
            found.setdefault(f"{field.path}{at}", sentence)
    for path, sentence in embedding.misfits("spec", spec):
        found.setdefault(path, sentence)
    yield from found.items()


def _of_struct(struct: msgspec.Struct) -> Iterator[Problem]:
    """Yield the fields that do not fit together, in a kind or in a template of the umbrella, by the path below."""
    names = set(struct.__struct_fields__)
    if names >= {"requests", "limits", "claims"}:
        yield from _of_requirements(struct)
    yield from agreements.problems(names, struct)


def _of_requirements(struct: msgspec.Struct) -> Iterator[Problem]:
    requests, limits, claims = (getattr(struct, name) for name in ("requests", "limits", "claims"))
    for at, sentence in quantities.requirement_problems(requests or {}, limits or {}):
        yield f".{at}", sentence
    if claims:
        yield ".claims", "is not supported yet: the pods have no resourceClaims that it could name; leave it out"
