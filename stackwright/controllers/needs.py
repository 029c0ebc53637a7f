"""What the needs of services see, and what a controller that meets them reads, keeps and owns."""

from collections.abc import Iterable
from typing import Any

from stackwright import services
from stackwright.adapters.mariadb_grants import NEEDED
from stackwright.blueprint.generated import Reader
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import TYPES, Api, Census
from stackwright.blueprint.needs.need import Noted
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.service import Service
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.child import Child

# Every service is woken by these: which of them one needs may depend on its spec.
_COMMON = tuple(dict.fromkeys(word for of in TYPES for word in of.everywhere))


def sight(look: Look) -> Sight:
    """Return what needs see through a look."""
    return Sight(look, services.providers(), tuple(NEEDED))


def kinds_read(service: Service[Any, Any]) -> tuple[type[Resource], ...]:
    """Return the kinds that the needs of a service look at, so that the service is woken when one of them changes."""
    providers = services.providers()
    # Which API a need is for may depend on the resource.
    special = (word for of in _types(service) for word in of.words)
    words = dict.fromkeys((*_COMMON, *special, *(providers if Api in service.need_types else ())))
    read = (kind for of in _types(service) for kind in of.reads)
    return tuple(dict.fromkeys((*read, *(providers[word].kind for word in words if word in providers))))


def censuses(service: Service[Any, Any]) -> tuple[Census, ...]:
    """Return the kinds of which a service looks at all resources, each with what it looks at of them."""
    return tuple(need for need in service.needs if isinstance(need, Census))


def readers(service: Service[Any, Any]) -> tuple[Reader, ...]:
    """Return the kinds whose resources read Secrets that a service makes for them alone."""
    return tuple(reader for entry in service.secrets for reader in entry.readers)


def kinds_kept(service: Service[Any, Any]) -> tuple[type[Resource], ...]:
    """Return the kinds that the needs of a service keep."""
    return tuple(dict.fromkeys(kind for of in _types(service) for kind in of.keeps))


def kinds_owned(service: Service[Any, Any]) -> tuple[type[Resource], ...]:
    """Return the kinds that a service owns because of its needs."""
    return tuple(dict.fromkeys(kind for of in _types(service) for kind in of.owns))


def kept(service: Service[Any, Any], resource: Any, look: Look) -> Iterable[Resource]:
    """Yield the existing objects that the needs of a resource keep."""
    around = sight(look)
    for need in service.needs_of(resource):
        yield from need.kept(resource, around)


def list_confirmed(service: Service[Any, Any], resource: Any, look: Look) -> tuple[Child, ...]:
    """Return what the needs of a resource ask for once its pods are ready with what they came to."""
    around = sight(look)
    return tuple(item for need in service.needs_of(resource) for item in need.confirm(resource, around))


def list_settled(service: Service[Any, Any], resource: Any, look: Look) -> tuple[Noted, ...]:
    """Return what to write on existing objects once all that a resource runs works with what its needs came to."""
    around = sight(look)
    return tuple(item for need in service.needs_of(resource) for item in need.note_settled(resource, around))


def _types(service: Service[Any, Any]) -> list[type[Any]]:
    return sorted(service.need_types, key=lambda of: of.__name__)
