"""Another service's API, by its type in the catalog: Nova needs the API of type `placement`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api import paths
from stackwright.blueprint.interfaces import INTERNAL, PUBLIC
from stackwright.blueprint.needs.need import Need, Places, Resolved
from stackwright.blueprint.places import url_place
from stackwright.blueprint.providers import Sight
from stackwright.kube.plan import Ends, Wait


@dataclass(frozen=True)
class ApiServer:
    """An API of another service: its URLs by interface."""

    urls: Mapping[str, str]


@dataclass(frozen=True)
class ApiFacts:
    """Where another service's API is: `url` is for services, `public_url` for clients; `server` is its resource."""

    url: str
    public_url: str
    server: str
    # What its pods are called.
    pods: str


@dataclass(frozen=True, kw_only=True)
class Api(Need):
    """The API of a `type`; the field at `instance` names the resource that serves it, by default the `usual` one.

    One that is `optional` is not waited for: the service finds it in the catalog when it calls it, and the fact is None
    as long as nobody serves it here. Nor is it deployed where the user says that it is not wanted.
    """

    type: str
    usual: str
    instance: str = ""
    optional: bool = False
    condition: str = "InputReady"

    @property
    def word(self) -> str:
        """What provides it."""
        return self.type

    @property
    def dispensable(self) -> bool:
        """Whether the service works without it."""
        return self.optional

    def provided_by(self, resource: Any) -> str:
        """Return the name of the other service's resource."""
        return str((paths.find(resource.spec, self.instance) if self.instance else "") or self.usual)

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return the URLs of the API, once the other service says them."""
        other = sight.provider(self.type, self.provided_by(resource))
        offer: ApiServer | None = other.offer
        if self.optional and (offer is None or INTERNAL not in offer.urls):
            return Resolved(ready=True)
        if offer is None:
            advice = f", or name another one in spec.{self.instance}" if self.instance else ""
            message = f"{other} does not exist; create it{advice}"
            wait = Wait("ApiMissing", message, self.condition, ends=Ends.BY_AUTHOR)
            return Resolved(ready=False, waits=(wait,))
        if INTERNAL not in offer.urls:
            message = f"{other} does not say its endpoints yet"
            return Resolved(ready=False, waits=(Wait("ApiNotReady", message, self.condition),))
        pods = sight.providers[self.type].pods
        fact = ApiFacts(offer.urls[INTERNAL], offer.urls.get(PUBLIC, offer.urls[INTERNAL]), other.name, pods)
        return Resolved(ready=True, fact=fact)

    def places(self, fact: ApiFacts) -> Places:
        """Return where the API is."""
        return (url_place(fact.url),)

    def pods(self, fact: ApiFacts) -> str:
        """Return what the API's pods are called."""
        return fact.pods
