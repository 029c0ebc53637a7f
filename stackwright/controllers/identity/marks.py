"""Whose a thing in Keystone is: the mark that it carries names a resource, and the cloud of that resource. Pure.

Several clouds may share one Keystone, and have resources of equal names. A cloud is known by the uid of its
KeystoneAPI. One that is created again, or restored from a backup, has another uid. So each note keeps the uid under
which its things were made, and what is noted in a namespace belongs to its KeystoneAPI.

Operators before this one wrote marks without a cloud. Such a thing is the maker's, and the maker has a note with its
id; then it gets a whole mark. A Keystone that we deploy may have been restored without the notes: there the name is
enough.
"""

import re
from dataclasses import dataclass
from typing import Literal

from stackwright.adapters.identity import Endpoint, Service, User
from stackwright.kube.resource import Key, Value

# What is made in Keystone for a resource.
Thing = Service | User | Endpoint

_MARK = re.compile(r"(\S+) ([^/\s]+)/(\S+)(?: of cloud (\S+))?( \(adopted\))?")


class Made(Value, frozen=True, kw_only=True):
    """One thing in Keystone. Without an id it was about to be made: if there is one of that name now, it is ours."""

    what: Literal["service", "user", "endpoint"]
    name: tuple[str, ...]
    id: str = ""


def made_service(service: Service) -> Made:
    """Return a service as it is noted."""
    return Made(what="service", name=(service.type, service.name), id=service.id)


def made_user(user: User) -> Made:
    """Return a user as it is noted."""
    return Made(what="user", name=(user.name,), id=user.id)


def made_endpoint(endpoint: Endpoint) -> Made:
    """Return an endpoint as it is noted."""
    return Made(what="endpoint", name=(endpoint.service_id, endpoint.region, endpoint.interface), id=endpoint.id)


def as_noted(thing: Thing) -> Made:
    """Return a thing in Keystone as it is noted."""
    match thing:
        case Service():
            return made_service(thing)
        case User():
            return made_user(thing)
        case Endpoint():
            return made_endpoint(thing)


@dataclass(frozen=True)
class Mark:
    """What a thing in Keystone says of its owner. An adopted thing was there before, and is never deleted."""

    kind: str
    key: Key
    cloud: str = ""
    adopted: bool = False

    def __str__(self) -> str:
        cloud = f" of cloud {self.cloud}" if self.cloud else ""
        return f"{self.kind} {self.key.namespace}/{self.key.name}{cloud}{' (adopted)' if self.adopted else ''}"


def read_mark(text: str) -> Mark | None:
    """Return the mark that a text is; None if it is none of ours."""
    found = _MARK.fullmatch(text)
    if found is None:
        return None
    kind, namespace, name, cloud, adopted = found.groups()
    return Mark(kind, Key(namespace, name), cloud or "", adopted is not None)


@dataclass(frozen=True)
class Notes:
    """What the notes of a namespace say about one Keystone.

    `cloud` is the cloud of the resource's own note, `clouds` are those of all notes, and `ids` what is listed in them.
    """

    cloud: str = ""
    clouds: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()


NOTHING = Notes()


@dataclass(frozen=True)
class Owner:
    """A resource that has things in a Keystone. In one that is `external`, others may have things of equal names."""

    kind: str
    key: Key
    cloud: str = ""
    clouds: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    external: bool = False

    @property
    def mark(self) -> str:
        """What a thing says that is made for the resource."""
        return str(Mark(self.kind, self.key, self.cloud))

    @property
    def adopts(self) -> str:
        """What a thing says that nobody marked before the resource changed it."""
        return str(Mark(self.kind, self.key, self.cloud, adopted=True))

    def has(self, thing: Thing) -> bool:
        """Return whether a thing carries the mark of this very resource."""
        mark = read_mark(thing.made_for)
        return mark is not None and (mark.kind, mark.key) == (self.kind, self.key) and not self.is_anothers(thing)

    def is_anothers(self, thing: Thing, *, restored: bool = True) -> bool:
        """Return whether a thing belongs to another cloud, or to another namespace.

        Whose things of this namespace are, its resources settle by their claims. In a Keystone that we deploy, a thing
        with the name of the resource may be `restored` from a backup, without the note.
        """
        if not thing.made_for:
            return False
        mark = read_mark(thing.made_for)
        if mark is None or mark.key.namespace != self.key.namespace:
            return True
        if mark.cloud in self.clouds or (not mark.cloud and thing.id in self.ids):
            return False
        if self.external:
            return True
        return bool(mark.cloud) and not (restored and (mark.kind, mark.key) == (self.kind, self.key))

    def renewed(self, thing: Thing) -> str:
        """Return the mark that a thing should have: a whole one if it was made for this resource, else what it has."""
        mark = read_mark(thing.made_for)
        if mark is not None and self.has(thing):
            return self.adopts if mark.adopted else self.mark
        return thing.made_for


def owner(kind: str, key: Key, cloud: str, notes: Notes, *, external: bool) -> Owner:
    """Return a resource, whether or not it is there, as the owner of things in the Keystone of a cloud."""
    return Owner(kind, key, notes.cloud or cloud, frozenset({cloud, *notes.clouds}), notes.ids, external)
