"""What a control plane asks for and cannot have: refused with a sentence, or accepted and named. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from stackwright.api import paths
from stackwright.api.controlplane import OpenStackControlPlaneSpec, Section
from stackwright.api.sections import EntryOverride, SectionOverride
from stackwright.blueprint import tls
from stackwright.blueprint.without_effect import says_something
from stackwright.controllers.controlplane.service_operators import PER_SERVICE, SHARED

_NO_ROUTE = "there are no Routes; expose the API by apiOverride.service, or by an Ingress or Gateway of your own"
_NO_CREDENTIAL = "there are no application credentials yet; the service logs in with its password"


@dataclass(frozen=True)
class Refusal:
    """A field that says something that cannot be served, and what to do."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def list_refusals(spec: OpenStackControlPlaneSpec) -> tuple[Refusal, ...]:
    """Return all that is asked for and is not supported."""
    return tuple(Refusal(path, sentence) for path, sentence in tls.problems(spec))


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


def without_effect(spec: OpenStackControlPlaneSpec, sections: Iterable[Section]) -> Iterator[tuple[str, str]]:
    """Yield the path of each field outside of the services' templates that changes nothing, and why."""
    for section in sections:
        stated = getattr(spec, section.name)
        if stated is not None and stated.enabled:
            yield from ((f"spec.{section.name}.{path}", reason) for path, reason in _of_section(stated, section))


def _of_section(stated: Any, section: Section) -> Iterator[tuple[str, str]]:
    if section.has_endpoints:
        yield from _of_override(stated.apiOverride, "apiOverride")
    for api, override in stated.apiOverrides.items() if section.has_apis else ():
        yield from _of_override(override, f"apiOverrides[{api}]")
    if (section.has_endpoints or section.has_apis) and stated.applicationCredential.get("enabled"):
        yield "applicationCredential", _NO_CREDENTIAL
    for entries in section.entry_overrides:
        there = _entries(section, stated, entries)
        for key, override in entries.overrides(stated).items():
            yield from _of_override(override, f"{entries.name}[{key}].{entries.of}")
            if key not in there:
                yield f"{entries.name}[{key}]", f"the template has no {entries.path.partition('.')[0]}[{key}]"
    for field in section.without_effect:
        if says_something(getattr(stated, field.name)):
            yield field.name, field.why


def _entries(section: Section, stated: Any, of: EntryOverride) -> set[str]:
    """Return the entries that the templates of a section have, or that there are by default."""
    found: set[str] = set()
    for part in section.parts:
        for template in dict(part.templates(stated)).values() or (None,):
            said = of.with_entries(msgspec.to_builtins(template) if template is not None else {}, part.spec)
            found |= {paths.keys(of.path, place)[-1] for place in paths.places(said, of.path)}
    return found


def _of_override(override: SectionOverride, place: str) -> Iterator[tuple[str, str]]:
    if says_something(override.route):
        yield f"{place}.route", _NO_ROUTE
