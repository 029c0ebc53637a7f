"""The metadata service: it tells servers about themselves, for all cells or for one."""

from collections.abc import Iterator

import msgspec

from stackwright.api.exposure import RoutedOverride, RoutedSettings
from stackwright.blueprint import ini, oslo, serving
from stackwright.blueprint.ini import Setting
from stackwright.blueprint.interfaces import INTERNAL
from stackwright.blueprint.network import Network
from stackwright.blueprint.places import url_place
from stackwright.blueprint.service import Component, ConfigFile, Endpoint, Export, Service
from stackwright.blueprint.workloads import Port
from stackwright.services.nova import facts as needs
from stackwright.services.nova import programs, settings
from stackwright.services.nova.api import OPTIONS
from stackwright.services.nova.checks import service_problems
from stackwright.services.nova.facts import NovaFacts
from stackwright.services.nova.kinds.parts import MetadataOverride
from stackwright.services.nova.kinds.services import NovaMetadata

PORT = 8775
PROCESSES = 2
SNIPPET = "05-nova-metadata.conf"


def files(resource: NovaMetadata, facts: NovaFacts) -> tuple[ConfigFile, ...]:
    """Return the files that the metadata service reads."""
    said = settings.metadata(facts, of_cell=bool(resource.spec.cellName))
    return (*settings.files(resource, said), programs.METADATA, programs.cells(resource))


def serve(resource: NovaMetadata) -> str:
    """Return the command of the metadata service."""
    return oslo.uwsgi(serving.place("nova"), PORT, processes=PROCESSES, timeout=resource.spec.apiTimeout)


def endpoints(resource: NovaMetadata) -> tuple[Endpoint, ...]:
    """Return the API: Neutron's agents ask it, and nobody else."""
    said = routed(resource.spec.override)
    return (Endpoint(port=PORT, internal="metadata", override=said, interfaces=(INTERNAL,)),)


def routed(override: MetadataOverride) -> dict[str, RoutedOverride]:
    """Return what the user says of the Service, by interface."""
    said = override.service
    if said is None:
        return {}
    spec = RoutedSettings(**msgspec.structs.asdict(said.spec)) if said.spec is not None else None
    return {INTERNAL: RoutedOverride(metadata=said.metadata, spec=spec)}


def exports(resource: NovaMetadata, facts: NovaFacts) -> Iterator[Export]:
    """Yield how Neutron's agents outside of the cluster reach the service: under upstream's name, and the seed's."""
    if facts.endpoints is None:
        return
    host, port = url_place(facts.endpoints.internal)
    said: dict[str, Setting] = {
        "nova_metadata_host": host,
        "nova_metadata_port": port,
        "nova_metadata_protocol": "http",
        "metadata_proxy_shared_secret": facts.shared_secret,
    }
    content = {SNIPPET: ini.render({"DEFAULT": said})}
    for name in ("neutron-config", "compute-config"):
        yield Export(f"{facts.name}-{name}", content, condition="NovaComputeServiceConfigReady")


METADATA = Service(
    name="nova-metadata",
    chart="nova",
    image="nova",
    kind=NovaMetadata,
    facts=NovaFacts,
    user="nova",
    needs=(
        needs.LOGIN,
        needs.MESSAGING,
        needs.CACHE,
        needs.METADATA_SECRET,
        needs.OPTIONAL_API_DATABASE,
        needs.OPTIONAL_CELL_DATABASE,
    ),
    endpoints=endpoints,
    components=(
        Component(
            "metadata",
            command=serve,
            files=files,
            description="The metadata service: a Deployment called like the release.",
            suffix="",
            ports=(Port("api", PORT),),
            probe="/",
        ),
    ),
    exports=exports,
    tell=programs.tell,
    network=Network(dials=settings.DIALS),
    problems=service_problems,
    options=OPTIONS,
    unread=("networkAttachments", "topologyRef", "serviceAccount"),
)
