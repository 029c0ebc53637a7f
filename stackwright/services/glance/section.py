"""Glance in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section
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
        HandedDown("notificationsBus"),
    ),
    apis="glanceAPIs",
    kolla={"glance-api": "glanceAPIs.*"},
)
