"""What Neutron's agents on machines outside of the cluster have to know: a Secret for each kind of agent.

Every address in them is one that such a machine can reach. A Secret whose address is missing is not written, and a
condition says what to set.
"""

from collections.abc import Iterator
from dataclasses import replace

from stackwright.blueprint import ini, oslo
from stackwright.blueprint.ini import Ini
from stackwright.blueprint.service import Export
from stackwright.kube.conditions import Finding
from stackwright.services.neutron.facts import NeutronFacts
from stackwright.services.neutron.kinds import NeutronAPI

CONDITION = "NeutronExternalConfigsReady"
NOT_REACHABLE = "NotReachable"
METADATA, OVN_AGENT, SRIOV, DHCP = "ovn-metadata-agent", "ovn-agent", "sriov-agent", "dhcp-agent"
FILES = {
    METADATA: "10-neutron-metadata.conf",
    OVN_AGENT: "10-neutron-ovn.conf",
    SRIOV: "10-neutron-sriov.conf",
    DHCP: "10-neutron-dhcp.conf",
}


def secret_name(neutron: str, agent: str) -> str:
    """Return the name of the Secret that a NeutronAPI writes for a kind of agent."""
    return f"{neutron}-{agent}-neutron-config"


def exports(resource: NeutronAPI, facts: NeutronFacts) -> Iterator[Export]:
    """Yield the Secrets whose addresses are known and can be reached."""
    for agent, said in _configurations(facts).items():
        name = secret_name(facts.name, agent)
        yield Export(name, {FILES[agent]: ini.render(said)}, condition=CONDITION, noted=name)


def findings(facts: NeutronFacts) -> Iterator[Finding]:
    """Yield why Secrets are not written.

    The condition holds all the same: a cloud without agents outside lacks nothing.
    """
    absent = [secret_name(facts.name, agent) for agent in (METADATA, OVN_AGENT) if _lacks(facts, agent)]
    reasons = [*_closed(facts)] if absent else []
    if facts.outside_messaging.why:
        absent += [secret_name(facts.name, agent) for agent in (SRIOV, DHCP)]
        reasons.append(facts.outside_messaging.why)
    if absent:
        message = f"Not written: {', '.join(f'Secret {name}' for name in absent)}; {'; '.join(reasons)}"
        yield Finding(CONDITION, "True", NOT_REACHABLE, message)


def _configurations(facts: NeutronFacts) -> dict[str, Ini]:
    """Return what each kind of agent reads, of those that have all addresses."""
    found: dict[str, Ini] = {}
    north, south = facts.northbound, facts.southbound
    if south is not None and south.outside:
        reached = {"ovn_sb_connection": south.outside.split(",")}
        found[METADATA] = {"ovn": reached}
        if north is not None and north.outside:
            found[OVN_AGENT] = {"ovn": {"ovn_nb_connection": north.outside.split(","), **reached}}
    if url := facts.outside_messaging.transport_url:
        broker = oslo.messaging(replace(facts.messaging, transport_url=url))
        broker = {**broker, "DEFAULT": {"transport_url": url}}
        found |= {SRIOV: broker, DHCP: broker}
    return found


def _lacks(facts: NeutronFacts, agent: str) -> bool:
    return facts.southbound is not None and agent not in _configurations(facts)


def _closed(facts: NeutronFacts) -> Iterator[str]:
    """Yield which of OVN's databases cannot be reached, each with what to do about it."""
    for database in (facts.northbound, facts.southbound):
        if database is not None and not database.outside:
            yield (
                f"OVNDBCluster {database.server} has no address outside of the cluster; set its "
                "override.service.spec.type to NodePort or LoadBalancer"
            )
