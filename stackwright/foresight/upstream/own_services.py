"""An OpenStackDataPlaneService of upstream: which of ours it is, or what becomes of it. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from stackwright.api.base import JsonObject
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.blueprint.dataplane.inputs import BUNDLED, COLLECTION
from stackwright.blueprint.dataplane.node_service import Counterpart
from stackwright.foresight.upstream.documents import Document, Remark, Section

UPSTREAM = "osp.edpm"
# Upstream's services whose work one of ours does, under another name.
SAME_AS = {"bootstrap": "install-os"}
_UPSTREAMS_OWN = re.compile(rf"\b{re.escape(UPSTREAM)}\.")


@dataclass(frozen=True)
class Source:
    """A ConfigMap or a Secret that a service reads, and the path of the field that names it."""

    kind: str
    name: str
    path: str


class OwnService:
    """A service in the files, read once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        spec = document.root.section("spec")
        self.playbook = spec.text("playbook")
        self.contents = spec.text("playbookContents")
        self.role = spec.text("role")
        self.image = spec.text("openStackAnsibleEERunnerImage")
        self.type = spec.text("edpmServiceType") or document.name
        self.secrets = spec.texts("secrets")
        self.sources = list(_sources(spec))
        self.raw_sources = spec.array("dataSources")
        if spec.flag("addCertMounts"):
            # Only what differs from upstream's default is worth a remark.
            spec.taken.discard("addCertMounts")

    @property
    def is_upstreams(self) -> bool:
        """Whether it runs a playbook of upstream's collection in upstream's image."""
        return self.playbook.startswith(f"{UPSTREAM}.") and not self.image

    def stands_for(self, service: str) -> bool:
        """Return whether it is a service of upstream, under whatever name."""
        return self.is_upstreams and self.playbook == f"{UPSTREAM}.{service.replace('-', '_')}"

    def value_of(self, counterpart: Counterpart) -> str:
        """Return the value of the binding that its Secrets stand for; "" where none does."""
        if not counterpart.known_by:
            return ""
        before, _, after = counterpart.known_by.partition("{value}")
        for source in self.sources:
            name = source.name
            if source.kind == "Secret" and name.startswith(before) and name.endswith(after) and name != after:
                return name[len(before) : len(name) - len(after)]
        return ""

    def further_sources(self, counterpart: Counterpart) -> Iterator[Source]:
        """Yield what it reads beyond what the operators write themselves."""
        value = self.value_of(counterpart)
        known = (*counterpart.written, *([counterpart.known_by.format(value=value)] if value else []))
        known += tuple(each.source for each in counterpart.included if each.source)
        for source in self.sources:
            if not any(fnmatchcase(source.name, pattern) for pattern in known):
                yield source


def convert(own: OwnService, playbooks: Iterable[str], remarks: list[Remark]) -> JsonObject | None:
    """Return the resource of ours, or None where it cannot run here; `playbooks` are those of our collection."""
    document = own.document
    stated = {"playbook": own.playbook, "playbookContents": own.contents, "role": own.role}
    what = {name: value for name, value in stated.items() if value}
    if len(what) != 1:
        why = f"it is left out, because it has {' and '.join(what) or 'nothing to run'}; it needs exactly one of them"
        remarks.append(document.remark("spec", why))
        return None
    (name, value), *_ = what.items()
    if own.is_upstreams:
        last = own.playbook.removeprefix(f"{UPSTREAM}.")
        ours = SAME_AS.get(last.replace("_", "-"), last).replace("-", "_")
        if ours not in playbooks:
            why = f"the service is left out, because {COLLECTION} has no playbook {last}; {_ANOTHER_IMAGE}"
            remarks.append(document.remark("spec.playbook", why))
            return None
        value = f"{COLLECTION}.{ours}"
    elif not own.image and _UPSTREAMS_OWN.search(value):
        why = f"the service is left out, because it uses {UPSTREAM}, which our image does not have; {_ANOTHER_IMAGE}"
        remarks.append(document.remark(f"spec.{name}", why))
        return None
    spec: JsonObject = {name: value}
    for field, content in (
        ("secrets", own.secrets),
        ("dataSources", own.raw_sources),
        ("edpmServiceType", own.type if own.type != document.name else ""),
        ("openStackAnsibleEERunnerImage", own.image),
    ):
        if content:
            spec[field] = content
    return describe(document.name, document.namespace, spec)


_ANOTHER_IMAGE = "name an image that has it in openStackAnsibleEERunnerImage, and import again"


def describe(name: str, namespace: str, spec: JsonObject) -> JsonObject:
    """Return an OpenStackDataPlaneService."""
    kind = OpenStackDataPlaneService.kind
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": spec}


def phase_zero() -> frozenset[str]:
    """Return the playbooks of our collection for the services that prepare a machine."""
    return frozenset(name.replace("-", "_") for name in BUNDLED)


def _sources(spec: Section) -> Iterator[Source]:
    for position, entry in enumerate(spec.array("dataSources")):
        path = f"dataSources[{position}]"
        if not isinstance(entry, dict):
            raise spec.broken(path, "must be a mapping")
        for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            reference = entry.get(field)
            if reference is None:
                continue
            name = reference.get("name") if isinstance(reference, dict) else None
            if not isinstance(name, str):
                raise spec.broken(path, f"must have {field}.name")
            yield Source(kind, name, f"{spec.path}.{path}.{field}")
    for position, name in enumerate(spec.texts("secrets")):
        yield Source("Secret", name, f"{spec.path}.secrets[{position}]")
