"""Barbican in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section
from stackwright.services.barbican.kinds import Barbican

SECTION = Section(
    name="barbican",
    kind=Barbican,
    instance="barbican",
    condition="OpenStackControlPlaneBarbicanReady",
    description="Barbican: secrets of users and services.",
    handed_down=(
        HandedDown("secret"),
        HandedDown("databaseInstance", value="openstack"),
        HandedDown("messagingBus", unless="rabbitMqClusterName"),
        HandedDown("notificationsBus"),
        HandedDown("extraMounts"),
        HandedDown("nodeSelector"),
        HandedDown("topologyRef"),
    ),
    api="barbicanAPI",
    kolla={
        "barbican-api": "barbicanAPI",
        "barbican-worker": "barbicanWorker",
        "barbican-keystone-listener": "barbicanKeystoneListener",
    },
)
