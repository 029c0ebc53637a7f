"""A compute that runs in the cluster: for Ironic's machines, or one that only pretends, for tests."""

from stackwright.blueprint.network import Network
from stackwright.blueprint.service import Component, ConfigFile, Service
from stackwright.services.nova import facts as needs
from stackwright.services.nova import programs, settings
from stackwright.services.nova.api import OPTIONS
from stackwright.services.nova.checks import service_problems
from stackwright.services.nova.facts import NovaFacts
from stackwright.services.nova.kinds.services import NovaCompute

# What the spec calls by upstream's name does not survive a restart; this one does.
DRIVERS = {"fake.FakeDriver": "fake.FakeDriverWithoutFakeNodes"}


def files(resource: NovaCompute, facts: NovaFacts) -> tuple[ConfigFile, ...]:
    """Return the files that a compute reads; those of providers have a directory of their own."""
    spec = resource.spec
    driver = DRIVERS.get(spec.computeDriver, spec.computeDriver)
    found = settings.files(resource, settings.compute(facts, driver))
    return (*(_placed(file) for file in found), programs.COMPUTE, programs.given(facts))


def _placed(file: ConfigFile) -> ConfigFile:
    if not file.key.startswith("provider"):
        return file
    return ConfigFile(file.key, file.content, f"/etc/nova/provider_config/{file.key}")


COMPUTE = Service(
    name="nova-compute",
    chart="nova",
    image="nova",
    kind=NovaCompute,
    facts=NovaFacts,
    user="nova",
    needs=(needs.LOGIN, needs.MESSAGING, needs.NOTIFICATIONS_BUS),
    components=(
        Component(
            "compute",
            command=lambda _: programs.command(programs.COMPUTE),
            files=files,
            values=programs.started,
            # Nova knows a compute, and what runs there, by the name of its host.
            workload="StatefulSet",
            suffix="",
            description="The compute: a StatefulSet named after the release.",
            requests=programs.REQUESTS,
            trial=programs.trial(programs.COMPUTE),
        ),
    ),
    network=Network(dials=settings.DIALS),
    problems=service_problems,
    options=OPTIONS,
    unread=("networkAttachments", "serviceAccount"),
)
