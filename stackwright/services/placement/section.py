"""Placement in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section
from stackwright.services.placement.kinds import PlacementAPI

SECTION = Section(
    name="placement",
    kind=PlacementAPI,
    instance="placement",
    condition="OpenStackControlPlanePlacementAPIReady",
    description="Placement: what resources there are, and who has taken what of them.",
    handed_down=(
        HandedDown("secret"),
        HandedDown("databaseInstance", value="openstack"),
        HandedDown("nodeSelector"),
        HandedDown("topologyRef"),
    ),
    kolla={"placement-api": ""},
)
