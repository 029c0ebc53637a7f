"""Whether Kubernetes is about to delete an address, because an owner at some level is not there. Pure.

A backup that is restored names owners by uids that nobody has any more. Kubernetes deletes what they own, then what
that owns, and so on. So an owner that is there does not prove that it stays.
"""

from collections.abc import Callable, Iterable, Mapping

from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode
from stackwright.api.network import IPSet, Reservation
from stackwright.kube.resource import CustomResource, OwnerReference, Resource
from stackwright.kube.shapes.belonging import is_forsaken

# Which kind owns the resources of another one, where operators made them.
OWNERS: Mapping[type[Resource], type[CustomResource]] = {
    Reservation: IPSet,
    IPSet: OpenStackDataPlaneNode,
    OpenStackDataPlaneNode: OpenStackDataPlane,
}


def find_missing(
    resource: Resource, list_there: Callable[[type[Resource]], Iterable[Resource]]
) -> OwnerReference | None:
    """Return an owner that is not there, at whatever level, because of which a resource is deleted; None if it stays.

    `list_there` lists what there is of a kind in the same place.
    """
    kind, references = OWNERS.get(type(resource)), resource.metadata.ownerReferences
    if kind is None or not references:
        return None
    named = {reference.uid for reference in references}
    owners = [(each, find_missing(each, list_there)) for each in list_there(kind) if each.metadata.uid in named]
    if not is_forsaken(resource, kind, (each for each, missing in owners if missing is None)):
        return None
    return next((missing for _, missing in owners if missing is not None), references[0])
