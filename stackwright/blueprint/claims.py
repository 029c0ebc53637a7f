"""A thing that a resource makes, as a value: two resources that claim the same thing collide."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from stackwright.api.base import Resource

ANOTHER_NAME = "give this resource another name"
NAME = "metadata.name"


@dataclass(frozen=True)
class Claim:
    """One thing that a resource makes: what `sort` of thing, where, and by which name.

    `path` is the field that names it, and `advice` what to do where it is another's. `terms`, where given, are how it
    is made: those who make it by the same terms share it. `of` is the kind of a thing that is an object of the
    namespace; one that is `owned` goes with the resource, so it cannot be one that a user made. One that is `innate` is
    a part of what its maker is: whoever else claims it comes second, however old. One that is `everywhere` is on
    machines, so that resources of other namespaces collide with it too; `nodes` are the labels of these machines.
    """

    sort: str
    name: str
    scope: str = ""
    path: str = field(default=NAME, compare=False)
    advice: str = field(default=ANOTHER_NAME, compare=False)
    terms: tuple[str, ...] = field(default=(), compare=False)
    of: type[Resource] | None = field(default=None, compare=False)
    owned: bool = field(default=False, compare=False)
    innate: bool = field(default=False, compare=False)
    everywhere: bool = field(default=False, compare=False)
    nodes: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __hash__(self) -> int:
        # The claims of a whole namespace are compared in every pass; a hash of all fields takes three times as long.
        return hash(self.name)

    def __str__(self) -> str:
        return " ".join(word for word in (self.sort, self.name, f"of {self.scope}" if self.scope else "") if word)

    def meets(self, other: "Claim") -> bool:
        """Return whether two resources that make these would make the same thing, each in its own way."""
        alike = self == other and not (self.terms and self.terms == other.terms)
        return alike and may_share_node(self.nodes, other.nodes)


class Claims(tuple[Claim, ...]):  # noqa: SLOT001  the names are kept on it
    """All that a resource claims."""

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the things: without one in common no two resources collide, and most of them have none."""
        return frozenset(claim.name for claim in self)


def may_share_node(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether a node can have the labels of two selectors: if no label would need two values."""
    return all(other.get(label, value) == value for label, value in one.items())


def claim_object(
    of: type[Resource], name: str, path: str = NAME, advice: str = ANOTHER_NAME, *, owned: bool = False
) -> Claim:
    """Return the claim on an object of the namespace."""
    return Claim(of.kind.name, name, path=path, advice=advice, of=of, owned=owned)
