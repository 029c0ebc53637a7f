"""Neutron in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section
from stackwright.services.neutron.kinds import NeutronAPI

SECTION = Section(
    name="neutron",
    kind=NeutronAPI,
    instance="neutron",
    condition="OpenStackControlPlaneNeutronReady",
    description="Neutron: networks for servers.",
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
