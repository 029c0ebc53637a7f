"""What a service on a node means, with what the caches know: what Ansible runs, where, and with which files. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import DataSource, OpenStackDataPlaneService
from stackwright.api.node_sections import VolumeMounts
from stackwright.api.node_service import INPUT_READY, NodeServiceResource, NodeServiceSpec
from stackwright.api.pods import VolumeMount
from stackwright.blueprint import ini, refusals
from stackwright.blueprint.dataplane import snippets
from stackwright.blueprint.dataplane.inheritance import Machine, inherit
from stackwright.blueprint.dataplane.inputs import (
    Work,
    common_key,
    digest_secret,
    digest_sources,
    find_used,
    input_hash,
    with_mounted,
)
from stackwright.blueprint.dataplane.inventory import INVENTORY_KEY, NAME, read_host, read_hosts
from stackwright.blueprint.dataplane.node_service import Binding, Files, NodeService
from stackwright.blueprint.dataplane.schedule import Due
from stackwright.blueprint.dataplane.variables import Variables, gather
from stackwright.blueprint.dataplane.wishes import find_followed, wish_of
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.ini import Problem
from stackwright.blueprint.look import Look
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import has_value
from stackwright.controllers.dataplane.preparation import IMAGE, SSH_KEY, Prepared, find_unusable, refuse_values
from stackwright.controllers.dataplane.run_job import CONFIGURATION, project_source
from stackwright.kube import fields
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.plan import Ends, Wait


@dataclass(frozen=True)
class Surroundings:
    """What does not depend on the resource: all services on nodes, and the images of the manifest."""

    services: tuple[NodeService, ...]
    images: Mapping[str, ComponentImage] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    """A service on a node of which everything is known that a run needs; `override` is the user's own snippet."""

    node: OpenStackDataPlaneNode
    prepared: Prepared
    work: Work
    override: str

    @property
    def due(self) -> Due:
        """The service as it is wanted."""
        return self.prepared.services[0]


def prepare(service: NodeService, resource: NodeServiceResource, sight: Sight, around: Surroundings) -> Whole | Wait:
    """Return all that a run needs, or a wait for the first thing that is missing or refused."""
    found = find_node(resource, sight)
    if isinstance(found, Wait):
        return found
    node, role = found
    if (wrong := refuse_values(role) or refuse_values(node) or refuse_own(service, resource, around)) is not None:
        return wrong
    refused = refuse(service, resource, node, role, around) or find_renamed(resource, node)
    if refused is None and not resource.has_begun:
        # Once it has begun, the other one is refused: the node says so.
        refused = find_twin(service, role, sight)
    if refused is None:
        refused = find_moved(service, node, role, sight, around)
    if refused is not None:
        return refused
    files = _find_files(service, resource, sight, wish_of_followed(service, node, role, sight, around))
    if isinstance(files, Wait):
        return files
    return _assemble(service, resource, (node, role), files, sight, around)


def refuse_own(service: NodeService, resource: NodeServiceResource, around: Surroundings) -> Wait | None:
    """Return what the service would not start with: a webhook refuses that, but may have been down."""
    problems = (*refusals.of_values(resource), *snippets.problems(service, resource, around.images))
    found = refusals.describe(problems)
    return Wait("InvalidInput", found, INPUT_READY, ends=Ends.BY_USER) if found else None


def find_node(
    resource: NodeServiceResource, look: Look | Sight
) -> tuple[OpenStackDataPlaneNode, OpenStackDataPlaneRole] | Wait:
    """Return the node of a resource and its role, or a wait for one of them."""
    name = resource.node_name
    if name != resource.metadata.name:
        message = f"Its name must be that of its node, {name}; delete this, and create {name}"
        return Wait("NameDiffers", message, INPUT_READY, ends=Ends.BY_USER)
    node = look(OpenStackDataPlaneNode, name)
    if node is None:
        message = f"OpenStackDataPlaneNode {name} does not exist yet"
        return Wait("NodeMissing", message, INPUT_READY, ends=Ends.BY_AUTHOR)
    role = look(OpenStackDataPlaneRole, node.spec.role)
    if role is None:
        message = f"OpenStackDataPlaneRole {node.spec.role}, which node {name} names, does not exist"
        return Wait("RoleMissing", message, INPUT_READY, ends=Ends.BY_AUTHOR)
    return node, role


