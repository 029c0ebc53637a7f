"""What a node and its role mean, with what the caches know: the machine, its variables, and its services. Pure."""

from dataclasses import dataclass

import msgspec

from stackwright.api.dataplane import INPUT_READY, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.blueprint.dataplane.host_keys import KNOWN_HOSTS, lines_for
from stackwright.blueprint.dataplane.inheritance import Machine, inherit
from stackwright.blueprint.dataplane.inputs import (
    Work,
    common_key,
    digest_secret,
    input_hash,
    reach_work,
    resolve_work,
)
from stackwright.blueprint.dataplane.schedule import Due
from stackwright.blueprint.dataplane.variables import Variables, gather
from stackwright.blueprint.look import Look
from stackwright.blueprint.secret_values import has_value, text_of
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait

# The image of the manifest that runs Ansible, and the key of a Secret that has an SSH key.
IMAGE, SSH_KEY = "ansible-runner", "ssh-privatekey"


@dataclass(frozen=True)
class Prepared:
    """A node of which everything is known that a run needs."""

    machine: Machine
    variables: Variables
    services: tuple[Due, ...]


def find_works(role: OpenStackDataPlaneRole, look: Look, image: str) -> tuple[Work, ...] | Wait:
    """Return what the services of a role run, the way to the machine first."""
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
    """Return a node with all that its runs need, or a wait for the first thing that is missing."""
    machine = inherit(node, role)
    if not machine.address:
        message = "Machines are not provisioned yet; set ansibleHost, or preProvisioned on the role"
        return Wait("NotProvisioned", message, INPUT_READY, ends=Ends.BY_AUTHOR)
    if not machine.key_secret:
        message = f"SSH key not provided for Node {machine.name}; set ansibleSSHPrivateKeySecret on it or its role"
        return Wait("SshKeyMissing", message, INPUT_READY, ends=Ends.BY_AUTHOR)
    secret = look(Secret, machine.key_secret)
    if not has_value(secret, SSH_KEY):
        there = "has no value under" if secret is not None else "does not exist; create it with"
        message = f"Secret {machine.key_secret} {there} the key {SSH_KEY}"
        return Wait("SecretMissing", message, INPUT_READY, ends=Ends.BY_AUTHOR)
    variables = gather(machine, look, INPUT_READY)
    if isinstance(variables, Wait):
        return variables
    key = digest_secret(_for_machine(secret, machine))
    services = (
        Due(work.service, input_hash(work, machine, variables, key), common_key(work, machine)) for work in works
    )
    return Prepared(machine, variables, tuple(services))


def _for_machine(secret: Secret | None, machine: Machine) -> Secret | None:
    """Return a Secret with only what concerns a machine: the SSH key, and the machine's own if the user gives it."""
    if secret is None:
        return None
    lines = lines_for(machine, text_of(secret, KNOWN_HOSTS) or "")
    return msgspec.structs.replace(secret, data={SSH_KEY: secret.data[SSH_KEY], KNOWN_HOSTS: "\n".join(lines)})
