"""A namespace that is only imagined: what files have, and what is put there beside."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from stackwright import services
from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.needs.need import Outside
from stackwright.blueprint.secret_values import encode
from stackwright.blueprint.service import Service
from stackwright.kube import clock
from stackwright.kube.builtin import Secret, StorageClass
from stackwright.kube.resource import ObjectMeta, R, Resource

C = TypeVar("C", bound=CustomResource)


@dataclass
class ImaginedWorld:
    """All objects of a namespace that is only imagined."""

    outside: Outside
    objects: dict[tuple[type[Resource], str], Resource] = field(default_factory=dict)
    told: set[tuple[str, str]] = field(default_factory=set)
    """The objects that were told already, by kind and name: several resources may read the same."""
    blueprint_of: Callable[[type[CustomResource]], Service[Any, Any] | None] = services.blueprint_of

    def __call__(self, kind: type[R], name: str, *, namespace: str = "") -> R | None:
        """Return the object of that name; every StorageClass is there, because nobody here knows which are.

        Of another namespace nothing is imagined.
        """
        found = self.objects.get((kind, name)) if namespace in ("", self.namespace) else None
        if found is None and kind is StorageClass:
            found = StorageClass(metadata=ObjectMeta(name=name))
        return found if isinstance(found, kind) else None

    def of_kind(self, kind: type[R]) -> list[R]:
        """Return all objects of a kind that somebody imagined."""
        return [item for item in self.objects.values() if isinstance(item, kind)]

    @property
    def namespace(self) -> str:
        """The namespace that is imagined."""
        return self.outside.namespace

    def provider(self, word: str, name: str, spec: JsonObject, *, alone: bool = True) -> Any:
        """Return a provider as a file has it, or with this spec; with what its service tells of it once it runs."""
        kind = services.providers()[word].kind
        return _told(self(kind, name) or _default(kind, name, spec), self, alone=alone)

    def offering(self, word: str, name: str, wish: Any) -> Any:
        """Return a provider as a file has it, or as its own service imagines one that offers what is wished for."""
        imagined = services.providers()[word].imagined
        assert imagined is not None, f"nobody says how a provider of {word} is imagined"  # noqa: S101  a bug of ours
        return imagined.report(self.provider(word, name, imagined.spec(wish)))

    def add(self, resource: R) -> R:
        """Put an object into the namespace; return it as it is there."""
        born = resource.metadata.creationTimestamp or clock.seconds(clock.now())
        metadata = msgspec.structs.replace(resource.metadata, namespace=self.namespace, creationTimestamp=born)
        placed = msgspec.structs.replace(_plain(resource), metadata=metadata)
        self.objects[type(resource), metadata.name] = placed
        return placed


def _plain(resource: R) -> R:
    """Return a Secret as the server keeps it: what was written as text is encoded."""
    if not isinstance(resource, Secret):
        return resource
    return msgspec.structs.replace(resource, data={**resource.data, **encode(resource.stringData)}, stringData={})


def secret_of(name: str, content: Mapping[str, str], annotations: Mapping[str, str] = MappingProxyType({})) -> Secret:
    """Return a Secret with texts in it, as the server keeps it."""
    metadata = ObjectMeta(name=name, annotations=dict(annotations))
    return Secret(metadata=metadata, data=encode(content), type="Opaque")


def _default(kind: type[C], name: str, spec: JsonObject) -> C:
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, kind)


def _told(resource: C, world: ImaginedWorld, *, alone: bool = True) -> Any:
    """Return a resource with what its service tells of it once it runs; one that is not `alone` needs more for that."""
    metadata = msgspec.structs.replace(resource.metadata, namespace=world.namespace)
    placed = msgspec.structs.replace(resource, metadata=metadata)
    blueprint = world.blueprint_of(type(resource))
    assert blueprint is not None  # noqa: S101  a provider is a service
    facts = Facts(name=metadata.name, namespace=metadata.namespace, image="") if alone else None
    return (
        msgspec.structs.replace(placed, status=blueprint.tell(placed, facts, world).status)
        if blueprint.tell
        else placed
    )
