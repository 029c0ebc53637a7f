"""Nova in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section
from stackwright.api.sections import EntryOverride
from stackwright.services.nova.kinds.nova import Nova

SECTION = Section(
    name="nova",
    kind=Nova,
    instance="nova",
    condition="OpenStackControlPlaneNovaReady",
    description="Nova: servers, in cells.",
    without="Servers stay on their machines, and nobody can list, start, stop or reach them through OpenStack",
    handed_down=(
        HandedDown("secret"),
        HandedDown("messagingBus", unless="apiMessageBusInstance"),
        HandedDown("notificationsBus", unless="notificationsBusInstance"),
        HandedDown("nodeSelector"),
        HandedDown("topologyRef"),
    ),
    api="apiServiceTemplate",
    entry_overrides=(
        EntryOverride("cellOverride", "noVNCProxy", "cellTemplates.*.noVNCProxyServiceTemplate.override.service"),
    ),
    kolla={
        "nova-api": "apiServiceTemplate",
        "nova-metadata": "metadataServiceTemplate",
        "nova-scheduler": "schedulerServiceTemplate",
        "nova-conductor": "cellTemplates.cell1.conductorServiceTemplate",
        "nova-novncproxy": "cellTemplates.cell1.noVNCProxyServiceTemplate",
    },
)
