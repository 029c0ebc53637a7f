"""Computes that a role deploys as any other service, with the Secret that a cell writes for machines. Pure.

Nobody asks Nova about them. That Ansible has applied the service says when to look for a new host.
"""

from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.blueprint.dataplane.inputs import REACH, secrets_of
from stackwright.services.nova import outside_compute
from stackwright.services.nova.parent import NodeServices, ParentFacts


def read_node(node: OpenStackDataPlaneNode) -> NodeServices | None:
    """Return what was applied to a machine so far; None if that is nothing, or if its node goes."""
    applied = tuple(sorted(each.name for each in node.status.services if each.appliedHash and each.name != REACH))
    if node.deleting or not applied or not node.status.hostName:
        return None
    return NodeServices(node.status.hostName, node.metadata.uid, applied)


def read_service(service: OpenStackDataPlaneService) -> tuple[str, ...] | None:
    """Return the Secrets that a service reads; None if it reads none."""
    return secrets_of(service) or None


def find_hosts(cell: str, facts: ParentFacts) -> dict[str, str]:
    """Return the hosts of such computes, each with the uid of its node; `cell` is the name of the NovaCell."""
    secret = outside_compute.secret_name(cell)
    deploying = {name for name, secrets in facts.node_services.items() if secret in secrets}
    found = (node for node in facts.nodes.values() if not deploying.isdisjoint(node.applied))
    return dict(sorted((node.host, node.uid) for node in found))
