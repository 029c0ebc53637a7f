"""A namespace that is only imagined: nodes, their roles, a cell, and what its services have written for computes."""

from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import msgspec

from stackwright import services
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.blueprint.dataplane.node_service import Sign
from stackwright.blueprint.dataplane.schedule import Backoff
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.needs import sight
from stackwright.controllers.node_services.preparation import Surroundings
from stackwright.controllers.node_services.steps import Memory
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.resource import R, Resource
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.neutron.kinds import NeutronAPI, OVNMetadataAgent
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.services import NovaMetadata
from stackwright.services.ovn.kinds import OVNDBCluster
from stackwright.services.placement.kinds import PlacementAPI

SERVICES = services.node_services()
COMPUTE, AGENT = (
    next(each for each in SERVICES if each.kind is kind) for kind in (NovaExternalCompute, OVNMetadataAgent)
)
CELL, METADATA = COMPUTE.annotation, AGENT.annotation
IMAGES = {
    name: ComponentImage(f"registry.example/{name}:1", ours=True) for name in ("ansible-runner", "compute", "ovn")
}
AROUND = Surroundings(SERVICES, IMAGES)
PRIVATE_KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
# What a metadata service writes that machines can reach.
WHERE = {"05-nova-metadata.conf": "[DEFAULT]\nnova_metadata_host = 192.0.2.7\n"}
READY = {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "Setup complete"}]}


def made(kind: type[R], name: str, annotations: dict[str, str] | None = None, **body: Any) -> R:
    metadata: dict[str, Any] = {"name": name, "namespace": "openstack", "uid": f"{kind.kind.name}-{name}"}
    return msgspec.convert({"metadata": {**metadata, "annotations": annotations or {}}, **body}, kind)


def node(name: str = "one", role: str = "compute", **annotations: str) -> OpenStackDataPlaneNode:
    spec = {"role": role, "ansibleHost": f"{name}.example"}
    return made(OpenStackDataPlaneNode, name, _words(annotations), spec=spec, status=READY)


def role(name: str = "compute", services: tuple[str, ...] = (), **annotations: str) -> OpenStackDataPlaneRole:
    spec = {"services": list(services), "nodeTemplate": {"ansibleSSHPrivateKeySecret": "key"}}
    return made(OpenStackDataPlaneRole, name, _words(annotations), spec=spec)


def _words(annotations: dict[str, str]) -> dict[str, str]:
    return {
        {"cell": CELL, "metadata": METADATA, "made": f"{CELL}-made"}[key]: said for key, said in annotations.items()
    }


def compute(cell: str = "nova-cell1", name: str = "one", **spec: Any) -> NovaExternalCompute:
    return made(NovaExternalCompute, name, spec={"cellName": cell, **spec})


def agent(name: str = "one", **spec: Any) -> OVNMetadataAgent:
    return made(OVNMetadataAgent, name, spec=spec)


def cell(name: str = "nova-cell1", **spec: Any) -> NovaCell:
    said = {"cellName": "cell1", "secret": "s", "keystoneAuthURL": "http://keystone.example", **spec}
    owner = {"apiVersion": "v1", "kind": "Nova", "name": "nova", "uid": "nova", "controller": True}
    there = made(NovaCell, name, spec=said, status=READY)
    return msgspec.structs.replace(
        there,
        metadata=msgspec.convert(
            {**msgspec.to_builtins(there.metadata), "ownerReferences": [owner]}, type(there.metadata)
        ),
    )


def secret(name: str, **texts: str) -> Secret:
    return made(Secret, name, data=encode(texts))


def inventory(host: str = "one", **variables: Any) -> ConfigMap:
    text = msgspec.json.encode({"all": {"hosts": {host: {"ansible_user": "root", **variables}}}}).decode()
    return made(ConfigMap, f"dataplanenode-{host}", data={"inventory": text})


def unreached(name: str = "nova-metadata") -> tuple[Resource, ...]:
    """Return a metadata service that machines outside of the cluster cannot reach, with what it has written."""
    why = "There is no nova_metadata_host; set override.service.spec.type to NodePort"
    stated = {
        "type": "NovaComputeServiceConfigReady",
        "status": "True",
        "reason": "NotReachable",
        "message": why,
    }
    snippet = f"# {why}\n[DEFAULT]\nmetadata_proxy_shared_secret = s\n"
    spec = {"secret": "s", "cellDatabaseHostname": "h", "apiDatabaseHostname": "h", "keystoneAuthURL": "http://k"}
    return (
        made(NovaMetadata, name, spec=spec, status={"conditions": [stated]}),
        secret(f"{name}-compute-config", **{"05-nova-metadata.conf": snippet}),
    )


