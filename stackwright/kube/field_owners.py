"""The owners of an object's fields, in the server's own notation, and how fields change owners. Pure.

`metadata.managedFields` has an entry for each manager, with its fields as a tree. Fields change hands by renaming: what
an entry of the one manager holds moves to that of the other. Nothing else of the object is sent, so nothing restarts
and an immutable template does not matter; and the new owner's next apply takes away what it no longer asks for, as if
it had always been the owner. A write that names the version it read cannot undo what somebody else did meanwhile.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from stackwright.kube.resource import JsonObject

APPLY = "Apply"

# Kubernetes' own components, and those of platforms on top of it: they do not count as people.
_COMPONENTS = ("kube-", "openshift-")
_OTHER_COMPONENTS = frozenset({"kubelet", "kubelite", "cloud-controller-manager", "k3s", "before-first-apply"})
# What is no part of how an object is asked for: its status, and its own labels and annotations, on which many write.
_BESIDE = frozenset({"f:apiVersion", "f:kind", "f:metadata", "f:status"})
# Maps with keys that users choose; each key is reported on its own.
_MAPS = frozenset({"f:annotations", "f:labels"})
# `kubectl rollout restart` writes it: a deed that is over, and nothing that anybody asks for.
_RESTARTED = ".annotations.kubectl.kubernetes.io/restartedAt"


def is_stranger(manager: str, subresource: str, ours: str, operation: str = APPLY) -> bool:
    """Return whether a manager is neither we nor a component of Kubernetes.

    What is written through a subresource is a status, or a field such as the replicas, which an apply tells of. We ask
    for things by applies alone: who updates something under our name is somebody else.
    """
    of_kubernetes = manager.startswith(_COMPONENTS) or manager in _OTHER_COMPONENTS
    is_ours = manager == ours and operation == APPLY
    return not is_ours and not subresource and not of_kubernetes


def added(entries: Iterable[JsonObject], ours: str) -> tuple[tuple[str, str], ...]:
    """Return what strangers put into an object that we do not ask for, by path and manager.

    A list's item or a block that is theirs as a whole is one path.
    """
    entries = tuple(entries)
    own: JsonObject = {}
    for entry in entries:
        if _is_applied(entry, ours):
            own = _union(own, entry.get("fieldsV1", {}))
    found = {
        (path, manager)
        for entry in entries
        if is_stranger(
            manager := entry.get("manager", ""), entry.get("subresource", ""), ours, entry.get("operation", APPLY)
        )
        for path in _added(_spec(entry), own, "")
        if not path.endswith(_RESTARTED)
    }
    return tuple(sorted(found))


def owned(entries: Iterable[JsonObject], ours: str) -> frozenset[str]:
    """Return the paths of all values that others manage, alone or with us: an apply of another value is a conflict.

    Components of Kubernetes are others too.
    """
    return frozenset(
        path for entry in entries if not _is_applied(entry, ours) for path in _leaves(entry.get("fieldsV1", {}), "")
    )


def _leaves(tree: JsonObject, path: str) -> Iterator[str]:
    for name, branch in tree.items():
        if name == ".":
            continue
        text = f"{path}{_text(name)}"
        if branch:
            yield from _leaves(branch, text)
        else:
            yield text


def _spec(entry: JsonObject) -> JsonObject:
    return {name: branch for name, branch in entry.get("fieldsV1", {}).items() if name not in _BESIDE}


def _added(tree: JsonObject, own: JsonObject, path: str) -> Iterator[str]:
    for name, branch in tree.items():
        if name == ".":
            continue
        text = f"{path}{_text(name)}"
        if name not in own and _is_whole(name, branch):
            yield text
        else:
            yield from _added(branch, own.get(name, {}), text)


def _is_whole(name: str, branch: JsonObject) -> bool:
    """Return whether a field is reported as one: a value, a list's item, or a block that has one owner."""
    holds_items = any(step.startswith(("k:", "v:", "i:")) for step in branch)
    return not branch or not name.startswith("f:") or ("." in branch and name not in _MAPS and not holds_items)


def has(entries: Iterable[JsonObject], *steps: str) -> bool:
    """Return whether anybody manages a field, given as the steps of the tree."""
    return any(_reached(entry.get("fieldsV1", {}), steps) for entry in entries)


def _reached(tree: JsonObject, steps: Sequence[str]) -> bool:
    return not steps or (steps[0] in tree and _reached(tree[steps[0]], steps[1:]))


def taken(entries: Sequence[JsonObject], manager: str, path: str, taker: str) -> list[Any]:
    """Return the entries after the field at a path has gone from a manager to what `taker` applied.

    The value stays; the next apply of the taker makes it another one, or removes it where it asks for none. A plain
    path that nobody manages goes to the taker too.
    """
    theirs: JsonObject = {}
    for entry in entries:
        if entry.get("manager") == manager:
            theirs = _union(theirs, _only_text(entry.get("fieldsV1", {}), path))
    if not theirs and "[" not in path:
        theirs = _nested([f"f:{step}" for step in path.strip(".").split(".")])
    return [
        {**entry, "fieldsV1": _union(entry.get("fieldsV1", {}), theirs)} if _is_applied(entry, taker) else entry
        for entry in released(entries, manager, path)
    ]


