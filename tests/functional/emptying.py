"""Takes away, on a server that tests use one after the other, what those before have left."""

from collections.abc import Iterable

from stackwright import services
from stackwright.kube.builtin import Namespace, Pod
from stackwright.kube.client import Client
from tests.functional.definitions import defined
from tests.functional.watching import gone


async def empty(client: Client, namespaces: Iterable[str]) -> None:
    """Delete all resources of our kinds, wherever they are, and these namespaces."""
    await defined(client)
    for kind in services.kinds():
        for resource in await client.list(kind):
            await client.delete(kind, resource.metadata.name, resource.metadata.namespace)
    there = [name for name in namespaces if await client.delete(Namespace, name)]
    for name in there:
        # There is no kubelet that would end them.
        for pod in await client.list(Pod, name):
            await client.delete(Pod, pod.metadata.name, name, grace=0)
    for name in there:
        await gone(client, Namespace, name, "")
