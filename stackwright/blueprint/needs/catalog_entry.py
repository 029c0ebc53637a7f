"""A place in Keystone's catalog: the service with its user at once, its endpoints when they are known."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from stackwright.api import paths
from stackwright.api.annotations import CONFIGURED_WITH
from stackwright.api.base import JsonObject, ObjectMeta, Resource
from stackwright.api.keystone import KeystoneEndpoint, KeystoneEndpointSpec, KeystoneService, KeystoneServiceSpec
from stackwright.blueprint import value_types
from stackwright.blueprint.claims import ANOTHER_NAME, NAME, Claim, claim_object
from stackwright.blueprint.digests import digest
from stackwright.blueprint.facts import Endpoints, Facts
from stackwright.blueprint.interfaces import INTERNAL, PUBLIC
from stackwright.blueprint.name_folding import fold_name
from stackwright.blueprint.needs.api import ApiServer
from stackwright.blueprint.needs.login import IDENTITY, IdentityFacts, IdentityServer
from stackwright.blueprint.needs.need import F, Need, Provision, Resolved
from stackwright.blueprint.needs.password import key_of
from stackwright.blueprint.providers import Sight
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import REQUESTED, Finding
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.child import Child, child

# The chart's own job that makes user, service and endpoints.
IDENTITY_CREATE = "identity-create"

# How a claim on an entry of a catalog begins.
SERVICE_OF_TYPE = "service of type"


@dataclass(frozen=True, kw_only=True)
class CatalogEntry(Need):
    """An entry of the catalog, with the `type` by which clients find the service, and the user that it works as.

    `path` comes behind the URLs of the endpoints. `login` is the name of the service's Login: it says at which
    Keystone, and as whom. `urls` is the field of the status that has the URLs by interface: services that need this
    API read it there. Where a child serves the API, `served_by` returns the endpoints that it reports.
    """

    owns: ClassVar[tuple[type[Resource], ...]] = (KeystoneService, KeystoneEndpoint)
    provisions: ClassVar[tuple[Provision, ...]] = (
        Provision(IDENTITY_CREATE, "identity", value_types.IDENTITY, "KeystoneServiceReady"),
    )
    type: str
    description: str
    path: str = ""
    login: str = "identity"
    instance: str = "keystoneInstance"
    user: str = "serviceUser"
    selector: str = "service"
    served_by: Callable[[Any, Sight], Endpoints | None] | None = None
    urls: str = "apiEndpoints"
    registered: str = "KeystoneServiceReady"
    listed: str = "KeystoneEndpointReady"

    @property
    def word(self) -> str:
        """The word of what provides it."""
        return IDENTITY

    def provided_by(self, resource: Any) -> str:
        """Return the name of the Keystone."""
        return str(paths.find(resource.spec, self.instance) or "")

    def offer(self, resource: Any) -> ApiServer:
        """Return what those who need this API learn of a resource that serves it."""
        return ApiServer(paths.find(resource.status, self.urls) or {})

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return the service's entry and its user; nothing waits for them."""
        if resource.spec.provisioning == "Job":
            return Resolved(ready=True)
        present = sight(KeystoneService, resource.metadata.name)
        used = (
            present.metadata.annotations.get(CONFIGURED_WITH, "") if present is not None else _version(resource, sight)
        )
        return Resolved(ready=True, children=(self._service(resource, used),))

    def _service(self, resource: Any, used: str) -> Child:
        """Return the entry and its user; `used` is the version of the Secret that the service is configured with.

        A user of Keystone has one password. It is changed there when pods are ready that have the new one, and not
        while something holds the service up: the former pods would be locked out.
        """
        name, spec = resource.metadata.name, resource.spec
        service = KeystoneService(
            metadata=ObjectMeta(name=name, annotations={CONFIGURED_WITH: used} if used else {}),
            spec=KeystoneServiceSpec(
                serviceType=self.type,
                serviceName=name,
                serviceDescription=self.description,
                serviceUser=str(paths.find(spec, self.user)),
                secret=spec.secret,
                passwordSelector=key_of(resource, self.selector),
                keystoneInstance=self.provided_by(resource),
            ),
        )
        return child(service, condition=self.registered)

    def complete(self, resource: Any, facts: Facts, sight: Sight) -> Resolved:
        """Return the endpoints, once they are known: as a resource, or as values for the chart's Job."""
        served = self.served_by(resource, sight) if self.served_by is not None else facts.endpoints
        if not served:
            return Resolved(ready=True, findings=self._unserved(resource))
        urls = self._urls(served)
        if resource.spec.provisioning == "Job":
            return Resolved(ready=True, values={"provision": {"identity": self._job(resource, facts, sight)}})
        name = resource.metadata.name
        spec = KeystoneEndpointSpec(serviceName=name, endpoints=urls, keystoneInstance=self.provided_by(resource))
        endpoint = KeystoneEndpoint(metadata=ObjectMeta(name=name), spec=spec)
        return Resolved(ready=True, children=(child(endpoint, condition=self.listed),))

    def announce(self, resource: Any, facts: F, lacking: tuple[str, ...], sight: Sight) -> tuple[F, Resolved]:
        """Return the facts with the former endpoints until the API serves; then wait until the catalog names it."""
        wanted, told = facts.endpoints, self.offer(resource).urls
        if wanted is None:
            return facts, Resolved(ready=True)
        # A status that names only some of the interfaces takes none out of the catalog.
        former = Endpoints(**{name: told[name] for name in wanted.by_interface if name in told})
        if lacking and former != wanted and former.by_interface.keys() == wanted.by_interface.keys():
            message = f"The catalog names {former.public} until there is a pod that is ready of: {', '.join(lacking)}"
            finding = Finding(self.listed, "False", "Waiting", message, "Info")
            return replace(facts, endpoints=former), Resolved(ready=True, findings=(finding,))
        # The catalog follows whatever pods there are, so that what is to go may make room for them soon.
        if not self._is_behind(resource, wanted, sight):
            return facts, Resolved(ready=True)
        message = f"The catalog does not name {wanted.public} yet; what it names stays until then"
        return facts, Resolved(ready=True, waits=(Wait("CatalogFollows", message, self.listed),))

    def _is_behind(self, resource: Any, wanted: Endpoints, sight: Sight) -> bool:
        """Return whether the catalog names other URLs, and will follow: not if somebody else says what it names."""
        name = resource.metadata.name
        present = sight(KeystoneEndpoint, name)
        named = {each.interface: each.url for each in present.status.endpoints} if present is not None else {}
        label = f"{KeystoneEndpoint.kind.name}/{name}"
        is_set = any(entry.resource == label for entry in resource.status.overridden)
        differs = any(named.get(interface, url) != url for interface, url in self._urls(wanted).items())
        return differs and not is_set

    def _unserved(self, resource: Any) -> tuple[Finding, ...]:
        """Return what keeps a service from being ready whose child does not say yet where it serves.

        The child may become ready while a pass runs, which then ends with no word of endpoints.
        """
        if self.served_by is None:
            return ()
        message = f"Endpoints of {resource.metadata.name} are created when its API says where it is served"
        return (Finding(self.listed, "False", REQUESTED, message, "Info"),)

    def confirm(self, resource: Any, sight: Sight) -> Iterator[Child]:
        """Yield the entry, with the password that pods are ready with."""
        if resource.spec.provisioning != "Job":
            yield self._service(resource, _version(resource, sight))

    def claims(self, resource: Any, sight: Sight) -> Iterator[Claim]:
        """Yield entry, endpoints and user, as resources and in Keystone."""
        name, spec = resource.metadata.name, resource.spec
        yield from (claim_object(of, name, owned=True) for of in self.owns)
        keystone = str(sight.provider(self.word, self.provided_by(resource)))
        yield claim_entry(self.type, name, keystone)
        terms = (spec.secret, key_of(resource, self.selector))
        yield claim_user(str(paths.find(spec, self.user)), keystone, terms)

    def server(self, resource: Any, fact: Any) -> str:
        """Return nothing: the operator, or a Job, talks to Keystone for it."""
        return ""

    def provision(self, resource: Any, facts: Any, sight: Sight) -> JsonObject:
        """Return what the chart's Job makes where no operator does."""
        return {"identity": self._job(resource, facts, sight)} if facts.endpoints else {}

    def _job(self, resource: Any, facts: Any, sight: Sight) -> JsonObject:
        """Return what a Job makes in Keystone: service, user, roles and endpoints; passwords by their Secrets."""
        spec, login = resource.spec, getattr(facts, self.login)
        offer: IdentityServer = sight.provider(self.word, self.provided_by(resource)).offer
        assert isinstance(login, IdentityFacts)  # noqa: S101  the login is a need of the same service
        made: JsonObject = {
            "url": login.url,
            "region": login.region,
            "admin": offer.administrator,
            "user": {"username": login.user, "secret": spec.secret, "key": key_of(resource, self.selector)},
            "service": {"name": resource.metadata.name, "type": self.type, "description": self.description},
            "endpoints": self._urls(facts.endpoints),
        }
        # Another password is another Job, and says nothing of itself by the name.
        return {**made, "hash": digest({**made, "password": login.password})}

    def _urls(self, endpoints: Endpoints) -> dict[str, str]:
        return {interface: f"{url}{self.path}" for interface, url in endpoints.by_interface.items()}


