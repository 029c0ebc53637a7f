"""A hand that writes into statuses, as `kubectl edit --subresource=status` does: one wrong value for each field."""

from typing import Any, get_type_hints

import msgspec
from msgspec import inspect

from stackwright.kube.builtin import DaemonSet, Deployment, Plain, StatefulSet
from stackwright.kube.client import Client
from stackwright.kube.resource import CustomResource, JsonObject
from tests.functional.watching import eventually

EDITOR = "kubectl-edit"
WORD = "by-hand"
WORKLOADS: tuple[type[Plain], ...] = (Deployment, StatefulSet, DaemonSet)
TIME = "2020-01-01T00:00:00Z"


def wrong_values(resource: CustomResource) -> dict[str, Any]:
    """Return a wrong value for each field of a status."""
    status = msgspec.to_builtins(resource.status)
    kept = inspect.type_info(get_type_hints(type(resource))["status"])
    assert isinstance(kept, inspect.StructType)
    return {field.encode_name: _wrong_part(field, status.get(field.encode_name)) for field in kept.fields}


async def edit(client: Client, resource: Any, field: str, value: Any) -> Any:
    """Write one field of a status by hand."""
    metadata, change = resource.metadata, {"status": {field: value}}
    hand = client.managing(EDITOR)
    return await hand.patch(type(resource), metadata.name, metadata.namespace, change, subresource="status")


def told(resource: CustomResource) -> JsonObject:
    """Return what a status says; since when, is a hand's word as long as nothing changes."""
    status = msgspec.to_builtins(resource.status)
    for condition in status.get("conditions", ()):
        condition.pop("lastTransitionTime", None)
    return status  # type: ignore[no-any-return]  # a struct becomes an object


def _wrong(of: inspect.Type, value: Any) -> Any:  # noqa: PLR0911  one for each type
    """Return a value of a type that is not the one that is there."""
    match of:
        case inspect.Metadata(type=inner):
            return _wrong(inner, value)
        case inspect.UnionType(types=types):
            return _wrong(next(one for one in types if not isinstance(one, inspect.NoneType)), value)
        case inspect.BoolType():
            return not value
        case inspect.IntType() | inspect.FloatType():
            return (value or 0) + 7
        case inspect.DictType(value_type=inner):
            changed = {key: _wrong(inner, one) for key, one in (value or {}).items()}
            return {**changed, WORD: _wrong(inner, None)}
        case inspect.VarTupleType(item_type=inner) | inspect.ListType(item_type=inner):
            # One that is there says something else, and one more comes.
            more = f"{WORD}:1" if isinstance(inner, inspect.StrType) else _wrong(inner, None)
            return [*(_wrong(inner, one) for one in (value or ())[:1]), *(value or ())[1:], more]
        case inspect.StructType(fields=fields):
            return {field.encode_name: _wrong_part(field, (value or {}).get(field.encode_name)) for field in fields}
        case inspect.LiteralType(values=values):
            return next(one for one in values if one and one != value)
        case inspect.AnyType():
            return {WORD: WORD}
    return f"{WORD}-{value}" if value else WORD


def _wrong_part(field: inspect.Field, value: Any) -> Any:
    """Return a wrong value of a part. What tells one item of a list from others stays, where it is there."""
    if field.encode_name in ("type", "resource", "name", "field", "manager"):
        return value or WORD
    if field.encode_name == "status" and value in ("True", "False"):
        return "False" if value == "True" else "True"
    if field.encode_name.endswith(("Time", "Changed", "At")):
        return TIME
    return _wrong(field.type, value)


async def try_everything(client: Client, resource: Any) -> None:
    """Write each field of a status by hand, and see that all of it is soon as before."""
    before, metadata = told(resource), resource.metadata
    for field, wrong in wrong_values(resource).items():
        edited = await edit(client, resource, field, wrong)
        assert told(edited) != before, f"nothing was changed by {field}"

        def is_as_before(seen: Any) -> bool:
            return told(seen) == before

        try:
            await eventually(client, type(resource), metadata.name, metadata.namespace, is_as_before)
        except AssertionError as error:
            raise AssertionError(f"status.{field} stays {wrong}") from error


async def rollouts(client: Client, namespace: str) -> dict[tuple[str, str], int]:
    """Return which generation each workload has: whoever writes it anew makes another one."""
    return {
        (kind.kind.name, found.metadata.name): found.metadata.generation
        for kind in WORKLOADS
        for found in await client.list(kind, namespace)
    }
