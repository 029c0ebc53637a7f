"""Which resources refer to a Topology, so that it cannot be deleted while it is in use. Pure.

Upstream, whoever uses a Topology holds it by a finalizer. Here the deletion is refused instead, so that nothing hangs
when no operator runs (decision 5). If a Topology was deleted while the webhook could not be asked, pods keep running
where they are, and each resource that refers to it says that it is missing.
"""

from collections.abc import Iterator

from stackwright import services
from stackwright.api.topology import find_references
from stackwright.controllers.surroundings import Known
from stackwright.kube.conditions import is_of_user
from stackwright.kube.resource import CustomResource

# How many of those that refer to it are named.
NAMED = 5


def hold(topology: CustomResource, known: Known) -> str:
    """Return why a Topology has to stay; "" where nobody refers to it."""
    users = tuple(_users(topology, known))
    # What a parent made refers to it because the parent does.
    named = [f"{user.kind.name} {user.metadata.name}" for user in users if is_of_user(user)]
    named = named or [f"{user.kind.name} {user.metadata.name}" for user in users]
    if not named:
        return ""
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return f"it is in use by {', '.join(named[:NAMED])}{more}; remove it from their topologyRef first"


def _users(topology: CustomResource, known: Known) -> Iterator[CustomResource]:
    for kind in services.kinds():
        for resource in known(kind, topology.metadata.namespace):
            references = find_references("spec", getattr(resource, "spec", None))
            if not resource.deleting and any(each.name == topology.metadata.name for _, each in references):
                yield resource