def refuse(
    service: NodeService,
    resource: NodeServiceResource,
    node: OpenStackDataPlaneNode,
    role: OpenStackDataPlaneRole,
    around: Surroundings,
) -> Wait | None:
    """Return why a resource does not fit what its node asks for: webhooks refuse that, but may have been down."""
    wish, bound, name = wish_of(service, node, role, around.services), service.bound_to(resource), node.metadata.name
    if not wish:
        message = f"Node {name} and its role do not have the annotation {service.annotation}; set it, or delete this"
        return Wait("NotAskedFor", message, INPUT_READY, ends=Ends.BY_USER)
    if service.binding is None or wish == bound:
        return None
    if not bound:
        return Wait("NotAdopted", f"Takes {service.binding.field} from node {name}", INPUT_READY)
    return _tell_moved(service, service.binding, name, wish, f"this is bound to {bound}", bound)


def find_moved(
    service: NodeService,
    node: OpenStackDataPlaneNode,
    role: OpenStackDataPlaneRole,
    look: Look | Sight,
    around: Surroundings,
) -> Wait | None:
    """Return why a service stays as it is: what it follows cannot do what its node asks of that now."""
    followed = find_followed(service, around.services)
    if followed is None or followed.binding is None:
        return None
    name = node.metadata.name
    there = look(followed.kind, name)
    wish, bound = wish_of(followed, node, role, around.services), followed.bound_to(there)
    # One that is being deleted may be on its way to what the node asks for.
    if there is None or there.deleting or not wish or not bound or wish == bound:
        return None
    who = f"{followed.kind.kind.name} {name}, which this serves, is bound to {bound}"
    return _tell_moved(followed, followed.binding, name, wish, who, bound)


def _tell_moved(service: NodeService, binding: Binding, node: str, wish: str, who: str, bound: str) -> Wait:
    message = (
        f"Node {node} has {service.annotation}: {wish}, and {who}: {binding.why}. "
        f"Nothing is changed; set it back to {bound}"
    )
    return Wait("BindingChanged", message, INPUT_READY, ends=Ends.BY_USER)


def find_renamed(resource: NodeServiceResource, node: OpenStackDataPlaneNode) -> Wait | None:
    """Return why a machine cannot get another name: the service runs, and its API knows it by the former name."""
    name, before = node.spec.hostName or node.metadata.name, resource.status.hostName
    if not resource.has_begun or not before or name == before:
        return None
    message = (
        f"Node {node.metadata.name} has the host name {name} now, and the service is known as {before}. Nothing is "
        f"changed; set hostName back to {before}, or delete this first"
    )
    return Wait("HostNameChanged", message, INPUT_READY, ends=Ends.BY_USER)


def find_twin(service: NodeService, role: OpenStackDataPlaneRole, look: Look | Sight) -> Wait | None:
    """Return why a node would get the same service twice: by this, and by a service of its role."""
    for name in role.spec.services:
        other = look(OpenStackDataPlaneService, name)
        if other is not None and service.is_run_by(other.spec):
            message = (
                f"Role {role.metadata.name} runs the same by OpenStackDataPlaneService {name}; remove it from the "
                f"role's services, or remove the annotation {service.annotation}"
            )
            return Wait("DeployedTwice", message, INPUT_READY, ends=Ends.BY_USER)
    return None


def wish_of_followed(
    service: NodeService,
    node: OpenStackDataPlaneNode,
    role: OpenStackDataPlaneRole,
    look: Look | Sight,
    around: Surroundings,
) -> tuple[NodeService, str] | None:
    """Return the service that another one follows, with what it is bound to on a node; None if it is not there.

    Before it is bound, it is what is asked of it that counts.
    """
    followed = find_followed(service, around.services)
    if followed is None:
        return None
    bound = followed.bound_to(look(followed.kind, node.metadata.name))
    wish = bound or wish_of(followed, node, role, around.services)
    return (followed, wish) if wish else None


