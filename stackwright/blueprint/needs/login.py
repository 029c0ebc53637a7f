"""A login to Keystone: the user that the service works as there. `CatalogEntry` creates that user."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from stackwright.api import paths
from stackwright.api.base import JsonObject
from stackwright.blueprint.interfaces import INTERNAL, PUBLIC
from stackwright.blueprint.needs.need import Imagination, Need, Places, Resolved, WantedPassword
from stackwright.blueprint.needs.password import key_of, read_password
from stackwright.blueprint.places import url_place
from stackwright.blueprint.providers import Sight
from stackwright.kube.plan import Ends, Wait

# The word of what provides it.
IDENTITY = "identity"


@dataclass(frozen=True)
class IdentityServer:
    """A Keystone: its URLs by interface, its region, and in which Secret its administrator is."""

    urls: Mapping[str, str]
    region: str
    administrator: JsonObject = field(default_factory=dict)


@dataclass(frozen=True)
class IdentityFacts:
    """Where Keystone is, and as whom the service works there; `url` is for services, `public_url` for clients.

    `by_user` says that a user has written the password into a Secret, and sees to the login at Keystone.
    """

    url: str
    public_url: str
    region: str
    user: str
    password: str = field(repr=False)
    by_user: bool = False


@dataclass(frozen=True, kw_only=True)
class Login(Need):
    """A login to the Keystone that the field at `instance` names, as the user that the field at `user` names.

    The password is in spec.secret, under the key that spec.passwordSelectors has for `selector`.
    """

    name: str = "identity"
    instance: str = "keystoneInstance"
    user: str = "serviceUser"
    selector: str = "service"
    condition: str = "KeystoneServiceReady"
    everywhere: ClassVar[tuple[str, ...]] = (IDENTITY,)

    @property
    def word(self) -> str:
        """The word of what provides it."""
        return IDENTITY

    def provided_by(self, resource: Any) -> str:
        """Return the name of the Keystone."""
        return str(paths.find(resource.spec, self.instance) or "")

    def passwords(self, resource: Any) -> Iterator[WantedPassword]:
        """Yield the key of the user's password."""
        yield WantedPassword(key_of(resource, self.selector))

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return where Keystone is, and how to log in, once both are known."""
        password = read_password(resource, key_of(resource, self.selector), sight)
        if not password.ready:
            return password
        keystone = sight.provider(self.word, self.provided_by(resource))
        offer: IdentityServer | None = keystone.offer
        if offer is None:
            message = f"{keystone} does not exist; create it, or name another one in spec.{self.instance}"
            wait = Wait("KeystoneMissing", message, self.condition, ends=Ends.BY_AUTHOR)
            return Resolved(ready=False, waits=(wait,))
        if INTERNAL not in offer.urls:
            wait = Wait("KeystoneNotReady", f"{keystone} does not say its endpoints yet", self.condition)
            return Resolved(ready=False, waits=(wait,))
        fact = IdentityFacts(
            url=offer.urls[INTERNAL],
            public_url=offer.urls.get(PUBLIC, offer.urls[INTERNAL]),
            region=offer.region,
            user=str(paths.find(resource.spec, self.user)),
            password=password.fact,
        )
        return Resolved(ready=True, fact=fact)

    def places(self, fact: IdentityFacts) -> Places:
        """Return where Keystone is."""
        return (url_place(fact.url),)

    def pods(self, fact: IdentityFacts) -> str:
        """Return what Keystone's pods are called."""
        return "keystone"

    def imagine(self, resource: Any, world: Imagination) -> None:
        """Put a Keystone there, where a file says that it is, or where it would be."""
        name = self.provided_by(resource)
        spec = {"secret": resource.spec.secret, "databaseInstance": "openstack"}
        # Nothing is around it here; one that runs elsewhere says where it is all the same.
        keystone = world.provider(self.word, name, spec, alone=False)
        url = f"http://{name}-internal.{world.outside.namespace}.svc:5000"
        urls = keystone.status.apiEndpoints or {PUBLIC: url, INTERNAL: url}
        status = msgspec.structs.replace(keystone.status, apiEndpoints=urls, region=keystone.spec.region_name)
        world.add(msgspec.structs.replace(keystone, status=status))
