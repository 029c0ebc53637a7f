"""The API of Nova."""

from pathlib import Path

from stackwright.blueprint import oslo, serving
from stackwright.blueprint.network import Network
from stackwright.blueprint.service import Component, ConfigFile, Endpoint, Service
from stackwright.blueprint.workloads import Port
from stackwright.services.nova import facts as needs
from stackwright.services.nova import programs, settings
from stackwright.services.nova.checks import service_problems
from stackwright.services.nova.facts import NovaFacts
from stackwright.services.nova.kinds.services import NovaAPI

PORT = 8774
PROCESSES = 2
OPTIONS = Path(__file__).with_name("options.json")


def files(resource: NovaAPI, facts: NovaFacts) -> tuple[ConfigFile, ...]:
    """Return the files that the API reads."""
    return (
        *settings.files(resource, settings.api(facts)),
        programs.API,
        programs.cells(resource),
        programs.given(facts),
    )


def serve(resource: NovaAPI) -> str:
    """Return the command of the API."""
    return oslo.uwsgi(serving.place("nova"), PORT, processes=PROCESSES, timeout=resource.spec.apiTimeout)


API = Service(
    name="nova-api",
    chart="nova",
    image="nova",
    kind=NovaAPI,
    facts=NovaFacts,
    user="nova",
    needs=(
        needs.LOGIN_WITH_PUBLIC_URL,
        needs.MESSAGING,
        needs.NOTIFICATIONS_BUS,
        needs.CACHE,
        needs.API_DATABASE,
        needs.CELL0_DATABASE,
    ),
    endpoints=(Endpoint(port=PORT),),
    components=(
        Component(
            "api",
            command=serve,
            files=files,
            description="The API: a Deployment named after the release.",
            requests=programs.REQUESTS,
            suffix="",
            ports=(Port("api", PORT),),
            probe="/",
        ),
    ),
    network=Network(dials=settings.DIALS),
    problems=service_problems,
    tell=programs.tell,
    options=OPTIONS,
    unread=("networkAttachments", "serviceAccount"),
)
