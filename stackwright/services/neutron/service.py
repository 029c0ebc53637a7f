"""Neutron gives servers their networks."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import msgspec

from stackwright.api.base import JsonObject
from stackwright.blueprint import apis, ini
from stackwright.blueprint.claims import Claim
from stackwright.blueprint.look import Look
from stackwright.blueprint.network import Network
from stackwright.blueprint.service import DB_SYNC, Component, Endpoint, Job, RunJob, Service, Told
from stackwright.services.neutron import agents, physical, programs
from stackwright.services.neutron.facts import NEEDS, NeutronFacts, has_ovn
from stackwright.services.neutron.kinds import NeutronAPI
from stackwright.services.neutron.settings import OPTIONS

# What Neutron calls by the catalog: Nova, Placement, Ironic and Designate at their own ports, others where the catalog
# leads.
DIALS = (8774, 8778, 6385, 9001, 80, 443)
# The jobs that compare OVN's databases with Neutron's.
CHECK, REPAIR = "networks-check", "networks-repair"


def components(resource: NeutronAPI) -> tuple[Component[NeutronAPI, NeutronFacts], ...]:
    """Return the components that a resource has."""
    return tuple(COMPONENTS[name] for name in programs.names(resource))


def tell(resource: NeutronAPI, facts: NeutronFacts | None, look: Look) -> Told[NeutronAPI]:
    """Return where Neutron is, and what machines outside of the cluster lack."""
    told = apis.tell(resource, facts, look)
    if facts is None:
        return told
    changes: JsonObject = {
        "transportURLSecret": facts.messaging.secret,
        "notificationsTransportURLSecret": facts.notifications.secret if facts.notifications is not None else None,
    }
    return Told(msgspec.structs.replace(told.status, **changes), tuple(agents.findings(facts)))


def problems(resource: NeutronAPI, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that Neutron cannot work with, and why."""
    yield from apis.problems(resource, look)
    yield from physical.problems(resource)


def _daemon(name: str, description: str) -> Component[NeutronAPI, NeutronFacts]:
    return Component(
        name,
        command=lambda _: f"python3 {programs.DAEMONS[name].destination}",
        files=partial(programs.files, name),
        template=partial(programs.template, name),
        values=partial(programs.started, name),
        description=description,
        requests=programs.REQUESTS,
        after=(DB_SYNC,),
    )


def _comparison(name: str, mode: str, description: str) -> Job[NeutronAPI, NeutronFacts]:
    """Return a job that compares OVN's databases with Neutron's; only when somebody asks for it."""
    return Job(
        name,
        lambda _: f"neutron-ovn-db-sync-util --ovn-neutron_sync_mode {mode}",
        lambda _, __: None,
        condition="",
        files=programs.common_files,
        description=description,
        after=(DB_SYNC,),
    )


COMPONENTS: dict[str, Component[NeutronAPI, NeutronFacts]] = {
    programs.API: replace(
        apis.api(programs.PORT, "/healthcheck", programs.serve, partial(programs.files, programs.API)),
        template=partial(programs.template, programs.API),
    ),
    programs.RPC: _daemon(programs.RPC, "What agents call: the Deployment <release>-rpc."),
    programs.PERIODIC: _daemon(
        programs.PERIODIC, "What is done by the clock: the Deployment <release>-periodic-workers."
    ),
    programs.MAINTENANCE: _daemon(
        programs.MAINTENANCE,
        "What repairs OVN's databases: the Deployment <release>-ovn-maintenance-worker.",
    ),
}


def claims(resource: NeutronAPI) -> tuple[Claim, ...]:
    """Return the networks in OVN: what only the database of another Neutron knows of them would be removed.

    A Neutron whose user names a database elsewhere does not work in that of the namespace.
    """
    elsewhere = ini.last_value((resource.spec.customServiceConfig,), "ovn", "ovn_nb_connection")
    if not has_ovn(resource) or elsewhere:
        return ()
    return (Claim("OVN northbound database", "", advice="use another namespace, because each has one such database"),)


SERVICE = Service(
    name="neutron",
    kind=NeutronAPI,
    facts=NeutronFacts,
    user="neutron",
    needs=NEEDS,
    endpoints=(Endpoint(port=programs.PORT),),
    components=components,
    forms=tuple(COMPONENTS.values()),
    jobs=(
        apis.db_sync("neutron-db-manage upgrade heads", programs.common_files),
        _comparison(CHECK, "log", "Logs how OVN's databases differ from Neutron's."),
        _comparison(REPAIR, "repair", "Makes OVN's databases what Neutron's says."),
    ),
    actions={"check-networks": RunJob(CHECK), "repair-networks": RunJob(REPAIR)},
    exports=agents.exports,
    network=Network(dials=DIALS),
    problems=problems,
    advice=physical.advice,
    tell=tell,
    options=OPTIONS,
    unread=("networkAttachments",),
    claims=claims,
)
