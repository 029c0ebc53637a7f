"""A team is the controllers of one service: `--services` chooses it, and a lease and an account are its own. Pure."""

import hashlib
from collections.abc import Iterable

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlane
from stackwright.api.topology import Topology
from stackwright.kube.resource import Resource

# What the name of every lease begins with.
NAME = "stackwright-operator"
# The team of kinds that belong to no service: the control plane, and what all services read.
CORE = "core"


def team_of_kind(kind: type[Resource]) -> str:
    """Return the team that keeps a kind: the service that its group is named after, `core` for no service.

    So the team of a database server keeps its schemas and accounts, too. Runs of Ansible belong to the data plane.
    """
    if kind is OpenStackAnsibleEE:
        return team_of_kind(OpenStackDataPlane)
    return CORE if kind is Topology else kind.kind.group.partition(".")[0]


def lease_of(team: str, namespaces: Iterable[str] = ()) -> str:
    """Return the lease under which a team works: each has its own, whoever else does what.

    So an operator of all services and one of a single service divide the work, and never do the same. Operators in a
    cluster are told apart by their own namespace, where the leases are: a list of namespaces that changes changes no
    lease, and the new pod waits for the old one. Those beside a cluster share one, and name theirs.
    """
    names = sorted(namespaces)
    # Of several names a digest: a name has room for 253 characters.
    several = hashlib.sha256(" ".join(names).encode()).hexdigest()[:8]
    return "-".join((NAME, team, *(names if len(names) < 2 else (several,))))
