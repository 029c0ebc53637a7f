"""Barbican in the umbrella."""

from stackwright.api.controlplane import HandedDown, Need, Password, Section
from stackwright.services.barbican.kinds import Barbican

SECTION = Section(
    name="barbican",
    kind=Barbican,
    instance="barbican",
    condition="OpenStackControlPlaneBarbicanReady",
    description="Barbican: secrets of users and services.",
    needs=(
        Need("database", "databaseInstance", default="openstack"),
        Need("broker", "messagingBus.cluster", default="rabbitmq"),
        Need("identity", "keystoneInstance", default="keystone"),
    ),
    handed_down=(
        HandedDown("secret"),
        HandedDown("databaseInstance", value="openstack"),
        HandedDown("messagingBus"),
        HandedDown("nodeSelector"),
        HandedDown("topologyRef"),
    ),
    passwords=(
        Password("passwordSelectors.service", "BarbicanPassword"),
        Password("passwordSelectors.simplecryptokek", "BarbicanSimpleCryptoKEK", fernet=True),
    ),
    api="barbicanAPI",
    kolla={"barbican-api": "barbicanAPI", "barbican-worker": "barbicanWorker"},
)