# All that a compute and an agent on the node `one` need, by name.
EVERYTHING: tuple[Resource, ...] = (
    node(cell="nova-cell1"),
    role(),
    cell(),
    secret("key", **{"ssh-privatekey": PRIVATE_KEY}),
    inventory(),
    secret("nova-cell1-compute-config", **{"01-nova.conf": "[DEFAULT]\n"}),
    secret("nova-cell1-migration-ssh-key", **{"ssh-privatekey": "migrating"}),
    secret("nova-metadata-compute-config", **WHERE),
    made(NeutronAPI, "neutron", spec={"secret": "s", "databaseInstance": "openstack"}, status=READY),
    secret("neutron-ovn-metadata-agent-neutron-config", **{"10-neutron-metadata.conf": "[ovn]\n"}),
    made(
        OVNDBCluster,
        "ovndbcluster-sb",
        spec={"dbType": "SB", "storageRequest": "1G"},
        status={**READY, "dbAddress": "tcp:192.0.2.9:6642"},
    ),
    made(ConfigMap, "ovncontroller-config", data={"ovsdb-config": "ovn-remote: tcp:192.0.2.9:6642\n"}),
)


@dataclass(frozen=True)
class There:
    """Looks at some objects."""

    objects: tuple[Resource, ...]

    def __call__(self, kind: type[R], name: str, *, namespace: str = "") -> R | None:  # noqa: ARG002  the form of a look
        return next((each for each in self.of_kind(kind) if each.metadata.name == name), None)

    def of_kind(self, kind: type[R]) -> Iterable[R]:
        return [each for each in self.objects if isinstance(each, kind)]


def seeing(*others: Resource, without: Iterable[str] = ()) -> Sight:
    """Return a sight of everything; `others` take the place of what has their kind and name."""
    named = {(each.kind, each.metadata.name) for each in others}
    kept = (
        each
        for each in EVERYTHING
        if (each.kind, each.metadata.name) not in named and each.metadata.name not in tuple(without)
    )
    return sight(There((*kept, *others)))


def placement(url: str = "http://placement.example") -> PlacementAPI:
    """Return a Placement that serves; without a URL, one that does not yet."""
    status = {**READY, "apiEndpoints": {"internal": url}} if url else {}
    return made(PlacementAPI, "placement", spec={"secret": "s", "databaseInstance": "openstack"}, status=status)


class Api:
    """Answers what Nova and Placement answer, by the last part of the path."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    async def read(self, _: Any, __: Any, path: str, query: dict[str, str] | None = None) -> Any:
        said = self.answers[path.rpartition("/")[2].replace("-", "_")]
        if path != "/resource_providers" or isinstance(said, str):
            return said
        return {key: [row for row in rows if (query or {}).items() <= row.items()] for key, rows in said.items()}

    async def ask(self, address: Any, sign: Sign, path: str = "") -> Any:
        return await self.read(address, sign, path or sign.path)


async def _find_nothing(*_: Any) -> None:
    return None


def asking(api: Api, *others: Resource) -> Any:
    """Return what a pass over a compute works with, in a namespace whose Nova serves."""
    address, keystone = "http://nova.example", "http://keystone.example"
    spec = {"secret": "s", "databaseInstance": "openstack"}
    there = seeing(
        *others,
        made(KeystoneAPI, "keystone", spec=spec, status={**READY, "apiEndpoints": {"internal": keystone}}),
        made(Nova, "nova", spec={"secret": "s"}, status={**READY, "apiEndpoints": {"internal": address}}),
        secret("s", AdminPassword="p"),
    ).look
    return SimpleNamespace(
        interests=SimpleNamespace(begin=lambda *_: there),
        context=SimpleNamespace(
            store=lambda kind: SimpleNamespace(list=lambda _: [*There(others).of_kind(kind)]),
            client=SimpleNamespace(find=_find_nothing),
        ),
        around=AROUND,
        signs=api,
        memory=Memory(),
        backoff=Backoff(),
        ask_again=5.0,
    )


# What Nova lists of a compute in a cell whose database does not answer; it leaves out the servers of that cell.
LOST = {"services": [{"binary": "nova-compute", "host": "one", "status": "UNKNOWN"}]}
