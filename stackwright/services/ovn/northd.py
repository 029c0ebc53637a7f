"""The daemon that translates the networks as they are wanted into flows."""

from dataclasses import dataclass

from stackwright.api.base import JsonObject
from stackwright.blueprint.claims import Claim, claim_object
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.needs import NetworkDatabase
from stackwright.blueprint.needs.network_database import NetworkDatabaseFacts
from stackwright.blueprint.service import Component, Service
from stackwright.blueprint.value_types import described
from stackwright.kube.builtin import StatefulSet
from stackwright.services.ovn import probes
from stackwright.services.ovn.kinds import OVNNorthd

# What the umbrella calls the two databases.
USUAL = {"NB": "ovndbcluster-nb", "SB": "ovndbcluster-sb"}
CONTROL = "/run/ovn/northd.ctl"
# A daemon that has lost a database finds it again by itself. It takes a database that was made anew for an old copy,
# and never connects to it: so one that finds none is restarted.
CONNECTED = " && ".join(
    f"ovs-appctl -T 5 -t {CONTROL} {side}-connection-status | grep -qx connected" for side in ("nb", "sb")
)


@dataclass(frozen=True, kw_only=True)
class NorthdFacts(Facts):
    """What the daemon knows of the world around it."""

    north: NetworkDatabaseFacts
    south: NetworkDatabaseFacts


def values(resource: OVNNorthd, facts: NorthdFacts) -> JsonObject:
    """Return where the databases are, and how the daemon works."""
    return {
        "northbound": facts.north.inside,
        "southbound": facts.south.inside,
        "logLevel": resource.spec.logLevel,
        "threads": resource.spec.nThreads,
    }


def claims(resource: OVNNorthd) -> tuple[Claim, ...]:
    """Return what a namespace has once."""
    return (claim_object(StatefulSet, "ovn-northd", advice="a namespace has one OVNNorthd", owned=True),)


SERVICE = Service(
    name="ovn-northd",
    chart="ovn",
    image="ovn",
    kind=OVNNorthd,
    facts=NorthdFacts,
    user="openvswitch",
    components=(
        Component(
            "northd",
            values=values,
            description="The daemons that translate networks into flows: a StatefulSet.",
            workload="StatefulSet",
            named="ovn-northd",
            probes={
                "readiness": probes.ask(CONNECTED, period=5, failures=3),
                "liveness": probes.ask(CONNECTED, period=10, failures=6),
            },
            finish=10,
            requests={"cpu": "50m", "memory": "64Mi"},
            own_values={
                "northbound": described("Where the NB database is.", {"type": "string"}),
                "southbound": described("Where the SB database is.", {"type": "string"}),
                "logLevel": described("How much is logged.", {"type": "string"}),
                "threads": described("How many threads a daemon uses.", {"type": "integer", "minimum": 1}),
            },
        ),
    ),
    needs=(
        NetworkDatabase(name="north", role="NB", usual=USUAL["NB"]),
        NetworkDatabase(name="south", role="SB", usual=USUAL["SB"]),
    ),
    claims=claims,
    unread=("exporterImage", "metricsTLS"),
)
