"""Glance in the umbrella."""

from typing import Annotated

from stackwright.api.base import describe
from stackwright.api.controlplane import HandedDown, Section
from stackwright.api.sections import WithoutEffect
from stackwright.services.glance.kinds import Glance

SECTION = Section(
    name="glance",
    kind=Glance,
    instance="glance",
    condition="OpenStackControlPlaneGlanceReady",
    description="Glance: the images that servers start from.",
    handed_down=(
        HandedDown("secret"),
        HandedDown("databaseInstance", value="openstack"),
        HandedDown("storage.storageClass", of="storageClass"),
        HandedDown("nodeSelector"),
        HandedDown("topologyRef"),
        HandedDown("extraMounts"),
        HandedDown("notificationsBus", unless="notificationBusInstance"),
    ),
    apis="glanceAPIs",
    without_effect=(
        WithoutEffect(
            "uniquePodNames",
            Annotated[bool, describe("Has no effect: the names of the pods are unique anyway.")],
            False,  # noqa: FBT003  a value, not a switch
            "the names of the pods are unique anyway",
        ),
        WithoutEffect(
            "serviceName",
            Annotated[str, describe("Has no effect: the resource is called glance.")],
            "",
            "the resource is called glance",
        ),
    ),
    kolla={"glance-api": "glanceAPIs.*"},
)
