"""Remembers which children the server refused, and does not send the same again before a while has passed.

The server refuses what does not fit the schema of a custom resource, however often it is asked; only another content,
or another state of the child, gets another answer. What a webhook refuses, or a Service whose port is taken, may depend
on other objects: that is tried again after growing pauses.
"""

from collections.abc import Container
from dataclasses import dataclass, field

from stackwright.kube.errors import ApiError, Retry
from stackwright.kube.resource import CustomResource, Key, Kind, Resource

# Which object of which parent.
Name = tuple[Key, Kind, Key]

# Seconds until something is sent again that was refused: at first, and at most. Somebody may install another schema.
FIRST_REST, LONGEST_REST = 0.5, 600.0
# How the server begins if it was not its own schema that refused.
_OF_OTHERS = ("admission webhook", "ValidatingAdmissionPolicy")


@dataclass(frozen=True)
class _Refusal:
    """What was refused, why, for how long it rests, and until when."""

    asked: str
    message: str
    reason: str
    rest: float
    until: float

    def error(self, now: float) -> Retry:
        """Return it as what stops a pass."""
        return Retry(self.message, reason=self.reason, after=max(0.0, self.until - now))


@dataclass
class Refusals:
    """What the server refused of the children of many parents."""

    known: dict[Name, _Refusal] = field(default_factory=dict)

    def stop(self, name: Name, asked: str, now: float) -> None:
        """Raise what the server said if the same was refused, and its rest is not over."""
        found = self.known.get(name)
        if found is not None and found.asked == asked and now < found.until:
            raise found.error(now)

    def note(self, name: Name, asked: str, of: type[Resource], refused: ApiError, now: float) -> Retry:
        """Note that the server refused an object, and return when to try again."""
        before = self.known.get(name)
        again = before is not None and before.asked == asked
        rest = min(LONGEST_REST, before.rest * 2) if before is not None and again else FIRST_REST
        if issubclass(of, CustomResource) and not refused.message.startswith(_OF_OTHERS):
            rest = LONGEST_REST
        found = _Refusal(asked, refused.message, refused.reason or "ApiError", rest, now + rest)
        self.known[name] = found
        return found.error(now)

    def settle(self, name: Name) -> None:
        """Forget a refusal: the server took the object."""
        self.known.pop(name, None)

    def keep(self, parent: Key, children: Container[tuple[Kind, Key]]) -> None:
        """Forget the children of a parent that are none any more."""
        for name in [name for name in self.known if name[0] == parent and (name[1], name[2]) not in children]:
            del self.known[name]

    def forget(self, parent: Key) -> None:
        """Forget all children of a parent."""
        self.keep(parent, ())


def asked_of(digest: str, present: Resource | None) -> str:
    """Return a short name for what is asked of a child in its present state; the same until one of the two changes."""
    return f"{digest} {present.metadata.uid} {present.metadata.generation}" if present is not None else digest
