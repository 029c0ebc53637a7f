"""Glance in the umbrella."""

from stackwright.api.controlplane import HandedDown, Need, Password, Section
from stackwright.services.glance.kinds import Glance

SECTION = Section(
    name="glance",
    kind=Glance,
    instance="glance",
    condition="OpenStackControlPlaneGlanceReady",
    description="Glance: the images that servers start from.",
    needs=(
        Need("database", "databaseInstance", default="openstack"),
        Need("cache", "memcachedInstance", default="memcached"),
        Need("identity", "keystoneInstance", default="keystone"),
        Need("broker", "notificationsBus.cluster"),
    ),
    handed_down=(
        HandedDown("secret"),
        HandedDown("databaseInstance", value="openstack"),
        HandedDown("storage.storageClass", of="storageClass"),
        HandedDown("nodeSelector"),
        HandedDown("topologyRef"),
        HandedDown("extraMounts"),
        HandedDown("notificationsBus"),
    ),
    passwords=(Password("passwordSelectors.service", "GlancePassword"),),
    apis="glanceAPIs",
    kolla={"glance-api": "glanceAPIs.*"},
)
