"""An OpenStackDataPlaneDeployment: a run that somebody asked for. Here, runs follow from what changed. Pure."""

from collections.abc import Iterator

from stackwright.foresight.upstream.documents import Document, Remark

KIND = "OpenStackDataPlaneDeployment"

# What makes a run another one than "all services on all nodes", and what to do about it.
_NARROWED = {
    "servicesOverride": "it is for one run; here all services of a role are applied",
    "ansibleLimit": "it is for one run; here every node is reconciled on its own",
    "ansibleTags": "they are for one run; in deployStrategy.ansibleTags of the role they would count for all runs",
    "ansibleSkipTags": "they are for one run; in deployStrategy.ansibleSkipTags of the role they would count for all",
}
# Fields that have no meaning here, with upstream's defaults, which nobody has to read about.
_WITHOUT_EFFECT = {
    "backoffLimit": (6, "a node that fails is tried again until it succeeds"),
    "preserveJobs": (True, "the last runs of each node are kept"),
    "deploymentRequeueTime": (15, "nothing is polled"),
    "ansibleEEEnvConfigMapName": ("openstack-aee-default-env", "write the variables into env of the role"),
    "ansibleJobNodeSelector": (None, "the pods that run Ansible run on any node of the cluster"),
}


class Deployment:
    """A deployment in the files, read once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        spec = document.root.section("spec")
        self.node_sets = spec.texts("nodeSets")
        self.narrowed = [name for name in _NARROWED if spec.anything(name)]
        self.without_effect = [
            name for name, (default, _) in _WITHOUT_EFFECT.items() if spec.anything(name) not in (None, {}, default)
        ]
        self.variables = bool(spec.mapping("ansibleExtraVars"))
        self.unknown = list(spec.rest())

    def remarks(self, known: set[str]) -> Iterator[Remark]:
        """Yield what of it is lost; `known` are the node sets of the files."""
        for name in self.narrowed:
            yield self.document.remark(f"spec.{name}", _NARROWED[name])
        for name in self.without_effect:
            yield self.document.remark(f"spec.{name}", _WITHOUT_EFFECT[name][1])
        if self.variables:
            why = "they are for one run; write what has to stay into nodeTemplate.ansibleVars of the role"
            yield self.document.remark("spec.ansibleExtraVars", why)
        for path in self.unknown:
            yield self.document.remark(path, "there is no such field here")
        for position, name in enumerate(self.node_sets):
            if name not in known:
                yield self.document.remark(f"spec.nodeSets[{position}]", f"none of the files has {name}")
