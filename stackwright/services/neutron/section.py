"""Neutron in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section
from stackwright.services.neutron.kinds import NeutronAPI

SECTION = Section(
    name="neutron",
    kind=NeutronAPI,
    instance="neutron",
    condition="OpenStackControlPlaneNeutronReady",
    description="Neutron: networks for servers.",
    without="Servers keep the ports that they have, none of these can be changed, and no server can be started",
    handed_down=(
        HandedDown("secret"),
        HandedDown("databaseInstance", value="openstack"),
        HandedDown("messagingBus", unless="rabbitMqClusterName"),
        HandedDown("notificationsBus", unless="notificationsBusInstance"),
        HandedDown("nodeSelector"),
        HandedDown("topologyRef"),
        HandedDown("extraMounts"),
    ),
    kolla={"neutron-server": ""},
)
