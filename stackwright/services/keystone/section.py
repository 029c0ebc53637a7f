"""Keystone in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section
from stackwright.services.keystone.kinds import KeystoneAPI

SECTION = Section(
    name="keystone",
    kind=KeystoneAPI,
    instance="keystone",
    condition="OpenStackControlPlaneKeystoneAPIReady",
    description="Keystone: users, projects, roles, tokens, and the catalog of all services.",
    handed_down=(
        HandedDown("secret"),
        HandedDown("databaseInstance", value="openstack"),
        HandedDown("nodeSelector"),
        HandedDown("topologyRef"),
        HandedDown("extraMounts"),
        HandedDown("notificationsBus", unless="rabbitMqClusterName"),
    ),
    external="externalKeystoneAPI",
    kolla={"keystone": ""},
)
