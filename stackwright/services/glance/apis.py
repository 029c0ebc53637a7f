"""The APIs of a Glance: which pods each has, whom they serve, and where its images are."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from stackwright.blueprint.service import Endpoint, Volume
from stackwright.services.glance.kinds import DEFAULT, Glance, GlanceAPITemplate, GlanceStorage

PORT = 9292
SIZE = "10G"


@dataclass(frozen=True)
class Api:
    """One of glanceAPIs, with what it leaves to the whole filled in."""

    name: str
    template: GlanceAPITemplate
    listed: bool

    @property
    def split(self) -> bool:
        """Whether clients and services have pods of their own."""
        return self.template.type == "split"

    @property
    def components(self) -> "tuple[ApiComponent, ...]":
        """Its components; the one for clients comes first."""
        if self.split:
            return ApiComponent(self, f"{self.name}-external"), ApiComponent(
                self, f"{self.name}-internal", shows_locations=True
            )
        return (ApiComponent(self, self.name),)

    @property
    def external(self) -> bool:
        """Whether its images are in a store elsewhere."""
        return bool(self.template.storage.external)

    @property
    def shared(self) -> bool:
        """Whether pods on several nodes can write to its volume."""
        return self.template.storage.accessMode == "ReadWriteMany"


@dataclass(frozen=True)
class ApiComponent:
    """A component of an API; that of services says where an image is, so that they can take it from there."""

    api: Api
    name: str
    shows_locations: bool = False


def of(resource: Glance) -> tuple[Api, ...]:
    """Return the APIs of a Glance."""
    spec = resource.spec
    stated = spec.glanceAPIs or {DEFAULT: GlanceAPITemplate()}
    chosen = spec.keystoneEndpoint or next(iter(stated))
    return tuple(
        Api(name, _filled(resource, template), listed=name == chosen and template.type != "edge")
        for name, template in sorted(stated.items())
    )


def components(resource: Glance) -> Iterable[ApiComponent]:
    """Return the components of all APIs."""
    return (component for api in of(resource) for component in api.components)


def endpoints(resource: Glance) -> tuple[Endpoint, ...]:
    """Return the Services of each API; the catalog lists those of one."""
    return tuple(
        Endpoint(
            PORT,
            name=api.name,
            public=api.components[0].name,
            internal=api.components[-1].name,
            override=api.template.override.service,
            listed=api.listed,
        )
        for api in of(resource)
    )


def volumes(resource: Glance) -> Iterable[Volume]:
    """Return a volume for each API that keeps its images itself."""
    for api in of(resource):
        storage = api.template.storage
        if not api.external:
            size, storage_class = storage.storageRequest or "", storage.storageClass or ""
            yield Volume(api.name, size, SIZE, storage_class, shared=api.shared)


def _filled(resource: Glance, template: GlanceAPITemplate) -> GlanceAPITemplate:
    spec = resource.spec
    changes: dict[str, Any] = {
        "storage": _over(spec.storage, template.storage),
        "nodeSelector": spec.nodeSelector if template.nodeSelector is None else template.nodeSelector,
        "topologyRef": template.topologyRef or spec.topologyRef,
        "apiTimeout": template.apiTimeout or spec.apiTimeout,
        "extraMounts": (*spec.extraMounts, *template.extraMounts),
        "defaultConfigOverwrite": {**spec.defaultConfigOverwrite, **template.defaultConfigOverwrite},
    }
    return msgspec.structs.replace(template, **changes)


def _over(below: GlanceStorage, above: GlanceStorage) -> GlanceStorage:
    said = {name: value for name, value in msgspec.structs.asdict(above).items() if value is not None}
    return msgspec.structs.replace(below, **said)
