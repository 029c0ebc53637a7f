"""The services of an OpenStackDataPlaneNodeSet: which of them a role names, and which are annotations. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from stackwright.api.base import JsonObject
from stackwright.blueprint.dataplane.inputs import BUNDLED, COLLECTION
from stackwright.blueprint.dataplane.node_service import Counterpart, Included, NodeService
from stackwright.foresight.upstream import own_services
from stackwright.foresight.upstream.documents import Document, Remark
from stackwright.foresight.upstream.own_services import SAME_AS, OwnService, Source

# Why services that upstream brings have no place here.
LEFT_OUT = {
    "redhat": "there are no subscriptions; register the machine in edpm_bootstrap_command",
    "download-cache": "nothing is downloaded ahead",
    "ssh-known-hosts": "computes of a cell get each other's keys by themselves",
    "reboot-os": "machines are not rebooted",
    "install-certs": "TLS is not supported yet",
    "telemetry": "telemetry is not there yet",
}


@dataclass(frozen=True)
class Files:
    """What the files have that services depend on."""

    own: Mapping[str, OwnService]
    config_maps: Mapping[str, Mapping[str, str]]
    offered: tuple[NodeService, ...]


@dataclass
class RoleServices:
    """What becomes of the services of one node set."""

    services: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    # The user's own configuration of services on nodes, with the service that it is for.
    snippets: list[tuple[NodeService, str]] = field(default_factory=list)
    resources: list[JsonObject] = field(default_factory=list)
    # ConfigMaps whose content was taken over.
    read: set[str] = field(default_factory=set)
    remarks: list[Remark] = field(default_factory=list)


def convert(document: Document, path: str, names: Iterable[str], files: Files) -> RoleServices:
    """Return what becomes of services; `path` is where they stand."""
    found = RoleServices()
    asked: dict[str, str] = {}
    included: dict[str, Included] = {}
    late = ""
    every = list(names)
    for name in every:
        own = files.own.get(name)
        service = _service_on_nodes(name, own, files.offered)
        one = _find_included(name, own, files.offered)
        if service is not None:
            late = late or name
            if service.annotation in found.annotations:
                why = f"{name} is left out: a node has one {service.kind.kind.name}, and {asked[service.name]} is it"
                found.remarks.append(document.remark(path, why))
                continue
            asked[service.name] = name
            _ask(document, path, service, own, files, found)
        elif one is not None:
            included[name] = one
        elif SAME_AS.get(name, "") not in every:
            taken = _in_phase_zero(document, path, name, own, found)
            if taken and late and taken not in BUNDLED:
                why = f"{name} comes after {late} upstream; here it runs before, like all services of a role"
                found.remarks.append(document.remark(path, why))
    _stand_alone(document, path, included, [each for each in files.offered if each.name in asked], found)
    _decline(files.offered, found)
    return found


def _decline(offered: Iterable[NodeService], found: RoleServices) -> None:
    """Say of services that would follow another one by themselves that nobody asked for them."""
    brought = {service.brings for service in offered if service.brings and service.annotation in found.annotations}
    for service in offered:
        if service.follows in brought and service.annotation not in found.annotations:
            found.annotations[service.annotation] = "false"


def _in_phase_zero(document: Document, path: str, name: str, own: OwnService | None, found: RoleServices) -> str:
    """Add a service of phase 0, and return under which name; "" where it is left out."""
    ours = SAME_AS.get(name, name)
    if ours in BUNDLED and (own is None or (own.stands_for(name) and not own.sources)):
        if ours not in found.services:
            found.services.append(ours)
        return ours
    if own is None or (own.stands_for(name) and name in LEFT_OUT):
        unknown = "none of the files has its OpenStackDataPlaneService; if it is yours, import it together with this"
        found.remarks.append(document.remark(path, f"{name} is left out: {LEFT_OUT.get(name, unknown)}"))
        return ""
    resource = own_services.convert(own, own_services.phase_zero(), found.remarks)
    if resource is None:
        return ""
    found.resources.append(resource)
    found.services.append(name)
    return name


def _service_on_nodes(name: str, own: OwnService | None, offered: Iterable[NodeService]) -> NodeService | None:
    for service in offered:
        counterpart = service.counterpart
        if counterpart is None:
            continue
        if own.stands_for(counterpart.service) if own is not None else name == counterpart.service:
            return service
    return None


def _find_included(name: str, own: OwnService | None, offered: Iterable[NodeService]) -> Included | None:
    included = (each for service in offered if service.counterpart is not None for each in service.counterpart.included)
    for each in included:
        if own.stands_for(each.service) if own is not None else name == each.service:
            return each
    return None


def _ask(
    document: Document, path: str, service: NodeService, own: OwnService | None, files: Files, found: RoleServices
) -> None:
    """Add the annotation of a service on nodes, and the user's own configuration of it."""
    counterpart = service.counterpart
    assert counterpart is not None  # noqa: S101  that is how it was found
    value = (own.value_of(counterpart) if own is not None else "") or counterpart.value
    found.annotations[service.annotation] = value if service.binding is not None else "true"
    snippets = []
    for place, source in _sources(document, path, own, counterpart):
        config = files.config_maps.get(source.name) if source.kind == "ConfigMap" else None
        target = f"customServiceConfig of each {service.kind.kind.name}"
        if config is None:
            if source.name != counterpart.extra:
                secret = source.kind == "Secret"
                hint = "" if secret else f"; import it together with this, or write its options into {target}"
                why = f"{source.kind} {source.name} is not taken over{hint}"
                found.remarks.append(place.remark(source.path, why))
            continue
        found.read.add(source.name)
        for key, text in sorted(config.items()):
            if fnmatchcase(key, counterpart.files):
                snippets.append(f"# {source.name}: {key}\n{text.rstrip()}\n")
            else:
                why = f"{key} of ConfigMap {source.name} is not taken over: only {counterpart.files} are options"
                found.remarks.append(place.remark(source.path, why))
    if snippets:
        found.snippets.append((service, "".join(snippets)))


def _sources(
    document: Document, path: str, own: OwnService | None, counterpart: Counterpart
) -> Iterator[tuple[Document, Source]]:
    if own is None:
        # Upstream's own service reads it, if it is there.
        yield document, Source("ConfigMap", counterpart.extra, path)
        return
    for source in own.further_sources(counterpart):
        yield own.document, source


def _stand_alone(
    document: Document,
    path: str,
    included: Mapping[str, Included],
    asked: Iterable[NodeService],
    found: RoleServices,
) -> None:
    """Make services of those whose whole nobody asked for."""
    covered = {
        each.service for service in asked if service.counterpart is not None for each in service.counterpart.included
    }
    for name, each in included.items():
        if each.service in covered:
            continue
        spec: JsonObject = {"playbook": f"{COLLECTION}.{each.service.replace('-', '_')}"}
        if each.source:
            spec["dataSources"] = [{"configMapRef": {"name": each.source}}]
        if name != each.service:
            spec["edpmServiceType"] = each.service
        found.resources.append(own_services.describe(name, document.namespace, spec))
        found.services.append(name)
        why = f"{name} needs its image: set {each.variable} in nodeTemplate.ansibleVars of the role"
        found.remarks.append(document.remark(path, why))
