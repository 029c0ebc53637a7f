"""Keystone in the umbrella."""

from stackwright.api.controlplane import HandedDown, Need, Password, Section
from stackwright.services.keystone.kinds import KeystoneAPI

SECTION = Section(
    name="keystone",
    kind=KeystoneAPI,
    instance="keystone",
    condition="OpenStackControlPlaneKeystoneAPIReady",
    description="Keystone: users, projects, roles, tokens, and the catalog of all services.",
    provides="identity",
    needs=(
        Need("database", "databaseInstance", default="openstack"),
        Need("cache", "memcachedInstance", default="memcached"),
        Need("broker", "notificationsBus.cluster"),
        Need("broker", "rabbitMqClusterName"),
    ),
    handed_down=(
        HandedDown("secret"),
        HandedDown("databaseInstance", value="openstack"),
        HandedDown("nodeSelector"),
        HandedDown("topologyRef"),
        HandedDown("extraMounts"),
        HandedDown("notificationsBus", unless="rabbitMqClusterName"),
    ),
    passwords=(Password("passwordSelectors.admin", "AdminPassword"),),
    external="externalKeystoneAPI",
    kolla={"keystone": ""},
)
