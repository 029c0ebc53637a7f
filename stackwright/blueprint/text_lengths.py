"""How long the texts may be that a user writes for a service's configuration Secret. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from stackwright.api.base import CustomResource
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.blueprint import structs

# How many bytes Kubernetes takes in a Secret.
SECRET = 1024 * 1024
# How many of them are for the texts in a service's resource. What we write beside them needs room too, and a text that
# several components read is in the Secret once for each of them.
LONGEST = SECRET // 2


def problems(resource: CustomResource, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the longest text of each service whose texts, in fields of these names, are too long together."""
    spec = getattr(resource, "spec", None)
    names = frozenset(names)
    for path, value in _services(resource, spec):
        sizes = {place: size(text) for place, text in _texts(path, value, names)}
        total = sum(sizes.values())
        if total > LONGEST:
            longest = max(sizes, key=lambda place: sizes[place])
            own = sizes[longest]
            together = f"is the longest of its service's texts, which have {total} bytes together"
            said = f"has {own} bytes" if own == total else f"has {own} bytes and {together}"
            yield longest, f"{said}; {LONGEST} are allowed, because they are kept in Secrets: shorten it"


def describe_overfull(name: str, content: Mapping[str, str]) -> str:
    """Return why Kubernetes would refuse a Secret with these texts, and what to do; "" if it would not."""
    sizes = {key: size(text) for key, text in content.items()}
    total = sum(sizes.values())
    if total <= SECRET:
        return ""
    longest = max(sizes, key=lambda key: sizes[key])
    return (
        f"Secret {name} would have {total} bytes, and Kubernetes takes {SECRET}. Its longest file is {longest}, with "
        f"{sizes[longest]} bytes: shorten the field, or the Secret of yours, that it comes from"
    )


def size(text: str) -> int:
    """Return how many bytes a text has in a Secret."""
    return len(text.encode())


def _services(resource: CustomResource, spec: object) -> Iterator[tuple[str, object]]:
    """Yield what belongs to one service: a resource's spec, or a section of the umbrella's."""
    if not isinstance(resource, OpenStackControlPlane):
        yield "spec", spec
        return
    for name, encoded in zip(resource.spec.__struct_fields__, resource.spec.__struct_encode_fields__, strict=True):
        yield f"spec.{encoded}", getattr(resource.spec, name)


def _texts(path: str, value: object, names: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the texts of a value that become files, as deep as it goes: a field, or each entry of a map of files."""
    for at, struct in structs.structured(path, value):
        for name in names.intersection(struct.__struct_fields__):
            said = getattr(struct, name)
            entries = said.items() if isinstance(said, dict) else ()
            yield from ((f"{at}.{name}[{key}]", text) for key, text in entries if isinstance(text, str))
            if isinstance(said, str):
                yield f"{at}.{name}", said
