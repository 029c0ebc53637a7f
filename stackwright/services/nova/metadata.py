"""The metadata service: it tells servers about themselves, for all cells or for one."""

from collections.abc import Iterator

from stackwright.blueprint import ini, oslo, serving
from stackwright.blueprint.claims import Claim, claim_object
from stackwright.blueprint.ini import Setting
from stackwright.blueprint.interfaces import INTERNAL
from stackwright.blueprint.look import Look
from stackwright.blueprint.network import Network
from stackwright.blueprint.outside_addresses import is_url_inside
from stackwright.blueprint.places import url_place
from stackwright.blueprint.service import Component, ConfigFile, Endpoint, Export, Service, Told
from stackwright.blueprint.workloads import Port
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import Finding
from stackwright.services.nova import facts as needs
from stackwright.services.nova import programs, settings
from stackwright.services.nova.api import OPTIONS
from stackwright.services.nova.checks import service_problems
from stackwright.services.nova.facts import NovaFacts
from stackwright.services.nova.kinds.services import NovaMetadata

PORT = 8775
PROCESSES = 2
SNIPPET = "05-nova-metadata.conf"
CONDITION, NOT_REACHABLE = "NovaComputeServiceConfigReady", "NotReachable"


def files(resource: NovaMetadata, facts: NovaFacts) -> tuple[ConfigFile, ...]:
    """Return the files that the metadata service reads."""
    said = settings.metadata(facts, of_cell=bool(resource.spec.cellName))
    return (*settings.files(resource, said), programs.METADATA, programs.cells(resource), programs.given(facts))


def serve(resource: NovaMetadata) -> str:
    """Return the command of the metadata service."""
    return oslo.uwsgi(serving.place("nova"), PORT, processes=PROCESSES, timeout=resource.spec.apiTimeout)


def endpoints(resource: NovaMetadata) -> tuple[Endpoint, ...]:
    """Return the API: Neutron's agents ask it, and nobody else."""
    said = resource.spec.override.service
    override = {INTERNAL: said} if said is not None else {}
    return (Endpoint(port=PORT, internal="metadata", override=override, interfaces=(INTERNAL,)),)


def exports(resource: NovaMetadata, facts: NovaFacts) -> Iterator[Export]:
    """Yield how Neutron's agents outside of the cluster reach the service: under upstream's name, and the seed's."""
    if facts.endpoints is None:
        return
    said: dict[str, Setting] = {"metadata_proxy_shared_secret": facts.shared_secret}
    why = unreached(facts)
    if not why:
        host, port = url_place(facts.endpoints.internal)
        protocol = facts.endpoints.internal.partition(":")[0]
        said |= {"nova_metadata_host": host, "nova_metadata_port": port, "nova_metadata_protocol": protocol}
    text = ini.render({"DEFAULT": said})
    content = {SNIPPET: f"# {why}\n{text}" if why else text}
    for secret in secret_names(facts.name):
        yield Export(secret, content, condition=CONDITION, noted=secret)


def secret_names(name: str) -> tuple[str, ...]:
    """Return the names of the Secrets that a metadata service of that name writes."""
    return f"{name}-neutron-config", f"{name}-compute-config"


def claims(resource: NovaMetadata) -> Iterator[Claim]:
    """Yield these Secrets."""
    return (claim_object(Secret, name, owned=True) for name in secret_names(resource.metadata.name))


def unreached(facts: NovaFacts) -> str:
    """Return why machines outside of the cluster cannot reach the service, and what to do; "" where they can."""
    if facts.endpoints is None or not is_url_inside(facts.endpoints.internal):
        return ""
    how = "set override.service.spec.type of the metadata service to NodePort or LoadBalancer, or its endpointURL"
    return f"There is no nova_metadata_host, because machines outside of the cluster cannot reach it; {how}"


def tell(resource: NovaMetadata, facts: NovaFacts | None, look: Look) -> Told[NovaMetadata]:
    """Return where the service is, and what machines outside of the cluster lack."""
    told = programs.tell(resource, facts, look)
    why = unreached(facts) if facts is not None else ""
    # It holds all the same: agents in the cluster need no other address.
    said = (Finding(CONDITION, "True", NOT_REACHABLE, why),) if why else ()
    return Told(told.status, said)


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
            description="The metadata service: a Deployment named after the release.",
            requests=programs.REQUESTS,
            suffix="",
            ports=(Port("api", PORT),),
            probe="/",
        ),
    ),
    exports=exports,
    claims=claims,
    tell=tell,
    network=Network(dials=settings.DIALS),
    problems=service_problems,
    options=OPTIONS,
    unread=("networkAttachments", "serviceAccount"),
)
