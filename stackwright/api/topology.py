"""The kind that says how pods are spread over the nodes; services refer to it by `topologyRef`.

The fields are Kubernetes' own, and so is what is refused: pods can be created with a Topology that was accepted.
"""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from stackwright.api.base import (
    AGE,
    CATEGORIES,
    INT32,
    VERSION,
    CustomResource,
    Definition,
    Kind,
    Rule,
    Value,
    atomic,
    describe,
    list_map,
    max_items,
    max_length,
    maximum,
    min_items,
    min_length,
    minimum,
    rule,
)
from stackwright.api.forms import Form, Labels

GROUP = "topology.openstack.org"
# The field by which a resource names a Topology.
FIELD = "topologyRef"
# The condition of whoever names one.
READY = "TopologyReady"

_Values = Annotated[tuple[Annotated[str, max_length(63)], ...], atomic, max_items(64)]
_LabelKey = Annotated[str, min_length(1), max_length(317), Form.LABEL_KEY]
_TopologyKey = Annotated[
    str,
    min_length(1),
    max_length(317),
    Form.LABEL_KEY,
    describe("A label of the nodes; nodes with the same value are one place: kubernetes.io/hostname, say."),
]


class LabelRequirement(Value, frozen=True, kw_only=True):
    """Something that the labels of a pod must fulfil."""

    validations: ClassVar[tuple[Rule, ...]] = (
        rule(
            "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
            message="In and NotIn need values; Exists and DoesNotExist have none",
            field_path=".values",
        ),
    )

    key: Annotated[_LabelKey, describe("The label.")]
    operator: Annotated[
        Literal["In", "NotIn", "Exists", "DoesNotExist"], describe("How the label relates to the values.")
    ]
    values: Annotated[_Values, describe("The values, for In and NotIn.")] = ()


class LabelSelector(Value, frozen=True, kw_only=True):
    """Selects pods by their labels; an empty one selects all."""

    matchLabels: Annotated[Labels, describe("Labels that the pods have.")] = {}
    matchExpressions: Annotated[
        tuple[LabelRequirement, ...], atomic, max_items(16), describe("What else the labels fulfil.")
    ] = ()


class NodeRequirement(Value, frozen=True, kw_only=True):
    """Something that the labels of a node must fulfil."""

    validations: ClassVar[tuple[Rule, ...]] = (
        rule(
            "self.operator in ['Exists', 'DoesNotExist'] ? !has(self.values) || size(self.values) == 0 :"
            " has(self.values) && (self.operator in ['In', 'NotIn'] ? size(self.values) > 0 : size(self.values) == 1)",
            message="In and NotIn need values, Gt and Lt exactly one; Exists and DoesNotExist have none",
            field_path=".values",
        ),
    )

    key: Annotated[_LabelKey, describe("The label, or the field.")]
    operator: Annotated[
        Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"], describe("How it relates to the values.")
    ]
    values: Annotated[_Values, describe("The values; Gt and Lt have one, a whole number.")] = ()


class NodeSelectorTerm(Value, frozen=True, kw_only=True):
    """Selects nodes: all requirements hold."""

    matchExpressions: Annotated[
        tuple[NodeRequirement, ...], atomic, max_items(16), describe("What the node's labels fulfil.")
    ] = ()
    matchFields: Annotated[
        tuple[NodeRequirement, ...], atomic, max_items(16), describe("What the node's fields fulfil: metadata.name.")
    ] = ()


class NodeSelector(Value, frozen=True, kw_only=True):
    """Selects nodes: one of the terms holds."""

    nodeSelectorTerms: Annotated[
        tuple[NodeSelectorTerm, ...], atomic, min_items(1), max_items(16), describe("The terms; one of them holds.")
    ]


_Weight = Annotated[int, minimum(1), maximum(100), describe("How much this counts among other preferences.")]


class PreferredNodes(Value, frozen=True, kw_only=True):
    """Nodes that are preferred."""

    weight: _Weight
    preference: Annotated[NodeSelectorTerm, describe("Which nodes.")]


class NodeAffinity(Value, frozen=True, kw_only=True):
    """Which nodes the pods run on."""

    requiredDuringSchedulingIgnoredDuringExecution: Annotated[
        NodeSelector | None, describe("The pods run on such nodes only.")
    ] = None
    preferredDuringSchedulingIgnoredDuringExecution: Annotated[
        tuple[PreferredNodes, ...], atomic, max_items(16), describe("The pods rather run on such nodes.")
    ] = ()


