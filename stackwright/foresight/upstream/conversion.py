"""Files with upstream's later kinds of the data plane become resources of ours. Pure: texts in, manifests out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stackwright.api.base import JsonObject
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.foresight.upstream import deployments, documents, node_sets
from stackwright.foresight.upstream.deployments import Deployment
from stackwright.foresight.upstream.documents import Document, Remark
from stackwright.foresight.upstream.own_services import OwnService
from stackwright.foresight.upstream.role_services import Files

_SERVICE = OpenStackDataPlaneService.kind.name
_CONFIG_MAP = "ConfigMap"
# What each kind of upstream's has beside its spec; a status is the server's.
_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")
_GROUP = OpenStackDataPlaneService.kind.group


@dataclass(frozen=True)
class Conversion:
    """The manifests, in an order in which they can be applied, and what was not converted."""

    manifests: tuple[JsonObject, ...]
    remarks: tuple[Remark, ...]


def convert(texts: Mapping[str, str], offered: Iterable[NodeService], variables: frozenset[str] | None) -> Conversion:
    """Return what files become; raise Broken where one cannot be read."""
    found = [document for label, text in texts.items() for document in documents.read(label, text)]
    sets = [document for document in found if _is(document, node_sets.KIND)]
    runs = [Deployment(document) for document in found if _is(document, deployments.KIND)]
    own = {document.name: OwnService(document) for document in found if _is(document, _SERVICE)}
    configs = {document.name: _data(document) for document in found if document.kind == _CONFIG_MAP}
    files = Files(own, configs, tuple(offered))
    deployed = {name for run in runs if not run.narrowed for name in run.node_sets}
    converted = [node_sets.convert(each, files, variables, deployed=each.name in deployed) for each in sets]
    _refuse_twins(sets)
    remarks = [remark for each in converted for remark in each.remarks]
    for run in runs:
        remarks += run.remarks({document.name for document in sets})
    services = {body["metadata"]["name"]: body for each in converted for body in each.services}
    remarks += _unused(own, sets, services)
    remarks += _others(found, {name for each in converted for name in each.read})
    manifests = (
        *services.values(),
        *(each.role for each in converted),
        *(body for each in converted for body in each.configured),
        *(body for each in converted for body in each.nodes),
    )
    return Conversion(manifests, tuple(dict.fromkeys(remarks)))


def _is(document: Document, kind: str) -> bool:
    return document.kind == kind and document.root.text("apiVersion").partition("/")[0] == _GROUP


def _data(document: Document) -> dict[str, str]:
    found = document.root.mapping("data")
    for key, value in found.items():
        if not isinstance(value, str):
            raise document.root.broken(f"data.{key}", "must be a text")
    return found


def _refuse_twins(sets: Iterable[Document]) -> None:
    """Refuse nodes of the same name: each becomes a resource of that name."""
    names: set[str] = set()
    seen: dict[str, str] = {}
    for document in sets:
        if document.name in names:
            raise document.root.broken("metadata.name", f"is that of another {node_sets.KIND}: {document.name}")
        names.add(document.name)
        nodes = document.root.section("spec").section("nodes")
        for name in nodes.value:
            if name in seen:
                raise nodes.broken(name, f"is also a node of {node_sets.KIND} {seen[name]}")
            seen[name] = document.name


def _unused(own: Mapping[str, OwnService], sets: Iterable[Document], converted: Iterable[str]) -> Iterable[Remark]:
    """Yield what of services is lost: those that nobody names, and fields of the others."""
    named = {name for document in sets for name in document.root.section("spec").texts("services")}
    taken = set(converted)
    for name, service in own.items():
        if name not in named and not service.is_upstreams:
            yield service.document.remark("", f"it is left out, because no {node_sets.KIND} of the files names it")
        if name in taken or (name in named and not service.stands_for(name)):
            for path in service.document.root.section("spec").rest():
                yield service.document.remark(path, "there is no such field here")


def _others(found: Iterable[Document], read: set[str]) -> Iterable[Remark]:
    for document in found:
        ours = any(_is(document, kind) for kind in (node_sets.KIND, deployments.KIND, _SERVICE))
        taken = document.kind == _CONFIG_MAP and document.name in read
        if ours:
            unknown = (name for name in document.root.value if name not in _FIELDS)
            yield from (document.remark(name, "there is no such field here") for name in unknown)
        elif not taken:
            yield document.remark("", "it is not converted; if you need it, apply it as it is")
