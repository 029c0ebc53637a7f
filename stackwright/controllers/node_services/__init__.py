"""Services on machines outside of the cluster (phase 1): made from the annotations of nodes, applied by Ansible.

    creation.py     a node that asks for a service gets its resource, and what is copied from the node is kept in step
    preparation.py  what a resource means, with what the caches know: what Ansible runs, where, and with which files
    deployment.py   the resource: what it waits for, what its runs came to, and whether the service is up
    fleet.py        the runs: one for all nodes of a role that are due for the same inputs
    removal.py      a resource that is being deleted: nothing goes while somebody uses it
    signs.py        asks the API that knows whether a service is up
    admission.py    what is refused: a node keeps what it is bound to, and gets no service twice
    defaults.py     images that nobody named are filled in when a resource is written

The rule of this folder: nothing in it works for one service alone. What a service on nodes is, its folder says
(`node_services.py` there, in the words of blueprint/dataplane/node_service.py). The team of its kind runs its
controllers.
"""

from stackwright.controllers.node_services.admission import checks
from stackwright.controllers.node_services.controllers import Pace, controllers
from stackwright.controllers.node_services.defaults import fill_in

__all__ = ["Pace", "checks", "controllers", "fill_in"]