class PodAffinityTerm(Value, frozen=True, kw_only=True):
    """Selects pods, and says how large a place is."""

    topologyKey: _TopologyKey
    labelSelector: Annotated[LabelSelector | None, describe("Which pods; without it none.")] = None
    namespaceSelector: Annotated[
        LabelSelector | None, describe("In which namespaces, by their labels; an empty one means all.")
    ] = None
    namespaces: Annotated[_Values, describe("In which namespaces; without both, in the pods' own.")] = ()
    matchLabelKeys: Annotated[_Values, describe("Labels that these pods have with the same value.")] = ()
    mismatchLabelKeys: Annotated[_Values, describe("Labels that these pods have with another value.")] = ()


class PreferredPods(Value, frozen=True, kw_only=True):
    """Pods whose place is preferred, or avoided."""

    weight: _Weight
    podAffinityTerm: Annotated[PodAffinityTerm, describe("Which pods, and how large a place is.")]


class PodAffinity(Value, frozen=True, kw_only=True):
    """Pods that the service's pods share a place with, or keep away from."""

    requiredDuringSchedulingIgnoredDuringExecution: Annotated[
        tuple[PodAffinityTerm, ...], atomic, max_items(16), describe("What must hold for a pod to run in a place.")
    ] = ()
    preferredDuringSchedulingIgnoredDuringExecution: Annotated[
        tuple[PreferredPods, ...], atomic, max_items(16), describe("What is preferred.")
    ] = ()


class Affinity(Value, frozen=True, kw_only=True):
    """Where pods run, by the labels of nodes and by other pods that run there; as in a pod's spec."""

    nodeAffinity: Annotated[NodeAffinity | None, describe("By the labels of the nodes.")] = None
    podAffinity: Annotated[PodAffinity | None, describe("Near other pods.")] = None
    podAntiAffinity: Annotated[PodAffinity | None, describe("Away from other pods.")] = None


class SpreadConstraint(Value, frozen=True, kw_only=True):
    """How evenly pods are spread over places; as in a pod's spec."""

    validations: ClassVar[tuple[Rule, ...]] = (
        rule(
            "!has(self.minDomains) || self.whenUnsatisfiable == 'DoNotSchedule'",
            message="minDomains needs whenUnsatisfiable DoNotSchedule",
            field_path=".minDomains",
        ),
    )

    maxSkew: Annotated[
        int, minimum(1), INT32, describe("How many more pods one place may have than the one with the fewest.")
    ]
    topologyKey: _TopologyKey
    whenUnsatisfiable: Annotated[
        Literal["DoNotSchedule", "ScheduleAnyway"],
        describe("What happens to a pod that cannot be placed so: it waits, or it runs all the same."),
    ]
    labelSelector: Annotated[
        LabelSelector | None,
        describe("Which pods are counted. Without it, those of the component that refers to the Topology."),
    ] = None
    matchLabelKeys: Annotated[
        _Values, describe("Only pods that have these labels with the same value are counted: pod-template-hash, say.")
    ] = ()
    minDomains: Annotated[int | None, minimum(1), INT32, describe("How many places there must be at least.")] = None
    nodeAffinityPolicy: Annotated[
        Literal["Honor", "Ignore"] | None, describe("Whether only nodes count that the pods may run on.")
    ] = None
    nodeTaintsPolicy: Annotated[
        Literal["Honor", "Ignore"] | None, describe("Whether nodes with taints count only if the pods tolerate them.")
    ] = None


class TopologySpec(Value, frozen=True, kw_only=True):
    """How pods are spread. What it says replaces our own rule, which prefers another host for each pod."""

    topologySpreadConstraints: Annotated[
        tuple[SpreadConstraint, ...],
        list_map("topologyKey", "whenUnsatisfiable"),
        max_items(16),
        describe("How evenly the pods are spread over places."),
    ] = ()
    affinity: Annotated[Affinity | None, describe("Which nodes and neighbours the pods have.")] = None


class Topology(CustomResource, frozen=True, kw_only=True):
    """How pods are spread over the nodes. Services name it in topologyRef; one can serve many.

    A change rolls the pods of all services that refer to it. It cannot be deleted while a resource refers to it.
    """

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "Topology", "topologies")
    definition: ClassVar[Definition] = Definition(categories=CATEGORIES, columns=(AGE,))

    spec: TopologySpec = TopologySpec()


KINDS: tuple[type[CustomResource], ...] = (Topology,)


def find_references(path: str, value: object) -> Iterator[tuple[str, Any]]:
    """Yield path and value of every field that names a Topology, as deep as it goes."""
    match value:
        case msgspec.Struct():
            for name in value.__struct_fields__:
                entry = getattr(value, name)
                if name == FIELD and entry is not None and entry.name:
                    yield f"{path}.{name}", entry
                else:
                    yield from find_references(f"{path}.{name}", entry)
        case dict():
            for key, entry in value.items():
                yield from find_references(f"{path}[{key}]", entry)
        case tuple() | list():
            for position, entry in enumerate(value):
                yield from find_references(f"{path}[{position}]", entry)
