"""The kind of nova-compute on a machine outside of the cluster."""

from typing import Annotated, ClassVar

from stackwright.api.base import VERSION, Column, Definition, Kind, Rule, describe, shown
from stackwright.api.forms import ImageReference, OptionalName
from stackwright.api.node_service import (
    DEPLOYMENT_READY,
    INPUT_READY,
    NODE_READY,
    SERVICE_READY,
    NodeServiceResource,
    NodeServiceSpec,
    settled,
)
from stackwright.services.nova.kinds.parts import GROUP

CELL_READY = "NovaCellReady"


class NovaExternalComputeSpec(NodeServiceSpec, frozen=True, kw_only=True):
    """Which cell a compute belongs to, and which images it runs."""

    validations: ClassVar[tuple[Rule, ...]] = (
        settled("cellName", "cellName cannot be changed: Nova cannot move a compute to another cell"),
    )

    cellName: Annotated[OptionalName, describe("The NovaCell; if absent, the node's annotation says it.")] = ""
    novaComputeContainerImage: Annotated[
        ImageReference, describe("The image of nova-compute; if absent, the one of the image manifest.")
    ] = ""
    novaLibvirtContainerImage: Annotated[
        ImageReference, describe("The image of libvirt; if absent, the one of the image manifest.")
    ] = ""


class NovaExternalCompute(NodeServiceResource, frozen=True, kw_only=True):
    """Nova-compute and libvirt on a machine outside of the cluster.

    It is created for each node that has, or whose role has, the annotation nova.openstack.org/cell.
    """

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "NovaExternalCompute", "novaexternalcomputes")
    definition: ClassVar[Definition] = shown(
        Column("Cell", ".spec.cellName", description="The cell that it belongs to"),
        Column("Phase", ".status.phase", description="How far it is"),
        short_names=("novaexternal",),
    )
    conditions: ClassVar[tuple[str, ...]] = (INPUT_READY, CELL_READY, NODE_READY, DEPLOYMENT_READY, SERVICE_READY)

    spec: NovaExternalComputeSpec = NovaExternalComputeSpec()
