"""What a service runs, and the hash of all that it applies to a machine: what does not differ does not run. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from stackwright.api.base import JsonObject
from stackwright.api.dataplane_service import DataSource, OpenStackDataPlaneService
from stackwright.api.node_sections import EnvVar, ObjectReference, VolumeMounts
from stackwright.blueprint.dataplane.addresses import NAME_SERVERS
from stackwright.blueprint.dataplane.inheritance import Machine
from stackwright.blueprint.dataplane.variables import Variables
from stackwright.blueprint.look import Look
from stackwright.blueprint.pod_references import list_variables, list_volumes
from stackwright.blueprint.use import Used, read_of
from stackwright.kube import fields
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.plan import Ends, Wait

# The first service of every node, which no role names: the way to the machine.
REACH = "reach"
_REACH_PLAYBOOK = """\
- name: Reach the machine
  hosts: all
  gather_facts: false
  tasks:
    - name: Log in and run Python
      ansible.builtin.ping:
"""
# The services that our collection brings. A resource of the same name takes the place of one.
COLLECTION = "stackwright.edpm"
# Its playbooks that read which servers a machine asks for names. A server that gets another address is no reason to
# apply anything else again on all machines.
_NAMING = frozenset(f"{COLLECTION}.{name}" for name in ("configure_network", "prepare"))
BUNDLED = ("configure-network", "validate-network", "install-os", "configure-os", "run-os")


@dataclass(frozen=True)
class Work:
    """What a service runs: one of playbook, contents and role, in an image, with files.

    `files` is a digest of what stands in its ConfigMaps and Secrets, `used` are the exports of services among them.
    """

    service: str
    image: str
    playbook: str = ""
    contents: str = ""
    role: str = ""
    sources: tuple[DataSource, ...] = ()
    type: str = ""
    files: str = ""
    used: tuple[Used, ...] = ()


def reach_work(image: str) -> Work:
    """Return what tries the way to a machine."""
    return Work(REACH, image, contents=_REACH_PLAYBOOK, type=REACH)


def resolve_work(name: str, look: Look, image: str, condition: str) -> Work | Wait:
    """Return what a service runs, or a wait for the service or one of its files."""
    service = look(OpenStackDataPlaneService, name)
    if service is None:
        if name in BUNDLED:
            return Work(name, image, playbook=f"{COLLECTION}.{name.replace('-', '_')}", type=name)
        message = f"OpenStackDataPlaneService {name} does not exist; create it, or correct the role's services"
        return Wait("ServiceMissing", message, condition, ends=Ends.BY_AUTHOR)
    spec, sources = service.spec, sources_of(service)
    files = digest_sources(sources, look, condition)
    if isinstance(files, Wait):
        return files
    return Work(
        service=name,
        image=spec.openStackAnsibleEERunnerImage or image,
        playbook=spec.playbook,
        contents=spec.playbookContents,
        role=spec.role,
        sources=sources,
        type=spec.edpmServiceType or name,
        files=files,
        used=find_used(sources, look),
    )


def sources_of(service: OpenStackDataPlaneService) -> tuple[DataSource, ...]:
    """Return the ConfigMaps and Secrets that a service reads, in their order."""
    secrets = (DataSource(secretRef=ObjectReference(name=secret)) for secret in service.spec.secrets)
    return (*secrets, *service.spec.dataSources)


def secrets_of(service: OpenStackDataPlaneService) -> tuple[str, ...]:
    """Return the names of the Secrets that a service reads."""
    return tuple(source.secretRef.name for source in sources_of(service) if source.secretRef is not None)


def digest_sources(sources: Iterable[DataSource], look: Look, condition: str) -> str | Wait:
    """Return a digest of what stands in ConfigMaps and Secrets, or a wait for the first that is missing."""
    contents: list[Any] = []
    for source in sources:
        reference = source.secretRef or source.configMapRef
        assert reference is not None  # noqa: S101  the schema requires one of them
        kind: type[Secret | ConfigMap] = Secret if source.secretRef is not None else ConfigMap
        there: Secret | ConfigMap | None = look(kind, reference.name)
        if there is None and not reference.optional:
            message = f"{kind.kind.name} {reference.name} does not exist; a service needs its files"
            return Wait(f"{kind.kind.name}Missing", message, condition, ends=Ends.BY_AUTHOR)
        contents.append(None if there is None else content_of(there))
    return fields.digest(contents)


def find_used(sources: Iterable[DataSource], look: Look) -> tuple[Used, ...]:
    """Return the exports of services among the Secrets that are read."""
    names = dict.fromkeys(source.secretRef.name for source in sources if source.secretRef is not None)
    secrets = (look(Secret, name) for name in names)
    return tuple(used for secret in secrets if secret is not None and (used := read_of(secret)) is not None)


def content_of(source: Secret | ConfigMap) -> Mapping[str, str]:
    """Return all that stands in a ConfigMap or a Secret, as it is on the wire."""
    return {**source.data, **source.binaryData} if isinstance(source, ConfigMap) else source.data


def input_hash(work: Work, machine: Machine, variables: Variables, key: str) -> str:
    """Return what stands for all that a service applies to a machine.

    `key` is a digest of the SSH key. Only the way to the machine is tried again when its user, port or key change.
    """
    if work.service == REACH:
        return fields.digest([work.contents, work.image, machine.address, machine.user, machine.port, key])
    return fields.digest(
        [
            _work(work),
            machine.address,
            machine.host_name,
            _heard(work, variables),
            _around(machine),
        ]
    )


def _heard(work: Work, variables: Variables) -> dict[str, Any]:
    """Return the variables that count for a service: all, if we do not know its playbook."""
    deaf = work.playbook.startswith(f"{COLLECTION}.") and work.playbook not in _NAMING
    return {name: value for name, value in variables.all.items() if not deaf or name != NAME_SERVERS}


def common_key(work: Work, machine: Machine) -> str:
    """Return what machines have in common that can share a run of a service."""
    return fields.digest([_work(work), _around(machine), machine.key_secret])


def _work(work: Work) -> list[str]:
    return [work.service, work.image, work.playbook, work.contents, work.role, work.type, work.files]


def _around(machine: Machine) -> list[Any]:
    """Return what a pod has for a machine beside its inventory."""
    parts: list[JsonObject] = [msgspec.to_builtins(part) for part in (*machine.env, *machine.extra_mounts)]
    said = [parts, list(machine.network_attachments), machine.tags, machine.skip_tags]
    return [*said, machine.mounted] if machine.mounted else said


def with_mounted(machine: Machine, look: Look) -> Machine:
    """Return a machine with a digest of what the ConfigMaps and Secrets of its `env` and `extraMounts` contain.

    One that is missing is no reason to wait: it may be optional, and otherwise the run says so.
    """
    named = dict.fromkeys(list_mounted(machine.env, machine.extra_mounts))
    found = [look(kind, name) for kind, name in named]
    contents = [None if there is None else content_of(there) for there in found]
    return replace(machine, mounted=fields.digest(contents)) if named else machine


def list_mounted(
    env: Iterable[EnvVar], extra_mounts: Iterable[VolumeMounts]
) -> Iterator[tuple[type[Secret | ConfigMap], str]]:
    """Yield the ConfigMaps and Secrets that a pod gets as variables of its environment and as volumes."""
    variables = [{"valueFrom": each.valueFrom} for each in env]
    volumes = (volume for entry in extra_mounts for volume in entry.volumes)
    for reference in (*list_variables([{"env": variables}]), *list_volumes(volumes)):
        yield (Secret if reference.kind == Secret.kind.name else ConfigMap), reference.name


def digest_secret(secret: Secret | None) -> str:
    """Return a digest of what stands in a Secret; "" where there is none."""
    return fields.digest(secret.data) if secret is not None else ""
