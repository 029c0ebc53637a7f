"""The objects of a namespace, by kind and name, and how they are listed."""

from collections.abc import Iterable

from stackwright import tasks
from stackwright.kube.client import Client
from stackwright.kube.errors import KindNotInstalled
from stackwright.kube.resource import R, Resource, ResourceName


class Objects:
    """What is there in a namespace, by kind and name."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._by_type: dict[type[Resource], dict[str, Resource]] = {}
        for resource in resources:
            self._by_type.setdefault(type(resource), {})[resource.metadata.name] = resource

    def __call__(self, kind: type[R], name: str, *, namespace: str = "") -> R | None:
        """Return the object of that name; None when it is not there, or is in another namespace than asked for."""
        found = self._by_type.get(kind, {}).get(name)
        return found if isinstance(found, kind) and namespace in ("", found.metadata.namespace) else None

    def of_kind(self, kind: type[R]) -> list[R]:
        """Return all objects of a kind."""
        return [item for item in self._by_type.get(kind, {}).values() if isinstance(item, kind)]

    def all(self) -> list[Resource]:
        """Return everything."""
        return [resource for named in self._by_type.values() for resource in named.values()]


def resource_name_of(resource: Resource) -> ResourceName:
    """Return which object of its namespace this is."""
    return resource.kind.name, resource.metadata.name


async def list_kind(client: Client, kind: type[R], namespace: str) -> list[R]:
    """Return the resources of a kind; none where the cluster does not have the kind."""
    try:
        return await client.list(kind, namespace)
    except KindNotInstalled:
        return []


async def list_kinds(client: Client, kinds: Iterable[type[R]], namespace: str) -> list[R]:
    """Return the resources of several kinds, asked for at once."""
    found = await tasks.together(*(list_kind(client, kind, namespace) for kind in kinds))
    return [resource for resources in found for resource in resources]