def _version(resource: Any, sight: Sight) -> str:
    secret = sight(Secret, resource.spec.secret)
    return secret.metadata.resourceVersion if secret is not None else ""


def claim_entry(of_type: str, name: str, keystone: str, path: str = NAME) -> Claim:
    """Return the claim on an entry of a Keystone's catalog."""
    if is_own_type(of_type):
        return claim_own_entry(keystone)
    advice = "choose another name" if path != NAME else ANOTHER_NAME
    return Claim(f"{SERVICE_OF_TYPE} {of_type}", name, keystone, path, advice)


def claim_user(name: str, keystone: str, terms: tuple[str, ...]) -> Claim:
    """Return the claim on a user of a Keystone; those who give it the same password share it."""
    advice = "name another user, or take its password from the same Secret and key"
    return Claim("user", fold_name(name), keystone, "spec.serviceUser", advice, terms)


# Keystone's own place in its catalog. Clients find it by the type alone, so a second entry of that type is as bad as
# another URL in the first.


def is_own_type(of_type: str) -> bool:
    """Return whether a type of the catalog is Keystone's own."""
    return fold_name(of_type) == IDENTITY


def claim_own_entry(keystone: str) -> Claim:
    """Return the claim on Keystone's own entry, whatever its name."""
    return Claim(f"{SERVICE_OF_TYPE} {IDENTITY}", "", keystone, "spec.serviceType", "register another type")


def claim_own_endpoint(interface: str, keystone: str) -> Claim:
    """Return the claim on one of Keystone's own endpoints."""
    return Claim(f"{interface} endpoint", IDENTITY, keystone, f"spec.endpoints.{interface}", "remove it")


def claim_own(keystone: str, administrator: str) -> Iterator[Claim]:
    """Yield what is a Keystone's own, wherever it runs: its entry, its endpoints, and its administrator."""
    yield replace(claim_own_entry(keystone), innate=True)
    for interface in (PUBLIC, INTERNAL, "admin"):
        yield replace(claim_own_endpoint(interface, keystone), innate=True)
    yield replace(claim_user(administrator, keystone, ()), innate=True)
