"""Writes down what a client writes: who counts writes asks the wire, and not those who write."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field

from stackwright.kube.client import Client
from stackwright.kube.transport import Call, Reply

# What is renewed all the time, and questions that are asked by a POST.
NO_WRITES = frozenset({"leases", "tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews"})
_PATH = re.compile(
    r"^/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/[^/]+)?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<part>[^/]+))?$"
)


@dataclass(frozen=True)
class Written:
    """One write that the server accepted."""

    verb: str
    resource: str
    name: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.name}"


@dataclass
class Counted:
    """A client whose writes are written down."""

    client: Client
    writes: list[Written] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._request = self.client.transport.request
        self.client.transport.request = self.request  # type: ignore[method-assign]  # the wire is what is asked

    async def request(self, call: Call) -> Reply:
        """Send a call on, and write it down where it changed something."""
        reply = await self._request(call)
        if call.method != "GET" and reply.code < 300 and (written := written_by(call)) is not None:
            self.writes.append(written)
        return reply

    def table(self) -> str:
        """Return how often what was written, the most frequent first."""
        counted = Counter(map(str, self.writes))
        return "\n".join(f"{count:4d} {what}" for what, count in counted.most_common())


def written_by(call: Call) -> Written | None:
    """Return what a call writes, None where that does not count. Pure."""
    found = _PATH.match(call.path)
    if found is None or found["plural"] in NO_WRITES:
        return None
    resource = "/".join(filter(None, (found["plural"], found["part"])))
    body = json.loads(call.body) if call.body else {}
    named = body if isinstance(body, dict) else {}
    name = found["name"] or named.get("metadata", {}).get("name", "")
    if found["plural"] == "events":
        # An event has a name of its own each time; what it is about tells more.
        about = named.get("regarding", {})
        name = f"{about.get('kind')} {about.get('name')} {named.get('reason')}" if about else "(again)"
    return Written(call.method, resource, name)
