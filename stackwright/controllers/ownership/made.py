"""Whether a resource has made a thing that no object stands for, by its own status. Pure.

Users, schemas and entries of a catalog carry no mark that a cache could show. What a resource reports to have made
counts as long as the report is about its present spec, and about the server where it would make the thing now.
"""

from collections.abc import Iterator

from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.api.mariadb import GALERA_KEY, SERVER_LABEL, MariaDBAccount, MariaDBDatabase
from stackwright.blueprint.claims import Claim
from stackwright.controllers.ownership.claims import Around, claims_of_another, server_of
from stackwright.controllers.ownership.standing import is_refused
from stackwright.controllers.ownership.users import is_marked_for
from stackwright.kube.resource import CustomResource, is_controlled
from stackwright.services.mariadb.kinds import Galera

# The kinds of resources that services create for themselves, and that users may also create by hand.
_REPORTING = frozenset({MariaDBDatabase, MariaDBAccount, KeystoneService, KeystoneEndpoint})


def has_made(resource: CustomResource, claim: Claim, around: Around, *, newcomer: bool = False) -> bool:
    """Return whether a resource, or one that it created for itself, has made the thing that it claims.

    A `newcomer` claims the thing for the first time: its own status is about what it claimed before.
    """
    if type(resource) in _REPORTING:
        return not newcomer and _reports(resource, claim, around)
    return any(
        claim in claims_of_another(part, around) and _reports(part, claim, around)
        for part in _parts_of(resource, around)
    )


def _parts_of(resource: CustomResource, around: Around) -> Iterator[CustomResource]:
    """Yield what a service has created for itself that reports what it has made."""
    for claim in claims_of_another(resource, around):
        part = around.named(claim.of, claim.name) if claim.of in _REPORTING else None
        if isinstance(part, CustomResource) and (is_marked_for(part, resource) or is_controlled(part, resource)):
            yield part


def _reports(resource: CustomResource, claim: Claim, around: Around) -> bool:
    if is_refused(resource) or resource.status.observedGeneration != resource.metadata.generation:
        return False
    match resource:
        case MariaDBAccount():
            return bool(resource.status.server) and resource.status.server == server_of(resource, around.named)
        case MariaDBDatabase():
            return resource.status.completed and _is_on_named_server(resource, around)
        case KeystoneService():
            made = resource.status.userID if claim.sort == "user" else resource.status.serviceID
        case KeystoneEndpoint():
            found = resource.status.endpointIDs.items()
            made = next((identity for interface, identity in found if claim.sort == f"{interface} endpoint"), "")
        case _:
            return False
    return bool(made) and claim.scope == f"KeystoneAPI {resource.status.keystoneInstance}"


def _is_on_named_server(database: MariaDBDatabase, around: Around) -> bool:
    """Return whether the schema was made on the server that the label names now: a new label is no new generation."""
    galera = around.named(Galera, database.metadata.labels.get(SERVER_LABEL, ""))
    kept = database.status.hash.get(GALERA_KEY, "")
    return galera is not None and bool(kept) and kept == galera.metadata.uid
