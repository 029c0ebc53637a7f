"""Whether the names of data planes, nodes and runs fit all that they become: labels, Jobs, ConfigMaps. Pure.

Of other kinds here nothing is named after the resource but what has the same limit, or what is shortened: the name of
a run has a part of its role's and its service's.
"""

from collections.abc import Iterator, Mapping

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.base import CustomResource
from stackwright.api.dataplane import DATA_PLANE_LABEL, OpenStackDataPlane, OpenStackDataPlaneNode
from stackwright.api.forms import LONGEST_NAME
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.inventory import NAME, SECRET_NAME
from stackwright.blueprint.name_lengths import DNS_LABEL

# The longest value of a label; also the name of a Job is one, of its pods.
LABEL_VALUE = DNS_LABEL

# What is named after a resource: what it is, how it is called, and how long that may be.
_Becomes = tuple[tuple[str, str, int], ...]
_OF_NODE: _Becomes = (("the ConfigMap", NAME, LONGEST_NAME), ("the Secret", SECRET_NAME, LONGEST_NAME))
_BECOMES: Mapping[type[CustomResource], _Becomes] = {
    OpenStackDataPlane: ((f"the label {DATA_PLANE_LABEL} of its nodes", "{}", LABEL_VALUE),),
    OpenStackDataPlaneNode: _OF_NODE,
    # It is named after its node.
    NodeServiceResource: _OF_NODE,
    OpenStackAnsibleEE: (("the Job", "{}", LABEL_VALUE),),
}


def problems(resource: CustomResource) -> Iterator[tuple[str, str]]:
    """Yield why a resource, or a node of a data plane, cannot have its name."""
    name = resource.metadata.name
    becomes = next((becomes for kind, becomes in _BECOMES.items() if isinstance(resource, kind)), ())
    # The server may not have generated a name yet.
    if becomes and name:
        yield from (("metadata.name", sentence) for sentence in _judge(name, becomes))
    if isinstance(resource, OpenStackDataPlaneNode) and not resource.spec.hostName:
        yield from (("metadata.name", sentence) for sentence in _judge_host(name))
    if isinstance(resource, OpenStackDataPlane):
        for node, spec in resource.spec.nodes.items():
            found = (*_judge(node, _OF_NODE), *(() if spec.hostName else _judge_host(node)))
            yield from ((f"spec.nodes[{node}]", f"the name {sentence}") for sentence in found)


def _judge(name: str, becomes: _Becomes) -> Iterator[str]:
    what, called, most = min(becomes, key=lambda entry: entry[2] - len(entry[1]))
    longest = most - len(called.format(""))
    if len(name) > longest:
        example = called.format("<name>")
        yield f"must have {longest} characters or less, and has {len(name)}: {what} {example} may have {most}"


def _judge_host(name: str) -> Iterator[str]:
    if any(len(part) > DNS_LABEL for part in name.split(".")):
        yield f"is the host name, and a part of that may have {DNS_LABEL} characters; set hostName, or shorten the name"
