"""What a user's own chart may not hand on: rights, other accounts, the machine, others' places. Pure.

The measure is the service's own chart, rendered with the same values: what that one has, theirs may have. What is not
looked at here, such as the user that a container runs as, is left to the pod security profile of the namespace.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from stackwright.adapters.helm import records
from stackwright.controllers.release import places, rights
from stackwright.controllers.release.bodies import field, items, name_of, pod_of
from stackwright.kube.resource import JsonObject

ACCOUNT_NAME = "kubernetes.io/service-account.name"
ACCOUNT_TOKEN = "kubernetes.io/service-account-token"  # noqa: S105  the type of a Secret
# Every namespace has it, and whoever may run a pod there may run it with this account.
DEFAULT_ACCOUNT = "default"
# The strictest pod security profile allows it.
HARMLESS_CAPABILITY = "NET_BIND_SERVICE"
# How many rights of one Role are named.
NAMED = 3


@dataclass(frozen=True)
class Chart:
    """The objects that a chart renders for a release in a namespace."""

    objects: Sequence[JsonObject]
    release: str
    namespace: str

    @cached_property
    def _names(self) -> Mapping[str, set[str]]:
        found: dict[str, set[str]] = {}
        for body in self.objects:
            found.setdefault(_text(body, "kind"), set()).add(name_of(body))
        return found

    def named(self, kind: str) -> Set[str]:
        """Return the names of its objects of a kind."""
        return self._names.get(kind, frozenset())

    def rules(self) -> list[JsonObject]:
        """Return what its Roles allow."""
        return [rule for body in self.objects if body.get("kind") == "Role" for rule in items(body, "rules")]

    def powers(self) -> set[str]:
        """Return what its pods take of the machine."""
        return {power for body in self.objects for power in _powers(body)}

    def accounts(self) -> set[str]:
        """Return the accounts that its pods run with."""
        return {account for body in self.objects for account in _accounts(body)}


def problems(theirs: Chart, ours: Chart) -> Iterator[str]:
    """Yield a phrase for each object of a user's chart that has more than the service's own chart gives."""
    if rights.count(theirs.rules()) > rights.MOST:
        yield f"Roles with more than {rights.MOST} single rights together; remove most of them"
        return
    for body in theirs.objects:
        what = f"{body.get('kind')} {name_of(body)}"
        match body.get("kind"):
            case "Role":
                yield from _role(what, body, ours)
            case "RoleBinding":
                yield from _binding(what, body, theirs)
            case "Secret":
                yield from _secret(what, body, theirs)
            case "Service":
                yield from _service(what, body, ours)
            case _:
                yield from _pods(what, body, theirs, ours)
        yield from places.problems(body, theirs.objects, ours.objects, theirs.release)


def _role(what: str, body: JsonObject, ours: Chart) -> Iterator[str]:
    found = list(dict.fromkeys(rights.beyond(items(body, "rules"), ours.rules())))
    if found:
        shown = ", ".join(found[:NAMED]) + (f" and {len(found) - NAMED} more" if len(found) > NAMED else "")
        yield f"{what}, which allows {shown}; the service's own chart does not; remove it"


def _binding(what: str, body: JsonObject, theirs: Chart) -> Iterator[str]:
    role = field(body, "roleRef")
    if role.get("kind") != "Role" or _text(role, "name") not in theirs.named("Role"):
        yield f"{what} of {role.get('kind')} {role.get('name')}; it may bind only Roles of the chart itself"
    for subject in items(body, "subjects"):
        kind, name = subject.get("kind"), subject.get("name")
        place = subject.get("namespace", theirs.namespace)
        own = (
            kind == "ServiceAccount"
            and place == theirs.namespace
            and _text(subject, "name") in theirs.named("ServiceAccount")
        )
        if not own:
            where = f" of namespace {place}" if kind == "ServiceAccount" and place != theirs.namespace else ""
            yield f"{what} for {kind} {name}{where}; it may bind only to ServiceAccounts of the chart itself"


def _secret(what: str, body: JsonObject, theirs: Chart) -> Iterator[str]:
    if body.get("type") == records.TYPE:
        yield f"{what}, which is a record of a Helm release; only the operator writes these; remove it"
    account = _text(field(field(body, "metadata"), "annotations"), ACCOUNT_NAME)
    if body.get("type") == ACCOUNT_TOKEN and account not in theirs.named("ServiceAccount"):
        yield f"{what} with the token of ServiceAccount {account}, which is not of the chart itself"


def _service(what: str, body: JsonObject, ours: Chart) -> Iterator[str]:
    known = {address for other in ours.objects for address in _addresses(other)}
    if found := sorted(set(_addresses(body)) - known):
        yield f"{what} with externalIPs ({', '.join(found)}), which would take the traffic of others; remove them"


def _pods(what: str, body: JsonObject, theirs: Chart, ours: Chart) -> Iterator[str]:
    allowed = {DEFAULT_ACCOUNT, *theirs.named("ServiceAccount"), *ours.accounts()}
    for account in sorted(_accounts(body) - allowed):
        yield f"{what} with pods of ServiceAccount {account}, which is not of the chart itself"
    if found := sorted(_powers(body) - ours.powers()):
        yield f"{what} with pods that use {', '.join(found)}; those of the service's own chart do not"


def _accounts(body: JsonObject) -> set[str]:
    spec = pod_of(body)
    # The second is an old name of the first, and the server takes both.
    return {str(spec[name]) for name in ("serviceAccountName", "serviceAccount") if spec.get(name)}


def _powers(body: JsonObject) -> set[str]:
    """Return in words what the pods of an object take of the machine that they run on."""
    spec = pod_of(body)
    found = {name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)}
    if node := spec.get("nodeName"):
        found.add(f"nodeName {node}")
    for volume in items(spec, "volumes"):
        if "hostPath" in volume:
            found.add(f"hostPath {field(volume, 'hostPath').get('path')}")
    for container in (*items(spec, "containers"), *items(spec, "initContainers")):
        context = field(container, "securityContext")
        if context.get("privileged"):
            found.add("privileged containers")
        added = field(context, "capabilities").get("add")
        for capability in added if isinstance(added, list) else ():
            if capability != HARMLESS_CAPABILITY:
                found.add(f"the capability {capability}")
        found.update(f"hostPort {port['hostPort']}" for port in items(container, "ports") if port.get("hostPort"))
    return found


def _addresses(body: JsonObject) -> tuple[str, ...]:
    found = field(body, "spec").get("externalIPs") if body.get("kind") == "Service" else None
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _text(body: JsonObject, name: str) -> str:
    """Return a text of an object; where it is none, the server refuses the object."""
    found: Any = body.get(name)
    return found if isinstance(found, str) else ""
