"""OVN in the umbrella."""

from stackwright.api.controlplane import HandedDown, Part, Section
from stackwright.services.ovn.kinds import OVNController, OVNDBCluster, OVNNorthd


def role_of(key: str) -> str:
    """Return which database an entry is of, as the end of its name says."""
    return "SB" if key.lower().endswith("sb") else "NB"


SECTION = Section(
    name="ovn",
    condition="OpenStackControlPlaneOVNReady",
    description="OVN, the virtual network.",
    without="Servers keep their networks at best until their machines restart, and nothing of these can be changed",
    infrastructure=True,
    whole=True,
    authority="The certificate authority of the virtual network's databases.",
    parts=(
        Part(
            kind=OVNDBCluster,
            field="ovnDBCluster",
            several=True,
            usual=("ovndbcluster-nb", "ovndbcluster-sb"),
            handed_down=(
                HandedDown("dbType", value=role_of),
                HandedDown("storageClass"),
                # Enough for the networks of a small cloud; it can grow.
                HandedDown("storageRequest", value="10G"),
                HandedDown("nodeSelector"),
                HandedDown("topologyRef"),
            ),
        ),
        Part(
            kind=OVNNorthd,
            field="ovnNorthd",
            instance="ovnnorthd",
            handed_down=(HandedDown("nodeSelector"), HandedDown("topologyRef")),
        ),
        Part(
            kind=OVNController,
            field="ovnController",
            instance="ovncontroller",
            when="nicMappings",
            handed_down=(HandedDown("nodeSelector"), HandedDown("topologyRef")),
        ),
    ),
)
