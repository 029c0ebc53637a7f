"""The name server in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section
from stackwright.services.dnsmasq.kinds import DNSMasq

SECTION = Section(
    name="dns",
    kind=DNSMasq,
    instance="dns",
    condition="OpenStackControlPlaneDNSReadyCondition",
    description="The name server for machines outside of the cluster.",
    handed_down=(HandedDown("nodeSelector"), HandedDown("topologyRef")),
)
