"""An OpenStackDataPlaneNodeSet becomes a role and its nodes. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from stackwright.api.base import CustomResource, JsonObject
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.forms import LONGEST_NAME, OBJECT_NAME
from stackwright.blueprint.dataplane.inheritance import NETWORK_TEMPLATE
from stackwright.foresight.upstream import role_services
from stackwright.foresight.upstream.documents import Document, Remark, Section, is_name
from stackwright.foresight.upstream.role_services import Files

KIND = "OpenStackDataPlaneNodeSet"
# What upstream applies to node sets that name no services.
DEFAULT_SERVICES = (
    *("redhat", "download-cache", "bootstrap", "configure-network", "validate-network", "install-os", "configure-os"),
    *("ssh-known-hosts", "run-os", "reboot-os", "install-certs"),
)
DEFAULT_NETWORK, DEFAULT_SIZE = "ctlplane", 1048576
# Fields that a role or node has too, but that do nothing yet.
_KEPT = {
    "managementNetwork": "it is kept, but has no effect yet",
    "userData": "it is kept, but machines are not provisioned yet",
    "networkData": "it is kept, but machines are not provisioned yet",
    "baremetalSetTemplate": "it is kept, but machines are not provisioned yet",
}
_LOST = {
    "tlsEnabled": "TLS is not supported yet",
    "tags": "nothing reads them",
    "secretMaxSize": "there are no Secrets that would be split",
    "bmhLabelSelector": "machines are not provisioned yet",
    "ctlplaneInterface": "machines are not provisioned yet",
}
# How the network's templates for os-net-config and nmstate begin; ours is a list of links.
_FOREIGN_TEMPLATE = re.compile(r"^\s*(network_config|interfaces)\s*:", re.MULTILINE)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass
class Converted:
    """What becomes of a node set."""

    services: list[JsonObject] = field(default_factory=list)
    role: JsonObject = field(default_factory=dict)
    nodes: list[JsonObject] = field(default_factory=list)
    configured: list[JsonObject] = field(default_factory=list)
    # ConfigMaps whose content was taken over.
    read: set[str] = field(default_factory=set)
    remarks: list[Remark] = field(default_factory=list)


def convert(document: Document, files: Files, variables: frozenset[str] | None, *, deployed: bool) -> Converted:
    """Return what becomes of a node set. `variables` are those that our collection knows, if anybody can say it."""
    done = Converted()
    reader = _Reader(document, variables, done.remarks)
    spec = document.root.section("spec")
    stated = spec.texts("services")
    path = "spec.services" if stated else "spec.services (upstream's default)"
    found = role_services.convert(document, path, stated or (*DEFAULT_SERVICES, *_default_of(files)), files)
    metadata = reader.metadata(document.name)
    if found.annotations:
        metadata["annotations"] = {**metadata.get("annotations", {}), **found.annotations}
    role: JsonObject = {"services": found.services}
    if spec.flag("preProvisioned"):
        role["preProvisioned"] = True
    for name in ("env", "networkAttachments"):
        if entries := spec.array(name):
            role[name] = entries
    if template := reader.keep(spec, "baremetalSetTemplate"):
        role.update(template)
    role["nodeTemplate"] = reader.section(spec.section("nodeTemplate"))
    reader.lose(spec)
    if not deployed:
        role["deployStrategy"] = {"deploy": False}
        why = "no deployment in the files runs all of it, so deployStrategy.deploy of the role is false"
        done.remarks.append(document.remark("", why))
    done.role = _resource(OpenStackDataPlaneRole, metadata, role)
    for name, section in spec.sections("nodes").items():
        if not is_name(name, OBJECT_NAME) or len(name) > LONGEST_NAME:
            raise section.broken("", "cannot be the name of a node: it needs lower case letters, digits, dashes, dots")
        done.nodes.append(reader.node(name, section))
        done.configured += [
            _resource(service.kind, reader.metadata(name, own=False), {"customServiceConfig": text})
            for service, text in found.snippets
        ]
    done.services = found.resources
    done.read = found.read
    done.remarks += found.remarks
    done.remarks += [document.remark(path, "there is no such field here") for path in spec.rest()]
    return done


def _default_of(files: Files) -> Iterable[str]:
    """Yield the services of OpenStack that upstream has by default."""
    for service in files.offered:
        if service.counterpart is not None:
            yield from (each.service for each in service.counterpart.included)
            yield service.counterpart.service
    yield "telemetry"


class _Reader:
    """Reads the fields of one node set."""

    def __init__(self, document: Document, variables: frozenset[str] | None, remarks: list[Remark]) -> None:
        self.document = document
        self.variables = variables
        self.remarks = remarks

    def metadata(self, name: str, *, own: bool = True) -> JsonObject:
        """Return the metadata of a resource; `own` takes over the node set's labels and annotations."""
        given = self.document.root.section("metadata")
        found: JsonObject = {"name": name}
        if namespace := given.text("namespace"):
            found["namespace"] = namespace
        if own and (labels := given.mapping("labels")):
            found["labels"] = labels
        annotations = {key: value for key, value in given.mapping("annotations").items() if key != _LAST_APPLIED}
        if own and annotations:
            found["annotations"] = annotations
        return found

    def section(self, given: Section) -> JsonObject:
        """Return the template of nodes, or what one of them has of its own."""
        ansible = given.section("ansible")
        stated = {
            "ansibleSSHPrivateKeySecret": given.text("ansibleSSHPrivateKeySecret"),
            "extraMounts": self._mounts(given, given.array("extraMounts")),
            "ansibleUser": ansible.text("ansibleUser"),
            "ansiblePort": ansible.anything("ansiblePort"),
            "ansibleVars": self._variables(ansible),
            "ansibleVarsFrom": ansible.array("ansibleVarsFrom"),
            "networks": given.array("networks"),
        }
        found: JsonObject = {name: value for name, value in stated.items() if value}
        network = given.value.get("managementNetwork")
        if network == DEFAULT_NETWORK:
            given.text("managementNetwork")
        for name in ("managementNetwork", "userData", "networkData"):
            if name not in given.taken:
                found.update(self.keep(given, name))
        self.lose(given)
        return found

    def node(self, name: str, given: Section) -> JsonObject:
        """Return a node."""
        spec: JsonObject = {"role": self.document.name}
        if (host_name := given.text("hostName")) and host_name != name:
            spec["hostName"] = host_name
        if address := given.section("ansible").text("ansibleHost") or self._fixed_address(given):
            spec["ansibleHost"] = address
        if own := self.section(given):
            spec["node"] = own
        return _resource(OpenStackDataPlaneNode, self.metadata(name, own=False), spec)

    def keep(self, given: Section, name: str) -> JsonObject:
        """Return a field that does nothing yet, and say so."""
        if not (value := given.anything(name)):
            return {}
        self.remarks.append(self.document.remark(f"{given.path}.{name}", _KEPT[name]))
        return {name: value}

    def lose(self, given: Section) -> None:
        """Name the fields that have no counterpart, unless they have upstream's default."""
        for name, why in _LOST.items():
            value = given.anything(name)
            if value and value != DEFAULT_SIZE:
                self.remarks.append(self.document.remark(f"{given.path}.{name}", why))

    def _fixed_address(self, given: Section) -> str:
        """Return the address that a node has in its management network, by which upstream reaches it."""
        template = self.document.root.section("spec").section("nodeTemplate")
        network = given.value.get("managementNetwork") or template.value.get("managementNetwork") or DEFAULT_NETWORK
        for entry in given.array("networks"):
            if isinstance(entry, dict) and str(entry.get("name", "")).lower() == str(network).lower():
                return str(entry.get("fixedIP") or "")
        return ""

    def _variables(self, ansible: Section) -> JsonObject:
        found = dict(ansible.mapping("ansibleVars"))
        path = f"{ansible.path}.ansibleVars"
        template = found.get(NETWORK_TEMPLATE)
        if isinstance(template, str) and _FOREIGN_TEMPLATE.search(template):
            del found[NETWORK_TEMPLATE]
            why = "it is left out, because it is for os-net-config or nmstate; write edpm_network_config_links instead"
            self.remarks.append(self.document.remark(f"{path}.{NETWORK_TEMPLATE}", why))
        if self.variables is not None:
            unknown = [name for name in found if name not in self.variables and not name.startswith("ansible_")]
            if unknown:
                why = f"kept, but no role of our collection reads {', '.join(unknown)}"
                self.remarks.append(self.document.remark(path, why))
        elif found:
            self.remarks.append(self.document.remark(path, "kept; whether our collection reads them was not checked"))
        return found

    def _mounts(self, given: Section, mounts: list[object]) -> list[JsonObject]:
        found = []
        for position, entry in enumerate(mounts):
            if not isinstance(entry, dict):
                raise given.broken(f"extraMounts[{position}]", "must be a mapping")
            known = {name: entry[name] for name in ("extraVolType", "volumes", "mounts") if entry.get(name)}
            for name in entry.keys() - {"extraVolType", "volumes", "mounts"}:
                path = f"{given.path}.extraMounts[{position}].{name}"
                self.remarks.append(self.document.remark(path, "the volumes are mounted where Ansible runs"))
            found.append(known)
        return found


def _resource(kind: type[CustomResource], metadata: JsonObject, spec: JsonObject) -> JsonObject:
    return {"apiVersion": kind.kind.api_version, "kind": kind.kind.name, "metadata": metadata, "spec": spec}
