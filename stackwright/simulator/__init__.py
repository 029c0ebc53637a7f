"""Workloads without kubelets: pods and volumes that succeed or fail as told, on a real API server.

    async with simulated(client, "openstack", Script((Behaviour(Selector(name="keystone"), fault=Crash()),))) as play:
        ...
        play.perform(Script())      # the fault heals, and the pods recover

The cluster is a real kube-apiserver with a real kube-controller-manager and no nodes. The simulator plays what is
missing: it is the scheduler, which binds pods to made-up nodes; the kubelets of those nodes, which run pods
through their phases, report them and end them; and the provisioner, which makes volumes. It writes the status,
events and objects that these would leave, and nothing else. Deployments, StatefulSets, DaemonSets, Jobs, CronJobs,
endpoints and claims are then moved by the controller-manager's own controllers, as on any cluster: what they
report was not made up here.

There is one node with plenty of room, unless others are named:

    compute = SimulatedNode("compute-1", labels={"role": "compute"}, taints=(Taint(key="compute"),))
    async with simulated(client, "openstack", nodes=(SimulatedNode("control-1"), compute)) as play:
        ...
        play.set_nodes((SimulatedNode("control-1"), replace(compute, ready=False)))     # compute-1 is lost

Nodes are of the whole cluster: DaemonSets of every namespace run on each, so tests that name nodes use a server of
their own. A node may also be cordoned, tainted and labelled with kubectl.

It works in the namespaces that it is given and leaves all others alone; of what belongs to no namespace it makes
its Nodes with their Leases, and the volumes of claims in its namespaces. It refuses a cluster with real nodes.

What does not work, because no container runs: `kubectl logs`, `exec` and `port-forward` (refused at once), and
connections to the addresses of pods. What is not weighed: affinity between pods, spread over topologies, and what is
only preferred; static volumes of a class without a provisioner must name their claim. Claims are not resized.

Deciding is pure and stands in `scheduler` (with `fitting`, `node_affinity`), `kubelet` (with `containers`, `status`,
`inputs`) and `provisioner`; it
knows nothing of a cluster and is given all it needs: the object, what was seen, and how long it is in its state.
`stage` reads, `controllers` act. Behaviour is data (`behaviour`), or asked for with kubectl (`annotations`).
"""

from stackwright.simulator.behaviour import (
    SUCCESS,
    Behaviour,
    Crash,
    Fault,
    ImageMissing,
    ProbeFailing,
    Script,
    Selector,
    Unschedulable,
    VolumeUnbound,
)
from stackwright.simulator.node import SimulatedNode, Taint
from stackwright.simulator.node_keeper import RealNodes
from stackwright.simulator.provisioner import storage_class
from stackwright.simulator.simulation import Simulation, simulated

__all__ = [
    "SUCCESS",
    "Behaviour",
    "Crash",
    "Fault",
    "ImageMissing",
    "ProbeFailing",
    "RealNodes",
    "Script",
    "Selector",
    "SimulatedNode",
    "Simulation",
    "Taint",
    "Unschedulable",
    "VolumeUnbound",
    "simulated",
    "storage_class",
]