def _find_files(
    service: NodeService, resource: NodeServiceResource, sight: Sight, followed: tuple[NodeService, str] | None
) -> tuple[Files, ...] | Wait:
    snippet = resource.spec.customServiceConfig
    handed = followed[0].hands_on(followed[1], snippet, sight) if followed is not None else ()
    found: list[Files] = []
    for each in (*service.files(resource, sight), *handed):
        if isinstance(each, Wait):
            return each
        found.append(each)
    return tuple(found)


def _assemble(
    service: NodeService,
    resource: NodeServiceResource,
    place: tuple[OpenStackDataPlaneNode, OpenStackDataPlaneRole],
    files: tuple[Files, ...],
    sight: Sight,
    around: Surroundings,
) -> Whole | Wait:
    spec = resource.spec
    images = find_images(service, spec, around)
    if isinstance(images, Wait):
        return images
    own, mounts = _divide(service, files)
    machine = _describe_machine(inherit(*place), spec, mounts)
    variables = _gather(machine, spec, sight)
    if isinstance(variables, Wait):
        return variables
    renamed = find_other_name(service, machine, variables) or find_other_option(service, machine, spec)
    if renamed is not None:
        return renamed
    machine = with_mounted(_reach(machine, place[0], spec, sight), sight.look)
    key = _find_key(machine.key_secret, sight)
    if isinstance(key, Wait):
        return key
    content = digest_sources((each.source for each in files), sight.look, INPUT_READY)
    if isinstance(content, Wait):
        return content
    work = Work(
        service=service.name,
        image=spec.ansibleEEContainerImage or around.images[IMAGE].reference,
        playbook=service.playbook,
        sources=own,
        type=service.folder,
        files=fields.digest([content, spec.customServiceConfig]),
        used=find_used((each.source for each in files), sight.look),
    )
    variables = replace(variables, plain={**variables.plain, **images})
    inputs = input_hash(work, machine, variables, digest_secret(key))
    due = Due(service.name, inputs, common_key(work, machine), work.used)
    return Whole(place[0], Prepared(machine, variables, (due,)), work, spec.customServiceConfig)


def _find_key(name: str, sight: Sight) -> Secret | Wait:
    """Return the Secret with the key by which a machine is reached."""
    key = sight(Secret, name)
    if key is None or not has_value(key, SSH_KEY):
        message = f"Secret {name} has no value under the key {SSH_KEY}"
        return Wait("SecretMissing", message, INPUT_READY, ends=Ends.BY_AUTHOR)
    return find_unusable(key) or key


def find_other_name(service: NodeService, machine: Machine, variables: Variables) -> Wait | None:
    """Return why a variable may not give the machine another name: Nova and OVN have to know it by the same one."""
    for name in service.host_variables:
        stated = variables.all.get(name, machine.host_name)
        if stated != machine.host_name:
            message = (
                f"Variable {name} is {variables.plain.get(name, 'another')}, and the node's host name is "
                f"{machine.host_name}: all services have to call a machine the same; remove the variable, and set "
                "hostName of the node"
            )
            return Wait("HostNameDiffers", message, INPUT_READY, ends=Ends.BY_USER)
    return None


def find_other_option(service: NodeService, machine: Machine, spec: NodeServiceSpec) -> Wait | None:
    """Return why a snippet may not give the machine another name either: what runs there would be known by that."""
    said = ini.parse(spec.customServiceConfig)
    if isinstance(said, Problem):
        return None
    for section, option in service.host_options:
        for stated in said.get(section, {}).get(option, ()):
            if stated != machine.host_name:
                message = (
                    f"spec.customServiceConfig: {option} in [{section}] is not the node's host name, "
                    f"{machine.host_name}: all services have to call a machine the same; remove it, and set hostName "
                    "of the node"
                )
                return Wait("HostNameDiffers", message, INPUT_READY, ends=Ends.BY_USER)
    return None


