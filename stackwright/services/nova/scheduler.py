"""The scheduler of Nova: it chooses the host of a new server."""

from stackwright.blueprint.network import Network
from stackwright.blueprint.service import Component, ConfigFile, Service
from stackwright.services.nova import facts as needs
from stackwright.services.nova import programs, settings
from stackwright.services.nova.api import OPTIONS
from stackwright.services.nova.checks import service_problems
from stackwright.services.nova.facts import NovaFacts
from stackwright.services.nova.kinds.services import NovaScheduler


def files(resource: NovaScheduler, facts: NovaFacts) -> tuple[ConfigFile, ...]:
    """Return the files that the scheduler reads."""
    return (
        *settings.files(resource, settings.scheduler(facts)),
        programs.SCHEDULER,
        programs.cells(resource),
        programs.given(facts),
    )


SCHEDULER = Service(
    name="nova-scheduler",
    chart="nova",
    image="nova",
    kind=NovaScheduler,
    facts=NovaFacts,
    user="nova",
    needs=(
        needs.LOGIN,
        needs.MESSAGING,
        needs.NOTIFICATIONS_BUS,
        needs.CACHE,
        needs.API_DATABASE,
        needs.CELL0_DATABASE,
    ),
    components=(
        Component(
            "scheduler",
            command=lambda _: programs.command(programs.SCHEDULER),
            files=files,
            values=programs.started,
            # Nova knows a scheduler by the name of its host, which has to stay.
            workload="StatefulSet",
            suffix="",
            description="The scheduler: a StatefulSet named after the release.",
            requests=programs.REQUESTS,
            trial=programs.trial(programs.SCHEDULER),
        ),
    ),
    network=Network(dials=settings.DIALS),
    problems=service_problems,
    options=OPTIONS,
    unread=("networkAttachments", "serviceAccount"),
)
