"""Takes off the finalizers that older operators put on, so that nothing waits for an operator any more."""

from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.controllers.identity.access import Registered
from stackwright.controllers.identity.ledger import Ledger
from stackwright.controllers.identity.marks import Made
from stackwright.controllers.identity.registration import together
from stackwright.kube import finalizers
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked, Denied

FINALIZERS = frozenset({"openstack.org/keystoneservice", "openstack.org/keystoneendpoint"})


async def hand_over(resource: Registered, context: Context) -> bool:
    """Note what an older operator would have deleted with a resource, then take its finalizer off, if there is one."""
    for name in resource.metadata.finalizers:
        if name in FINALIZERS:
            await _note(resource, Ledger(context))
            await finalizers.remove(context.client, resource, name)
            return True
    return False


async def _note(resource: Registered, ledger: Ledger) -> None:
    keystone, made = resource.status.keystoneInstance, registered(resource)
    if not keystone or not made:
        return
    try:
        await ledger.note(resource, keystone, together(ledger.of(resource, keystone).made, made))
    except (Denied, Blocked):
        # In a namespace that goes nothing can be written; and whatever is wrong, what goes must not hang.
        if not resource.deleting:
            raise


def registered(resource: Registered) -> tuple[Made, ...]:
    """Return what is registered by the status of a resource."""
    match resource:
        case KeystoneService(spec=spec, status=status):
            made = (
                Made(what="service", name=(spec.serviceType, spec.serviceName), id=status.serviceID),
                Made(what="user", name=(spec.serviceUser,), id=status.userID),
            )
            return together(one for one in made if one.id)
        case KeystoneEndpoint(status=status):
            return together(
                # The region is not in the status; with the id nobody asks for it.
                Made(what="endpoint", name=(status.serviceID, "", interface), id=identity)
                for interface, identity in status.endpointIDs.items()
            )
