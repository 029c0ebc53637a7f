"""How a service enters Keystone: with its user at once, with its endpoints when they are known. Pure."""

from dataclasses import replace
from typing import Any

from stackwright.api.base import JsonObject, ObjectMeta
from stackwright.api.keystone import (
    KeystoneEndpoint,
    KeystoneEndpointSpec,
    KeystoneService,
    KeystoneServiceSpec,
)
from stackwright.blueprint.configuration import digest
from stackwright.blueprint.facts import Endpoints, IdentityFacts
from stackwright.blueprint.service import INTERNAL, PUBLIC, Identity, Look
from stackwright.controllers.service.resolved import Resolved
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.shapes.children import Child, child
from stackwright.services.keystone.kinds import KeystoneAPI

SERVICE_READY = "KeystoneServiceReady"
ENDPOINT_READY = "KeystoneEndpointReady"


def resolve(need: Identity, resource: Any, password: Resolved, look: Look) -> Resolved:
    """Return the need for a user and a place in the catalog, given what its password comes to."""
    by_job = resource.spec.provisioning == "Job"
    children = () if by_job else (child(_service(need, resource), condition=SERVICE_READY),)
    if not password.ready:
        return replace(password, children=children)
    name = resource.spec.keystoneInstance
    keystone = look(KeystoneAPI, name)
    urls = keystone.status.apiEndpoints if keystone is not None else {}
    if keystone is None or INTERNAL not in urls:
        waits = (_missing(name) if keystone is None else _silent(name),)
        return Resolved(ready=False, children=children, waits=waits)
    fact = IdentityFacts(
        url=urls[INTERNAL],
        public_url=urls.get(PUBLIC, urls[INTERNAL]),
        region=keystone.status.region or keystone.spec.region,
        user=resource.spec.serviceUser,
        password=password.fact,
    )
    return Resolved(ready=True, fact=fact, children=children)


def _missing(name: str) -> Wait:
    message = f"KeystoneAPI {name} does not exist; create it, or name another one in spec.keystoneInstance"
    return Wait("KeystoneMissing", message, SERVICE_READY, ends=Ends.BY_AUTHOR)


def _silent(name: str) -> Wait:
    return Wait("KeystoneNotReady", f"KeystoneAPI {name} does not say its endpoints yet", SERVICE_READY)


def _service(need: Identity, resource: Any) -> KeystoneService:
    name, spec = resource.metadata.name, resource.spec
    return KeystoneService(
        metadata=ObjectMeta(name=name),
        spec=KeystoneServiceSpec(
            serviceType=need.type,
            serviceName=name,
            serviceDescription=need.description,
            serviceUser=spec.serviceUser,
            secret=spec.secret,
            passwordSelector=spec.passwordSelectors.service,
            keystoneInstance=spec.keystoneInstance,
        ),
    )


def listed(need: Identity, resource: Any, endpoints: Endpoints) -> Child:
    """Return the endpoints of a service as its catalog entry has them."""
    name = resource.metadata.name
    spec = KeystoneEndpointSpec(
        serviceName=name, endpoints=_urls(need, endpoints), keystoneInstance=resource.spec.keystoneInstance
    )
    return child(KeystoneEndpoint(metadata=ObjectMeta(name=name), spec=spec), condition=ENDPOINT_READY)


def provisioned(need: Identity, resource: Any, fact: IdentityFacts, endpoints: Endpoints, look: Look) -> JsonObject:
    """Return what the chart's Job makes in Keystone: service, user, roles and endpoints; passwords by their Secrets."""
    name, spec = resource.metadata.name, resource.spec
    keystone = look(KeystoneAPI, spec.keystoneInstance)
    assert keystone is not None  # noqa: S101  the fact was taken from it
    made: JsonObject = {
        "url": fact.url,
        "region": fact.region,
        "admin": {
            "username": keystone.spec.adminUser,
            "project": keystone.spec.adminProject,
            "secret": keystone.spec.secret,
            "key": keystone.spec.passwordSelectors.admin,
        },
        "user": {"username": spec.serviceUser, "secret": spec.secret, "key": spec.passwordSelectors.service},
        "service": {"name": name, "type": need.type, "description": need.description},
        "endpoints": _urls(need, endpoints),
    }
    # Another password is another Job, and says nothing of itself by the name.
    return {**made, "hash": digest({**made, "password": fact.password})}


def _urls(need: Identity, endpoints: Endpoints) -> dict[str, str]:
    return {PUBLIC: f"{endpoints.public}{need.path}", INTERNAL: f"{endpoints.internal}{need.path}"}
