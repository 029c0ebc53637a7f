"""What is wrong with a resource of Nova beyond what its schema can say. The words are upstream's where it has some."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from stackwright.api.exposure import RoutedOverride
from stackwright.api.service import RabbitMqConfig
from stackwright.blueprint import apis, places
from stackwright.blueprint.interfaces import INTERNAL, PUBLIC
from stackwright.blueprint.look import Look
from stackwright.blueprint.refusal import REQUIRED, Problem, Refusal
from stackwright.services.nova.kinds.cell import CELL0, NovaCell
from stackwright.services.nova.kinds.nova import Nova, NovaCellTemplate
from stackwright.services.nova.kinds.parts import IRONIC, MetadataOverride, NovaComputeTemplate, NoVncProxyOverride

LONGEST_CELL, LONGEST_COMPUTE = 35, 20
_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
# Which files of its configuration a user may replace, by the kind.
_FILES: Mapping[str, tuple[str, ...]] = {
    "NovaAPI": ("policy.yaml", "api-paste.ini", "nova_api_audit_map.conf"),
    "NovaMetadata": ("api-paste.ini",),
    "NovaCompute": ("provider*.yaml",),
    "NovaScheduler": (),
    "NovaConductor": (),
    "NovaNoVNCProxy": (),
}


def service_problems(resource: Any, look: Look) -> Iterator[Problem]:
    """Yield what is wrong with a service of Nova that stands alone, or that its parent wrote."""
    spec, kind = resource.spec, resource.kind.name
    yield from overwritten("spec", kind, spec.defaultConfigOverwrite)
    yield from _name("spec.cellName", getattr(spec, "cellName", ""), LONGEST_CELL)
    yield from _name("spec.computeName", getattr(spec, "computeName", ""), LONGEST_COMPUTE)
    yield from _urls(spec)
    yield from _replicas("spec", getattr(spec, "computeDriver", ""), spec.replicas)
    if kind == "NovaAPI":
        yield from _endpoints("spec.override.service", spec.override.service)
        yield from apis.url_problems(spec.override.service, "spec.override.service")
    if kind in ("NovaMetadata", "NovaNoVNCProxy"):
        yield from apis.url_problems(_of_service(spec.override), "spec.override")
    if kind == "NovaMetadata" and not _is_said(spec, "apiDatabase") and not _is_said(spec, "cellDatabase"):
        sentence = "is empty, and so are apiDatabaseHostname and cellDatabaseSecret; give it a database"
        yield "spec.apiDatabaseSecret", sentence


def _urls(spec: Any) -> Iterator[Problem]:
    """Yield the URLs of Keystone that are none."""
    for field in ("keystoneAuthURL", "keystonePublicAuthURL"):
        if (url := getattr(spec, field, "")) and not places.is_url(url):
            yield f"spec.{field}", "is no URL; write http(s)://host[:port][/path]"


def _of_service(override: MetadataOverride | NoVncProxyOverride) -> dict[str, RoutedOverride]:
    """Return the override of the only Service that there is."""
    return {"service": override.service} if override.service is not None else {}


def _is_said(spec: Any, fields: str) -> bool:
    return bool(getattr(spec, f"{fields}Secret") or getattr(spec, f"{fields}Hostname"))


def cell_problems(resource: NovaCell, look: Look) -> Iterator[Problem]:
    """Yield what is wrong with a cell."""
    spec = resource.spec
    yield from _name("spec.cellName", spec.cellName, LONGEST_CELL)
    yield from _urls(spec)
    yield from _of_cell("spec", spec.cellName, spec)


def nova_problems(resource: Nova, look: Look) -> Iterator[Problem]:
    """Yield what is wrong with a whole Nova."""
    spec = resource.spec
    cells = spec.cellTemplates
    if CELL0 not in cells:
        words = "cell0 specification is missing, cell0 key is required in cellTemplates"
        yield "spec.cellTemplates", Refusal(words, reason=REQUIRED)
    for name, cell in sorted(cells.items()):
        path = f"spec.cellTemplates[{name}]"
        yield from _named(path, name, LONGEST_CELL)
        yield from _of_cell(path, name, cell)
        if cell.metadataServiceTemplate.enabled and is_metadata_global(resource):
            yield (
                f"{path}.metadataServiceTemplate.enabled",
                Refusal(
                    "should be false as metadata is enabled on the top level too. The metadata service can be either "
                    "enabled on top or in the cells but not in both places at the same time.",
                    value=True,
                ),
            )
    yield from _shared_buses(resource)
    yield from overwritten("spec.apiServiceTemplate", "NovaAPI", spec.apiServiceTemplate.defaultConfigOverwrite)
    metadata = spec.metadataServiceTemplate
    yield from overwritten("spec.metadataServiceTemplate", "NovaMetadata", metadata.defaultConfigOverwrite)
    yield from apis.url_problems(_of_service(metadata.override), "spec.metadataServiceTemplate.override")
    services = spec.apiServiceTemplate.override.service
    yield from _endpoints("spec.apiServiceTemplate.override.service", services)
    yield from apis.url_problems(services, "spec.apiServiceTemplate.override.service")
    if spec.auth.applicationCredentialSecret:
        sentence = "application credentials are not supported yet; remove it, and the service's password is used"
        yield "spec.auth.applicationCredentialSecret", sentence


def is_metadata_global(resource: Nova) -> bool:
    """Return whether the metadata service runs for all cells: upstream's default."""
    return resource.spec.metadataServiceTemplate.enabled is not False


