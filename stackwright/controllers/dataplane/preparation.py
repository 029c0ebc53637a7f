"""What a node and its role mean, with what the caches know: the machine, its variables, and its services. Pure."""

from dataclasses import dataclass

import msgspec

from stackwright.api.annotations import DEPLOYED_BY
from stackwright.api.dataplane import INPUT_READY, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.network import IPSet
from stackwright.blueprint import refusals, ssh_keys
from stackwright.blueprint.dataplane.addresses import describe_networks, find_addresses, find_unasked, reach_by
from stackwright.blueprint.dataplane.host_keys import KNOWN_HOSTS, has_moved, lines_for, name_machine
from stackwright.blueprint.dataplane.inheritance import Machine, inherit
from stackwright.blueprint.dataplane.inputs import (
    Work,
    common_key,
    digest_secret,
    input_hash,
    reach_work,
    resolve_work,
    with_mounted,
)
from stackwright.blueprint.dataplane.schedule import Due
from stackwright.blueprint.dataplane.variables import Variables, gather
from stackwright.blueprint.look import Look
from stackwright.blueprint.secret_values import has_value, text_of
from stackwright.controllers.dataplane.name_servers import find_name_servers
from stackwright.controllers.ownership.users import FIELD_MANAGER
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.resource import CustomResource
from stackwright.kube.shapes.belonging import MADE_BY_USER, is_made_by_user, tell_made_by_user
from stackwright.kube.shapes.child import mark_by

# The image of the manifest that runs Ansible, and the key of a Secret that has an SSH key.
IMAGE, SSH_KEY = "ansible-runner", "ssh-privatekey"


@dataclass(frozen=True)
class Prepared:
    """A node of which everything is known that a run needs; `known_hosts` are the keys that the user gives of it."""

    machine: Machine
    variables: Variables
    services: tuple[Due, ...]
    known_hosts: tuple[str, ...] = ()


def refuse_values(resource: CustomResource) -> Wait | None:
    """Return what no pod that runs Ansible could have: a webhook refuses that, but may have been down."""
    found = refusals.describe(refusals.of_values(resource))
    if not found:
        return None
    message = f"{resource.kind.name} {resource.metadata.name}: {found}"
    return Wait("InvalidInput", message, INPUT_READY, ends=Ends.BY_USER)


def find_works(role: OpenStackDataPlaneRole, look: Look, image: str) -> tuple[Work, ...] | Wait:
    """Return what the services of a role run, the way to the machine first; or what is wrong with the role."""
    if (wrong := refuse_values(role)) is not None:
        return wrong
    if not image:
        message = f"The image manifest has no {IMAGE}, so Ansible cannot run; add it"
        return Wait("ImageMissing", message, INPUT_READY, ends=Ends.BY_USER)
    works: list[Work] = [reach_work(image)]
    for name in role.spec.services:
        work = resolve_work(name, look, image, INPUT_READY)
        if isinstance(work, Wait):
            return work
        works.append(work)
    return tuple(works)


def prepare(
    node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole, works: tuple[Work, ...], look: Look
) -> Prepared | Wait:
    """Return a node with all that its runs need, or a wait for the first thing that is missing or wrong."""
    if (wrong := refuse_values(node) or find_taken(node, works) or find_renamed(node)) is not None:
        return wrong
    machine = inherit(node, role)
    if not machine.address:
        message = "Machines are not provisioned yet; set ansibleHost, or preProvisioned on the role"
        return Wait("NotProvisioned", message, INPUT_READY, ends=Ends.BY_AUTHOR)
    addresses = find_unasked(node, machine, look) or _find_users(node, machine, look) or find_addresses(machine, look)
    if isinstance(addresses, Wait):
        return addresses
    machine = with_mounted(reach_by(machine, node, addresses), look)
    secret = _key_of(node, machine, look)
    if isinstance(secret, Wait):
        return secret
    variables = gather(machine, look, INPUT_READY)
    if isinstance(variables, Wait):
        return variables
    networks = describe_networks(addresses, find_name_servers(look)) if addresses else {}
    # What a user says of a network goes before what the NetConfig says.
    variables = Variables({**networks, **variables.plain}, variables.secret)
    given = _given_keys(secret, machine)
    # Of the Secret only that counts which concerns the machine.
    own = {SSH_KEY: secret.data[SSH_KEY], KNOWN_HOSTS: "\n".join(given)}
    key = digest_secret(msgspec.structs.replace(secret, data=own))
    services = (
        Due(work.service, input_hash(work, machine, variables, key), common_key(work, machine), work.used)
        for work in works
    )
    return Prepared(machine, variables, tuple(services), given)


