"""Memcached in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section
from stackwright.services.memcached.kinds import Memcached

SECTION = Section(
    name="memcached",
    kind=Memcached,
    instance="memcached",
    condition="OpenStackControlPlaneMemcachedReady",
    description="The caches of the cloud.",
    several=True,
    infrastructure=True,
    handed_down=(HandedDown("nodeSelector"), HandedDown("topologyRef")),
)