def bus_of(resource: Nova, cell: str) -> RabbitMqConfig:
    """Return the broker of a cell; cell0 shares that of the API."""
    spec = resource.spec
    if cell == CELL0:
        return spec.messagingBus or RabbitMqConfig(cluster=spec.apiMessageBusInstance or "rabbitmq")
    said = spec.cellTemplates[cell]
    return said.messagingBus or RabbitMqConfig(cluster=said.cellMessageBusInstance or f"rabbitmq-{cell}")


def _shared_buses(resource: Nova) -> Iterator[Problem]:
    """Yield the cells that share a broker without a virtual host of their own: their computes would hear each other."""
    first: dict[tuple[str, str], str] = {}
    for cell in sorted(resource.spec.cellTemplates, key=lambda name: (name != CELL0, name)):
        bus = bus_of(resource, cell)
        other = first.setdefault((bus.cluster, bus.vhost), cell)
        if other not in (cell, CELL0):
            words = f"RabbitMqCluster CR need to be uniq per cell. It's duplicated with cell: {other}"
            yield (
                f"spec.cellTemplates[{cell}].{_field_of_bus(resource.spec.cellTemplates[cell])}",
                Refusal(f"{words}; or give each cell a vhost of its own", bus.cluster),
            )
        elif other != cell and _has_superconductor(resource):
            yield (
                f"spec.cellTemplates[{cell}].messagingBus.cluster",
                "is the broker of the API; name another one, give the cell a vhost of its own, or set replicas of "
                "cell0's conductors to 0, so that those of this cell do the work of both",
            )


def _field_of_bus(cell: NovaCellTemplate) -> str:
    """Return which field names the broker of a cell."""
    older = cell.messagingBus is None and cell.cellMessageBusInstance
    return "cellMessageBusInstance" if older else "messagingBus.cluster"


def _has_superconductor(resource: Nova) -> bool:
    """Return whether cell0 has conductors: else those of another cell, on the same broker, do their work."""
    cell0 = resource.spec.cellTemplates.get(CELL0)
    return cell0 is None or cell0.conductorServiceTemplate.replicas != 0


def _of_cell(path: str, name: str, cell: NovaCellTemplate | Any) -> Iterator[Problem]:
    metadata = cell.metadataServiceTemplate
    if name == CELL0:
        if metadata.enabled:
            yield f"{path}.metadataServiceTemplate.enabled", Refusal("should be false for cell0", value=True)
        if cell.noVNCProxyServiceTemplate.enabled:
            yield f"{path}.noVNCProxyServiceTemplate.enabled", Refusal("should be false for cell0", value=True)
        if cell.novaComputeTemplates:
            # Upstream prints the name of the field here, not its value.
            words = "should have zero elements for cell0"
            yield f"{path}.novaComputeTemplates", Refusal(words, "novaComputeTemplates")
    yield from overwritten(f"{path}.metadataServiceTemplate", "NovaMetadata", metadata.defaultConfigOverwrite)
    yield from apis.url_problems(_of_service(metadata.override), f"{path}.metadataServiceTemplate.override")
    proxy = cell.noVNCProxyServiceTemplate
    yield from apis.url_problems(_of_service(proxy.override), f"{path}.noVNCProxyServiceTemplate.override")
    for compute, template in sorted(cell.novaComputeTemplates.items()):
        yield from _of_compute(f"{path}.novaComputeTemplates[{compute}]", compute, template)


def _of_compute(path: str, name: str, template: NovaComputeTemplate) -> Iterator[Problem]:
    yield from _named(path, name, LONGEST_COMPUTE)
    yield from _replicas(path, template.computeDriver, template.replicas)
    yield from overwritten(path, "NovaCompute", template.defaultConfigOverwrite)


def _replicas(path: str, driver: str, replicas: int) -> Iterator[Problem]:
    """Yield that a compute of Ironic has more pods than one."""
    if driver == IRONIC and replicas > 1:
        yield f"{path}.replicas", Refusal(f"should be max 1 for {IRONIC}", replicas)


def _endpoints(path: str, overrides: Iterable[str]) -> Iterator[Problem]:
    """Yield the overrides of Services that an API does not have."""
    for name in sorted(set(overrides) - {PUBLIC, INTERNAL}):
        yield f"{path}[{name}]", Refusal(f"invalid endpoint type: {name}", name)


def _name(path: str, name: str, longest: int) -> Iterator[Problem]:
    """Yield what is wrong with a name that may be left out."""
    if name:
        yield from _named(path, name, longest)


def _named(path: str, name: str, longest: int) -> Iterator[Problem]:
    """Yield what is wrong with the name of a cell or of a compute."""
    if len(name) > longest:
        # Upstream counts so: a compute's name may have 20 characters, and its sentence says that it may not.
        limit = longest + 1 if longest == LONGEST_CELL else longest
        yield path, Refusal(f"should be shorter than {limit} characters", name)
    if not re.fullmatch(_NAME, name):
        yield path, Refusal(f"should match with the regex '{_NAME}'", name)


def overwritten(path: str, kind: str, files: Iterable[str]) -> Iterator[Problem]:
    """Yield the files that a user may not replace."""
    allowed = _FILES[kind]
    for name in files:
        if not any(fnmatchcase(name, pattern) for pattern in allowed):
            words = f"Only the following keys are valid: {', '.join(allowed) or 'none'}"
            yield f"{path}.defaultConfigOverwrite", Refusal(words, name)