def _find_users(node: OpenStackDataPlaneNode, machine: Machine, look: Look) -> Wait | None:
    """Return why a node has no addresses: the IPSet of its name is a user's, who may delete it at any time."""
    ip_set = look(IPSet, machine.name) if machine.networks else None
    if ip_set is None or not is_made_by_user(ip_set, mark_by(FIELD_MANAGER)):
        return None
    message = tell_made_by_user(f"IPSet {machine.name}", node)
    return Wait(MADE_BY_USER, message, INPUT_READY, ends=Ends.BY_USER)


def find_taken(node: OpenStackDataPlaneNode, works: tuple[Work, ...]) -> Wait | None:
    """Return which service of its role an operator deploys on a node already: the node says so in its annotations.

    Webhooks refuse such a service, but may have been down.
    """
    said = ((key, value) for key, value in node.metadata.annotations.items() if key.startswith(DEPLOYED_BY))
    taken = {word: key.removeprefix(DEPLOYED_BY) for key, value in said for word in value.split()}
    for work in works:
        what = next((word for word in (work.playbook, work.role) if word in taken), "")
        if what:
            message = (
                f"Service {work.service} of role {node.spec.role} runs {what}, which {taken[what]} deploys on this "
                "node already; remove it from the role's services"
            )
            return Wait("DeployedTwice", message, INPUT_READY, ends=Ends.BY_USER)
    return None


def find_renamed(node: OpenStackDataPlaneNode) -> Wait | None:
    """Return why a node keeps its host name: operators have services on it that are known by that name.

    Under another name they would be new to their APIs, and what they have now would belong to nobody. Webhooks refuse
    the change, but may have been down.
    """
    name, before = node.spec.hostName or node.metadata.name, node.status.hostName
    kind = find_deployer(node)
    if not kind or not before or name == before:
        return None
    message = (
        f"{kind} on this node is known as {before}, and the host name is {name} now; set hostName back to {before}"
    )
    return Wait("HostNameChanged", message, INPUT_READY, ends=Ends.BY_USER)


def find_deployer(node: OpenStackDataPlaneNode) -> str:
    """Return the kind of a service that an operator has on a node; "" if there is none."""
    said = (key for key, value in node.metadata.annotations.items() if key.startswith(DEPLOYED_BY) and value)
    return next((key.removeprefix(DEPLOYED_BY) for key in said), "")


def find_moved(node: OpenStackDataPlaneNode, machine: Machine, given: tuple[str, ...]) -> Wait | None:
    """Return why a node cannot stand for another machine: services of operators would stay on the former one."""
    kind = find_deployer(node)
    if not kind or not has_moved(node.status.hostKeys, given, name_machine(machine)):
        return None
    message = (
        f"{machine.address} has other host keys than the machine on which {kind} is. Set ansibleHost back; to use "
        f"another machine, delete {kind} first"
    )
    return Wait("MachineChanged", message, INPUT_READY, ends=Ends.BY_USER)


def _key_of(node: OpenStackDataPlaneNode, machine: Machine, look: Look) -> Secret | Wait:
    """Return the Secret with the key by which a machine is reached, and with those that it has to have itself."""
    if not machine.key_secret:
        message = f"SSH key not provided for Node {machine.name}; set ansibleSSHPrivateKeySecret on it or its role"
        return Wait("SshKeyMissing", message, INPUT_READY, ends=Ends.BY_AUTHOR)
    secret = look(Secret, machine.key_secret)
    if secret is None or not has_value(secret, SSH_KEY):
        there = "has no value under" if secret is not None else "does not exist; create it with"
        message = f"Secret {machine.key_secret} {there} the key {SSH_KEY}"
        return Wait("SecretMissing", message, INPUT_READY, ends=Ends.BY_AUTHOR)
    if (unusable := find_unusable(secret)) is not None:
        return unusable
    return find_moved(node, machine, _given_keys(secret, machine)) or secret


def find_unusable(secret: Secret) -> Wait | None:
    """Return why nobody can log in with the key of a Secret; None if somebody can."""
    fault = ssh_keys.find_fault(text_of(secret, SSH_KEY) or "")
    if not fault:
        return None
    message = f"Secret {secret.metadata.name}: the key {SSH_KEY} cannot be used: {fault}"
    return Wait("SshKeyUnusable", message, INPUT_READY, ends=Ends.BY_USER)


def _given_keys(secret: Secret, machine: Machine) -> tuple[str, ...]:
    """Return the lines of known_hosts that a user gives of a machine."""
    return tuple(lines_for(machine, text_of(secret, KNOWN_HOSTS) or ""))
