"""The names by which people call resources: `keystone`, `keystoneapi/keystone`, `galera/openstack`.

A bare word is the name of a resource, else the name of a kind or of its chart of which there is one resource. Where a
word names several things, a service goes before what it keeps (`keystone` is the KeystoneAPI, not its database).
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TypeVar

import click

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.api.dataplane import OpenStackDataPlane
from stackwright.cli import log_lines
from stackwright.cli.connection import Where, client_of
from stackwright.foresight.kinds import chart_of, service_kinds
from stackwright.foresight.objects import list_kind, list_kinds
from stackwright.kube.client import Client
from stackwright.kube.errors import Denied

# What the names of the kinds of a data plane begin with.
DATA_PLANE = OpenStackDataPlane.kind.name

C = TypeVar("C", bound=CustomResource)

DEFAULT_NAMESPACE = "openstack"
# A shell that completes a name waits for no slow cluster.
QUICK = 1.0


class NotThere(click.ClickException):
    """There is no such resource; the message has those that there are."""


def words_of(kind: type[CustomResource]) -> set[str]:
    """Return all words by which a kind is known, to kubectl and to us."""
    short_names = kind.definition.short_names  # type: ignore[attr-defined]  # every kind that we serve has one
    words = {kind.kind.name.lower(), kind.kind.plural, kind.kind.crd_name, *short_names}
    # node/NAME and role/NAME are clear enough here.
    words |= {kind.kind.name.removeprefix(DATA_PLANE).lower()} if kind.kind.name.startswith(DATA_PLANE) else set()
    return (words | ({chart_of(kind)} if kind in service_kinds() else set())) - {""}


def label(resource: CustomResource) -> str:
    """Return what a resource is called here: `keystoneapi/keystone`."""
    return f"{resource.kind.name.lower()}/{resource.metadata.name}"


def choose(word: str, there: Iterable[C], kinds: Sequence[type[C]]) -> C:
    """Return the resource that a word means, of kinds in order of preference; say what there is where it means none.

    Pure.
    """
    resources = [resource for resource in there if type(resource) in kinds]
    kind_word, slash, name = word.rpartition("/")
    if slash:
        wanted = [kind for kind in kinds if kind_word.lower() in words_of(kind)]
        if not wanted:
            known = ", ".join(kind.kind.name.lower() for kind in kinds)
            raise click.UsageError(f"{kind_word} is not a kind for this; there are {known}")
        found = [resource for resource in resources if type(resource) in wanted and resource.metadata.name == name]
    else:
        found = [resource for resource in resources if resource.metadata.name == word] or [
            resource for resource in resources if word.lower() in words_of(type(resource))
        ]
    if not found:
        names = ", ".join(sorted(label(resource) for resource in resources))
        raise NotThere(f"There is no {word} here; there {f'are {names}' if names else 'is nothing yet'}.")
    best = min(kinds.index(type(resource)) for resource in found)
    several = [resource for resource in found if kinds.index(type(resource)) == best]
    if len(several) > 1:
        names = ", ".join(sorted(label(resource) for resource in several))
        raise click.UsageError(f"{word} means several; say which: {names}")
    return several[0]


async def namespace_of(client: Client, asked: str | None) -> str:
    """Return the namespace of the cloud that is meant."""
    if asked:
        return asked
    try:
        planes = await list_kind(client, services.control_plane(), "")
    except Denied:
        # Who may not look into all namespaces says which one it is, or means the usual one.
        return DEFAULT_NAMESPACE
    return only_namespace({plane.metadata.namespace for plane in planes})


def only_namespace(there: Iterable[str]) -> str:
    """Return which of the namespaces with a control plane is meant when none is named. Pure."""
    names = sorted(there)
    if len(names) == 1:
        return names[0]
    if names and DEFAULT_NAMESPACE not in names:
        raise click.UsageError(f"there are clouds in several namespaces; name one with -n: {', '.join(names)}")
    return DEFAULT_NAMESPACE


async def find(client: Client, word: str, namespace: str, kinds: Sequence[type[C]]) -> C:
    """Return the resource that a word means in a namespace."""
    return choose(word, await list_kinds(client, kinds, namespace), kinds)


async def _names(where: Where) -> list[str]:
    async with asyncio.timeout(QUICK), client_of(where) as client:
        namespace = await namespace_of(client, where.namespace)
        found = await list_kinds(client, service_kinds(), namespace)
    return sorted({name for resource in found for name in (resource.metadata.name, label(resource))})


def complete_resource(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001  click's form
    """Return the names of resources that begin so, if the cluster says them quickly."""
    asked = ctx.params.get
    where = Where(asked("cluster"), asked("kubeconfig"), asked("context"), asked("namespace"))
    try:
        # What is printed here, a shell takes for names.
        log_lines.only_warnings()
        names = asyncio.run(_names(where))
    except Exception:  # noqa: BLE001  nobody who presses the tabulator wants to read why there is nothing to complete
        return []
    return [name for name in names if name.startswith(incomplete)]
