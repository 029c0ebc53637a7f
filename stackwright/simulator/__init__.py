"""Workloads without kubelets: pods and volumes that succeed or fail as told, on a real API server.

    async with simulated(client, "openstack", Script((Behaviour(Selector(name="keystone"), fault=Crash()),))) as play:
        ...
        play.perform(Script())      # the fault heals, and the pods recover

The cluster is a real kube-apiserver with a real kube-controller-manager and no nodes. The simulator plays what is
missing: it is the scheduler, which binds pods to one made-up node; the kubelet of that node, which runs pods
through their phases, reports them and ends them; and the provisioner, which makes volumes. It writes the status,
events and objects that these would leave, and nothing else. Deployments, StatefulSets, DaemonSets, Jobs, CronJobs,
endpoints and claims are then moved by the controller-manager's own controllers, as on any cluster: what they
report was not made up here.

It works in the namespaces that it is given and leaves all others alone; of what belongs to no namespace it makes
one Node with its Lease, and the volumes of claims in its namespaces. It refuses a cluster with real nodes.

What does not work, because no container runs: `kubectl logs`, `exec` and `port-forward` (refused at once), and
connections to the addresses of pods. What is not weighed: node selectors, affinities, taints and resource
requests; static volumes of a class without a provisioner must name their claim. Claims are not resized.

Deciding is pure and stands in `scheduler`, `kubelet` (with `containers`, `status`, `inputs`) and `provisioner`; it
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
from stackwright.simulator.node import RealNodes
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
    "Simulation",
    "Unschedulable",
    "VolumeUnbound",
    "simulated",
    "storage_class",
]
