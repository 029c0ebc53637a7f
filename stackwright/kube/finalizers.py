"""Finalizers: what keeps an object until its traces outside the cluster are gone.

Neither way touches somebody else's entry: adding is a server-side apply of one entry of a set, removing is a
JSON patch that tests for the entry in its place and fails, to be tried again, where another one has moved in.
"""

from stackwright.kube.client import Client
from stackwright.kube.errors import NotFound
from stackwright.kube.resource import R, Resource

# By these Kubernetes keeps an owner until what it owns is deleted, or is nobody's, if whoever deletes it asks for that.
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
# Kubernetes' own end by themselves, and so do those of the program whose kind the object is.
_KUBERNETES = ("kubernetes.io", "k8s.io")


def strangers(resource: Resource) -> tuple[str, ...]:
    """Return the finalizers by which somebody else holds an object that is being deleted. Pure."""
    if not resource.deleting:
        return ()
    domains = ((name, name.partition("/")[0]) for name in resource.metadata.finalizers if "/" in name)
    return tuple(
        name
        for name, domain in domains
        if not domain.endswith(_KUBERNETES) and not resource.kind.group.endswith(domain)
    )


def held(resource: Resource) -> str:
    """Return the sentence that says what blocks an object's deletion, and what to do; "" if nothing does."""
    names = ", ".join(strangers(resource))
    what = f"{resource.kind.name} {resource.metadata.name}"
    if not names:
        return ""
    return (
        f"{what} is being deleted and is held by the finalizer {names}, which is not ours: see that the program that "
        "set it runs, or take it off"
    )


async def add(client: Client, resource: R, name: str) -> R:
    """Keep the object from going before `name` is removed again."""
    if name in resource.metadata.finalizers:
        return resource
    body = {
        "apiVersion": resource.kind.api_version,
        "kind": resource.kind.name,
        "metadata": {
            "name": resource.metadata.name,
            "namespace": resource.metadata.namespace,
            # With the uid the server refuses to create the object again if it has just been deleted.
            "uid": resource.metadata.uid,
            "finalizers": [name],
        },
    }
    # A field manager of the finalizer's own, so that other applies of ours do not drop it. The server takes names
    # of up to 128 characters; the end of a longer one tells finalizers apart.
    manager = f"{client.field_manager}/{name}"[-128:]
    return await client.apply(type(resource), body, field_manager=manager)


async def remove(client: Client, resource: R, name: str) -> None:
    """Let the object go, as far as `name` is concerned."""
    if name not in resource.metadata.finalizers:
        return
    path = f"/metadata/finalizers/{resource.metadata.finalizers.index(name)}"
    patch = [
        # Never release a new object of the same name.
        {"op": "test", "path": "/metadata/uid", "value": resource.metadata.uid},
        {"op": "test", "path": path, "value": name},
        {"op": "remove", "path": path},
    ]
    try:
        await client.patch(type(resource), resource.metadata.name, resource.metadata.namespace, patch)
    except NotFound:
        return
