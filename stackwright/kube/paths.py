"""Where things are on the server: the URL paths of collections, objects and their subresources.

A path that lost its last part would be that of a collection, and a deletion there deletes everything; so a name
that is empty or that a URL would swallow is a bug and is refused here.
"""

from urllib.parse import quote

from stackwright.kube.resource import Kind


def collection(kind: Kind, namespace: str = "") -> str:
    """Return the path of all objects of a kind, of one namespace or of all."""
    if kind.namespaced and namespace:
        return f"{kind.path}/namespaces/{_segment(kind, namespace)}/{kind.plural}"
    return f"{kind.path}/{kind.plural}"


def within(kind: Kind, namespace: str) -> str:
    """Return the path under which objects of a kind are made; one that lives in a namespace needs it."""
    if kind.namespaced and not namespace:
        raise ValueError(f"a {kind.name} lives in a namespace, and none was given")
    return collection(kind, namespace)


def item(kind: Kind, namespace: str, name: str, subresource: str = "") -> str:
    """Return the path of one object, or of a subresource of it."""
    path = f"{within(kind, namespace)}/{_segment(kind, name)}"
    return f"{path}/{subresource}" if subresource else path


def _segment(kind: Kind, name: str) -> str:
    if name in ("", ".", ".."):
        raise ValueError(f'a {kind.name} cannot be found by the name "{name}"')
    return quote(name, safe="")
