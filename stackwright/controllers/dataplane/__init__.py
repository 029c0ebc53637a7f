"""Machines outside of the cluster: a data plane becomes roles and nodes, these become runs of Ansible.

    data_planes.py  OpenStackDataPlane: its roles and nodes
    nodes.py        OpenStackDataPlaneNode: its inventory, and what runs came to on it
    roles.py        OpenStackDataPlaneRole: which runs there are for its nodes
    run_inputs.py   the resources of a run that begins
    runs.py         OpenStackAnsibleEE: one Job, whose log says how each machine fares
    beginnings.py   whether a run has begun, and when it is given up
    stuck_runs.py   what keeps the pod of a run from starting, and who ends that
    run_job.py      the Job of a run
    run_log.py      what stands in the log of a run
    run_logs.py     reads these logs, each time what is new
    gathering.py    how long a node that is due waits for others
    memory.py       what nodes were prepared to, between two passes
    name_servers.py the servers that machines ask for names
    occupancy.py    which nodes are taken by a run
    releases.py     when a run is through with a node although it goes on with others
    holding.py      what of a node stays as long as services are on its machine
    preparation.py  what a node and its role mean, with what the caches know
    admission.py    what is refused when such a resource is written

The rule of this folder: it knows Ansible, and no OpenStack service. What a node becomes is its role's list of services.
"""

from stackwright.controllers.dataplane.admission import checks
from stackwright.controllers.dataplane.controllers import Rhythm, controllers

__all__ = ["Rhythm", "checks", "controllers"]