def find_images(service: NodeService, spec: NodeServiceSpec, around: Surroundings) -> dict[str, str] | Wait:
    """Return the images of a service by the variables of Ansible: those of the spec, else those of the manifest."""
    if not spec.ansibleEEContainerImage and IMAGE not in around.images:
        message = f"The image manifest has no {IMAGE}; add it, or set ansibleEEContainerImage"
        return Wait("ImageMissing", message, INPUT_READY, ends=Ends.BY_USER)
    found: dict[str, str] = {}
    for name, image in service.images.items():
        stated = getattr(spec, name) or find_default(image.component, around.images)
        if not stated:
            message = f"The image manifest has no {image.component}; add it, or set {name}"
            return Wait("ImageMissing", message, INPUT_READY, ends=Ends.BY_USER)
        found[image.variable] = stated
    return found


def find_default(component: str, images: Mapping[str, ComponentImage]) -> str:
    """Return the image of a component of the manifest; "" if the manifest has none."""
    return images[component].reference if component in images else ""


def _divide(service: NodeService, files: tuple[Files, ...]) -> tuple[tuple[DataSource, ...], tuple[VolumeMounts, ...]]:
    """Return the files in the folder of the service, and volumes with those of other folders."""
    own = tuple(each.source for each in files if each.folder in ("", service.folder))
    others: dict[str, list[DataSource]] = {}
    for each in files:
        if each.folder not in ("", service.folder):
            others.setdefault(each.folder, []).append(each.source)
    return own, tuple(_mount(folder, sources) for folder, sources in sorted(others.items()))


def _mount(folder: str, sources: list[DataSource]) -> VolumeMounts:
    name = f"configs-{folder}"
    projected = {"sources": [project_source(source) for source in sources], "defaultMode": 0o440}
    mount = VolumeMount(name=name, mountPath=f"{CONFIGURATION}/{folder}", readOnly=True)
    return VolumeMounts(volumes=({"name": name, "projected": projected},), mounts=(mount,))


def _describe_machine(machine: Machine, spec: NodeServiceSpec, mounts: tuple[VolumeMounts, ...]) -> Machine:
    """Return the machine with what the resource says of it; tags of a node choose tasks of its own services only."""
    return replace(
        machine,
        key_secret=spec.sshKeySecretName or machine.key_secret,
        network_attachments=spec.networkAttachments,
        deploy=machine.deploy if spec.deploy is None else spec.deploy,
        extra_mounts=(*machine.extra_mounts, *mounts),
        tags="",
        skip_tags="",
    )


def _gather(machine: Machine, spec: NodeServiceSpec, sight: Sight) -> Variables | Wait:
    """Return the variables of the inventory, and beside them the secret ones, which are not in there."""
    variables = gather(machine, sight.look, INPUT_READY)
    if isinstance(variables, Wait):
        return variables
    name = spec.inventoryConfigMapName or NAME.format(machine.name)
    there = sight(ConfigMap, name)
    stated = read_host(there.data.get(INVENTORY_KEY, ""), machine.host_name) if there is not None else None
    if stated is None:
        message = f"ConfigMap {name} does not have the inventory of host {machine.host_name} yet"
        return Wait("InventoryNotReady", message, INPUT_READY)
    return replace(variables, plain=stated)


def _reach(machine: Machine, node: OpenStackDataPlaneNode, spec: NodeServiceSpec, sight: Sight) -> Machine:
    """Return a machine as its inventory reaches it: a node that does not say where it is was given an address."""
    there = sight(ConfigMap, spec.inventoryConfigMapName or NAME.format(machine.name))
    if node.spec.ansibleHost or there is None:
        return machine
    stated = read_hosts(there.data.get(INVENTORY_KEY, "")).get(machine.host_name, {})
    return replace(machine, address=str(stated.get("ansible_host") or machine.address))


def copied_fields(node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole) -> dict[str, object]:
    """Return the fields of a resource that follow its node and role."""
    machine = inherit(node, role)
    return {
        "dataplaneNodeName": machine.name,
        "inventoryConfigMapName": NAME.format(machine.name),
        "sshKeySecretName": machine.key_secret,
        "networkAttachments": list(machine.network_attachments),
        "deploy": machine.deploy,
    }
