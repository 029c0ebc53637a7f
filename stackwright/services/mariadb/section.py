"""MariaDB in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section
from stackwright.services.mariadb.kinds import Galera

SECTION = Section(
    name="galera",
    kind=Galera,
    instance="openstack",
    condition="OpenStackControlPlaneMariaDBReady",
    description="The databases of the cloud.",
    several=True,
    infrastructure=True,
    handed_down=(
        HandedDown("storageClass"),
        # Enough for the services' own data of a small cloud; it can grow.
        HandedDown("storageRequest", value="10G"),
        HandedDown("nodeSelector"),
        HandedDown("topologyRef"),
    ),
    external="external",
)
