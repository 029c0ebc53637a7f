"""The kind of a samovar: hot water on a machine outside of the cluster."""

from typing import Annotated, ClassVar

from stackwright.api.base import VERSION, Column, CustomResource, Definition, Kind, describe, shown
from stackwright.api.forms import ImageReference
from stackwright.api.node_service import (
    DEPLOYMENT_READY,
    INPUT_READY,
    NODE_READY,
    SERVICE_READY,
    NodeServiceResource,
    NodeServiceSpec,
)


class SamovarSpec(NodeServiceSpec, frozen=True, kw_only=True):
    """Which image a samovar runs."""

    samovarContainerImage: Annotated[
        ImageReference, describe("The image of the samovar; if absent, the one of the image manifest.")
    ] = ""


class Samovar(NodeServiceResource, frozen=True, kw_only=True):
    """Hot water on a machine outside of the cluster, for each node with the annotation samovar.example.org/boils."""

    kind: ClassVar[Kind] = Kind("samovar.example.org", VERSION, "Samovar", "samovars")
    definition: ClassVar[Definition] = shown(Column("Phase", ".status.phase", description="How far it is"))
    conditions: ClassVar[tuple[str, ...]] = (INPUT_READY, NODE_READY, DEPLOYMENT_READY, SERVICE_READY)

    spec: SamovarSpec = SamovarSpec()


KINDS: tuple[type[CustomResource], ...] = (Samovar,)
