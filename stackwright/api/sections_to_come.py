"""Sections that upstream's umbrella has and ours does not have yet: accepted as they are, named, and not deployed.

A section leaves this table by itself: `control_plane_type` takes an entry only while no service's folder brings a
section of that name.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from stackwright.api.base import JsonObject, describe, free_form


@dataclass(frozen=True)
class SectionToCome:
    """A section without a service: `enabled` is what upstream takes for granted where the section does not say it."""

    name: str
    title: str
    enabled: bool = False

    @property
    def field(self) -> tuple[str, Any, Any]:
        """Its field in the umbrella's spec: an object with any fields, so that none of them is lost."""
        means = f"{self.title}: not deployed by this release. Its fields are kept as they are. Set enabled to false."
        return self.name, Annotated[JsonObject | None, free_form, describe(means)], None

    def is_asked_for(self, spec: Any) -> bool:
        """Return whether an umbrella's spec asks for it."""
        stated = getattr(spec, self.name, None)
        # The section of a service that is there is a struct.
        return isinstance(stated, dict) and bool(stated.get("enabled", self.enabled))


SECTIONS_TO_COME = (
    SectionToCome("applicationCredential", "Application credentials for the services"),
    SectionToCome("cinder", "Cinder, the block storage", enabled=True),
    SectionToCome("designate", "Designate, the DNS service for tenants"),
    SectionToCome("dns", "The DNS server for the data plane", enabled=True),
    SectionToCome("heat", "Heat, the orchestration"),
    SectionToCome("horizon", "Horizon, the dashboard"),
    SectionToCome("ironic", "Ironic, the bare metal service"),
    SectionToCome("manila", "Manila, the shared file systems"),
    SectionToCome("octavia", "Octavia, the load balancer"),
    # Upstream always starts one; the section has no switch.
    SectionToCome("openstackclient", "A pod with the command line client", enabled=True),
    SectionToCome("redis", "Redis, for services that coordinate through it"),
    SectionToCome("swift", "Swift, the object storage", enabled=True),
    SectionToCome("telemetry", "Telemetry: Ceilometer, Aodh and metrics", enabled=True),
    SectionToCome("watcher", "Watcher, the optimization service"),
)


def to_come(present: Iterable[str]) -> tuple[SectionToCome, ...]:
    """Return the sections that are still to come where those of these names are present."""
    there = frozenset(present)
    return tuple(section for section in SECTIONS_TO_COME if section.name not in there)


def asked_for(spec: Any) -> Iterator[SectionToCome]:
    """Yield the sections to come that an umbrella's spec asks for."""
    return (section for section in SECTIONS_TO_COME if section.is_asked_for(spec))