def _is_applied(entry: JsonObject, manager: str) -> bool:
    return entry.get("manager") == manager and entry.get("operation") == APPLY and not entry.get("subresource")


def _nested(steps: Sequence[str]) -> JsonObject:
    return {steps[0]: _nested(steps[1:])} if steps else {}


def _only_text(tree: JsonObject, path: str) -> JsonObject:
    """Return of a tree the field alone that a path in words means, with all below it."""
    for name, branch in tree.items():
        rest = path.removeprefix(_text(name)) if name != "." else path
        if rest == path or (rest and rest[0] not in ".["):
            continue
        if not rest:
            return {name: branch}
        if smaller := _only_text(branch, rest):
            return {name: smaller}
    return {}


def handed(entries: Sequence[JsonObject], giver: str, taker: str, *, less: Iterable[tuple[str, ...]] = ()) -> list[Any]:
    """Return the entries after all that `giver` manages has gone to `taker`, as something applied.

    What a controller wrote to a subresource, such as a status, stays its own. The paths in `less` go to nobody.
    """
    result: list[JsonObject] = []
    for entry in entries:
        mine = entry.get("manager") == giver and not entry.get("subresource")
        moved = _less({**entry, "manager": taker, "operation": APPLY}, less) if mine else entry
        same = next((place for place, other in enumerate(result) if _identity(other) == _identity(moved)), None)
        if same is None:
            result.append(moved)
        else:
            fields = _union(result[same].get("fieldsV1", {}), moved.get("fieldsV1", {}))
            result[same] = {**result[same], "fieldsV1": fields}
    return result


def released(entries: Sequence[JsonObject], manager: str, path: str) -> list[Any]:
    """Return the entries after a manager has let go of the field at a path, written as the server writes it.

    Its value stays until somebody applies another one. What was written through a subresource, as by `kubectl scale`,
    is let go of too.
    """
    result: list[JsonObject] = []
    for entry in entries:
        if entry.get("manager") != manager:
            result.append(entry)
        elif smaller := _without_text(entry.get("fieldsV1", {}), path):
            result.append({**entry, "fieldsV1": smaller})
    return result


def manages(entries: Iterable[JsonObject], name: str) -> bool:
    """Return whether a manager owns any field, other than in subresources."""
    return any(entry.get("manager") == name and not entry.get("subresource") for entry in entries)


def _identity(entry: JsonObject) -> tuple[Any, ...]:
    """Return what the server keeps one entry for."""
    return tuple(entry.get(name, "") for name in ("manager", "operation", "apiVersion", "subresource"))


def _union(one: JsonObject, other: JsonObject) -> JsonObject:
    common = {name: _union(one[name], other[name]) for name in one.keys() & other.keys()}
    return {**one, **other, **common}


def _less(entry: JsonObject, paths: Iterable[tuple[str, ...]]) -> JsonObject:
    fields = entry.get("fieldsV1", {})
    for path in paths:
        fields = _without(fields, path)
    return {**entry, "fieldsV1": fields}


def _without_text(tree: JsonObject, path: str) -> JsonObject:
    """Return a tree less the field that a path in words means."""
    result: JsonObject = {}
    for name, branch in tree.items():
        text = _text(name)
        rest = path.removeprefix(text)
        if name == "." or rest == path or (rest and rest[0] not in ".["):
            result[name] = branch
        elif rest:
            smaller = _without_text(branch, rest)
            # A branch that held nothing else has nothing left to hold; one that held nothing was another field.
            if not branch or (smaller and smaller.keys() != {"."}):
                result[name] = smaller
    return result


def _text(name: str) -> str:
    """Return a step of a tree as the server writes it in a conflict: `.image`, `[name="api"]`, `[="x"]`, `[0]`."""
    kind, _, rest = name.partition(":")
    match kind:
        case "k":
            keys = msgspec.json.decode(rest)
            pairs = (f"{key}={msgspec.json.encode(value).decode()}" for key, value in sorted(keys.items()))
            return f"[{','.join(pairs)}]"
        case "v":
            return f"[={rest}]"
        case "i":
            return f"[{rest}]"
        case _:
            return f".{rest}"


def _without(tree: JsonObject, path: tuple[str, ...]) -> JsonObject:
    first, *rest = path
    if first not in tree:
        return tree
    smaller = _without(tree[first], tuple(rest)) if rest else {}
    kept = {name: branch for name, branch in tree.items() if name != first}
    # "." stands for the parent itself, which has nothing left to hold.
    return {**kept, first: smaller} if smaller and smaller.keys() != {"."} else kept
