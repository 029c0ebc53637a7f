"""Which kinds a server has, asked of the server itself."""

from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar
from weakref import WeakKeyDictionary

import msgspec

from stackwright.kube.client import Client
from stackwright.kube.errors import ApiError, KindNotInstalled
from stackwright.kube.resource import Kind, Resource
from stackwright.kube.transport import Call, Transport

T = TypeVar("T")

# Everything in two answers, in place of one for each group and version; every server since 1.30 knows it.
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True)
class ApiResource:
    """A kind that the server has, with what can be done with it."""

    kind: Kind
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = field(default=())


class _ResponseKind(msgspec.Struct, frozen=True):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Subresource(msgspec.Struct, frozen=True):
    subresource: str


class _Found(msgspec.Struct, rename="camel", frozen=True):
    resource: str
    scope: str = ""
    response_kind: _ResponseKind | None = None
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[_Subresource, ...] = ()


class _Version(msgspec.Struct, frozen=True):
    version: str
    resources: tuple[_Found, ...] = ()


class _GroupName(msgspec.Struct, frozen=True):
    name: str = ""


class _Group(msgspec.Struct, frozen=True):
    metadata: _GroupName = _GroupName()
    versions: tuple[_Version, ...] = ()


class _Groups(msgspec.Struct, frozen=True):
    items: tuple[_Group, ...] = ()


class _Listed(msgspec.Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool = False


class _ResourceList(msgspec.Struct, frozen=True):
    resources: tuple[_Listed, ...] = ()


# Copies of a client that share a transport share what is known of its server.
_known: WeakKeyDictionary[Transport, dict[tuple[str, str], Kind]] = WeakKeyDictionary()


async def resources(client: Client) -> list[ApiResource]:
    """Return all that the server has, preferred versions of a group first."""
    found: list[ApiResource] = []
    for path in ("/api", "/apis"):
        groups = _decoded(await _get(client, path, accept=AGGREGATED), _Groups)
        found += [
            _resource(group.metadata.name, version.version, resource)
            for group in groups.items
            for version in group.versions
            for resource in version.resources
            if resource.response_kind is not None
        ]
    return found


async def kind_of(client: Client, api_version: str, kind: str) -> Kind:
    """Return what a manifest's apiVersion and kind name; asked of the server when it is not known yet.

    Raises KindNotInstalled when the server does not have it.
    """
    known = _known.setdefault(client.transport, {})
    if (api_version, kind) not in known:
        group, _, version = api_version.rpartition("/")
        for listed in await _listed(client, f"/apis/{group}/{version}" if group else f"/api/{version}"):
            # The others are subresources: `pods/log`.
            if "/" not in listed.name:
                found = Kind(group, version, listed.kind, listed.name, namespaced=listed.namespaced)
                known[api_version, listed.kind] = found
    try:
        return known[api_version, kind]
    except KeyError:
        raise KindNotInstalled(
            f"The server does not know {kind} of {api_version}; install its CustomResourceDefinition, "
            "or check the spelling.",
            code=404,
        ) from None


@cache
def type_of(kind: Kind) -> type[Resource]:
    """Return a type for a kind that we only learnt of: it reads metadata alone."""
    made = msgspec.defstruct(kind.name, [], bases=(Resource,), namespace={"kind": kind}, frozen=True, kw_only=True)
    assert issubclass(made, Resource)  # noqa: S101  tells mypy what its base is
    return made


def _resource(group: str, version: str, found: _Found) -> ApiResource:
    response = found.response_kind or _ResponseKind()
    return ApiResource(
        Kind(group, version, response.kind, found.resource, namespaced=found.scope == "Namespaced"),
        found.verbs,
        found.short_names,
        found.categories,
        tuple(subresource.subresource for subresource in found.subresources),
    )


async def _listed(client: Client, path: str) -> tuple[_Listed, ...]:
    try:
        return _decoded(await _get(client, path), _ResourceList).resources
    except KindNotInstalled:
        return ()


def _decoded(body: bytes, wanted: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=wanted)
    except msgspec.DecodeError:
        raise ApiError("The server does not say which kinds it has; it may not be Kubernetes.", code=200) from None


async def _get(client: Client, path: str, *, accept: str = "application/json") -> bytes:
    reply = await client.transport.request(Call("GET", path, {}, accept=accept))
    if reply.code >= 300:
        raise client.transport.error(reply, None)
    return reply.body
