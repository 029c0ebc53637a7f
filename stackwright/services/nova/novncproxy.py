"""The noVNC proxy of a cell: between a browser and the consoles of the cell's servers."""

from stackwright.blueprint.interfaces import PUBLIC
from stackwright.blueprint.network import Network
from stackwright.blueprint.service import Component, ConfigFile, Endpoint, Service
from stackwright.blueprint.workloads import Port
from stackwright.services.nova import facts as needs
from stackwright.services.nova import programs, settings
from stackwright.services.nova.api import OPTIONS
from stackwright.services.nova.checks import service_problems
from stackwright.services.nova.facts import NovaFacts
from stackwright.services.nova.kinds.services import NovaNoVNCProxy

PORT = 6080
PAGE = "vnc_lite.html"
# Where computes listen for consoles.
CONSOLES = (5900, 6923)


def files(resource: NovaNoVNCProxy, facts: NovaFacts) -> tuple[ConfigFile, ...]:
    """Return the files that the proxy reads."""
    return (*settings.files(resource, settings.novncproxy(facts, PORT)), programs.NOVNCPROXY, programs.given(facts))


def endpoints(resource: NovaNoVNCProxy) -> tuple[Endpoint, ...]:
    """Return where browsers find it."""
    said = resource.spec.override.service
    override = {PUBLIC: said} if said is not None else {}
    return (Endpoint(port=PORT, public="novncproxy", override=override, interfaces=(PUBLIC,)),)


NOVNCPROXY = Service(
    name="nova-novncproxy",
    chart="nova",
    image="nova",
    kind=NovaNoVNCProxy,
    facts=NovaFacts,
    user="nova",
    needs=(needs.LOGIN, needs.MESSAGING, needs.CACHE, needs.CELL_DATABASE),
    endpoints=endpoints,
    components=(
        Component(
            "novncproxy",
            command=lambda _: f"{programs.command(programs.NOVNCPROXY)} --web /usr/share/novnc",
            files=files,
            description="The noVNC proxy: a Deployment named after the release.",
            requests=programs.REQUESTS,
            suffix="",
            ports=(Port("novnc", PORT),),
            probes={
                name: {"httpGet": {"path": f"/{PAGE}", "port": "novnc"}, **patience}
                for name, patience in (
                    ("startup", {"periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": 600}),
                    ("readiness", {"periodSeconds": 10, "timeoutSeconds": 5}),
                    ("liveness", {"periodSeconds": 20, "timeoutSeconds": 10, "failureThreshold": 6}),
                )
            },
        ),
    ),
    network=Network(dials=(*settings.DIALS, CONSOLES)),
    problems=service_problems,
    tell=programs.tell,
    options=OPTIONS,
    unread=("networkAttachments", "serviceAccount"),
)
