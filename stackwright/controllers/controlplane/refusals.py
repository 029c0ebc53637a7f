"""What a control plane asks for and cannot have yet: refused with a sentence, never ignored. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from stackwright.api import paths
from stackwright.api.controlplane import OpenStackControlPlaneSpec, Part, Section
from stackwright.api.sections import SectionOverride
from stackwright.controllers.controlplane.service_operators import PER_SERVICE, SHARED

_NO_TLS = "TLS is not supported yet; leave it out"


@dataclass(frozen=True)
class Refusal:
    """A field that says something that cannot be served, and what to do."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def refusals(spec: OpenStackControlPlaneSpec, sections: Iterable[Section]) -> tuple[Refusal, ...]:
    """Return all that is asked for and is not supported."""
    return (*_of_the_whole(spec), *(refusal for section in sections for refusal in _of_section(spec, section)))


def _of_the_whole(spec: OpenStackControlPlaneSpec) -> Iterator[Refusal]:
    if spec.tls is not None:
        yield Refusal("spec.tls", _NO_TLS)


def wrong_mode(asked: str, *, per_service: bool) -> Refusal | None:
    """Return why the operators as they are installed are not those that a control plane asks for."""
    if (asked == PER_SERVICE) == per_service:
        return None
    there, wanted = ("each service has its own", SHARED) if per_service else ("one serves all services", PER_SERVICE)
    message = (
        f"the operators are installed so that {there}; set it to {PER_SERVICE if per_service else SHARED}, "
        f"or install their chart with --set operatorMode={wanted}"
    )
    return Refusal("spec.operatorMode", message)


def _of_section(spec: OpenStackControlPlaneSpec, section: Section) -> Iterator[Refusal]:
    stated = getattr(spec, section.name)
    if stated is None:
        return
    place = f"spec.{section.name}"
    for part, key, template in section.templates(spec):
        yield from _of_template(template, part, section.place(part, key))
    if section.has_endpoints:
        yield from _of_override(stated.apiOverride, f"{place}.apiOverride")
    for api, override in stated.apiOverrides.items() if section.has_apis else ():
        yield from _of_override(override, f"{place}.apiOverrides[{api}]")
    if (section.has_endpoints or section.has_apis) and stated.applicationCredential.get("enabled"):
        message = "application credentials are not supported yet; leave it out"
        yield Refusal(f"{place}.applicationCredential", message)


def _of_override(override: SectionOverride, place: str) -> Iterator[Refusal]:
    if override.tls:
        yield Refusal(f"{place}.tls", _NO_TLS)
    if override.route:
        yield Refusal(f"{place}.route", f"Routes are not supported; set {place.rpartition('.')[-1]}.service")


def _of_template(template: Any, part: Part, place: str) -> Iterator[Refusal]:
    said = msgspec.to_builtins(template)
    for path in ("tls", *((f"{part.api}.tls",) if part.api else ()), *part.unsupported):
        yield from (Refusal(f"{place}.{found}", _NO_TLS) for found, value in paths.find_all(said, path) if value)
