"""Which passwords the services take from the Secret of the control plane, and who makes them.

Deciding is pure and sees only the names of keys. Values in a Secret are never changed; missing ones are added, and only
to a Secret that was made here. A key with which an existing service has encrypted something is not made again before
the user accepts that the encrypted data is lost.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from stackwright import services
from stackwright.api import paths
from stackwright.api.annotations import ACCEPT_LOSS
from stackwright.api.base import CustomResource, JsonObject
from stackwright.api.controlplane import INPUT_READY, OpenStackControlPlane
from stackwright.blueprint import configuration
from stackwright.blueprint.key_rings import KEY_BYTES
from stackwright.blueprint.needs.need import WantedPassword
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.controlplane.resolution import Instance
from stackwright.controllers.service.losses import accepted
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.conditions import Finding
from stackwright.kube.errors import AlreadyExists, Conflict, Retry
from stackwright.kube.resource import ResourceName

# Says on a Secret that the operator made it, and so may add to it.
GENERATED = "openstack.org/generated"

# Bytes of randomness in a password.
STRENGTH = 24

Generate = Callable[[int], str]

# The resources of the services that are there.
Present = Mapping[ResourceName, CustomResource]
NOTHING: Present = MappingProxyType({})

random: Generate = secrets.token_urlsafe


@dataclass(frozen=True)
class SecretKeys:
    """A Secret without its values: which keys have one, whether the operator made it, and which version it is."""

    keys: frozenset[str]
    generated: bool
    version: str


@dataclass(frozen=True)
class Add:
    """Put generated passwords under these keys; without a version the Secret is made. `fernet` are those of keys.

    `renewed` are those that services work with already: somebody has deleted them.
    """

    keys: tuple[str, ...]
    version: str
    fernet: frozenset[str] = frozenset()
    renewed: tuple[str, ...] = ()


def read_keys(secret: Secret | None) -> SecretKeys | None:
    """Return what may be known of a Secret."""
    if secret is None:
        return None
    keys = frozenset(key for key, value in secret.data.items() if value)
    return SecretKeys(keys, secret.metadata.annotations.get(GENERATED) == "true", secret.metadata.resourceVersion)


def keys_of(instances: Iterable[Instance], secret: str, *, made_up: bool = False) -> dict[str, str]:
    """Return the keys that the Secret needs, each with what needs it; with `made_up` those that may be generated."""
    return {password.key: str(instance) for instance, password in _asked(instances, secret, made_up=made_up)}


def _asked(instances: Iterable[Instance], secret: str, *, made_up: bool) -> Iterator[tuple[Instance, WantedPassword]]:
    """Yield what the Secret needs, each with what needs it."""
    return (
        (instance, password)
        for instance in instances
        if not instance.foreign
        # The password of a service that runs elsewhere cannot be made up.
        and not (made_up and instance.external)
        for password in select(_passwords_of(instance, secret), made_up=made_up)
        # What stands in another Secret is the user's own.
        if not password.secret
    )


def select(passwords: Iterable[WantedPassword], *, made_up: bool) -> Iterator[WantedPassword]:
    """Yield the passwords that must be there; with `made_up` all that are generated, also those that are optional."""
    return (password for password in passwords if made_up or not password.optional)


def _passwords_of(instance: Instance, secret: str) -> Iterator[WantedPassword]:
    """Yield the passwords that a resource and its children take from a Secret."""
    for member in services.family_of(instance.resource) if instance.resource is not None else ():
        blueprint = services.blueprint_of(type(member))
        if blueprint is not None and paths.find(member, "spec.secret") == secret:
            for need in blueprint.needs_of(member):
                yield from need.passwords(member)


def decide(
    umbrella: OpenStackControlPlane,
    instances: Iterable[Instance],
    secret: SecretKeys | None,
    present: Present = NOTHING,
) -> Add | None:
    """Return which passwords to generate, None when there is nothing to do or it is not ours to do."""
    if umbrella.spec.passwordPolicy != "Generate" or (secret is not None and not secret.generated):
        return None
    asked = tuple(_asked(instances, umbrella.spec.secret, made_up=True))
    there = (secret.keys if secret else frozenset()) | {password.key for _, password in _lost(asked, present)}
    missing = {password.key for _, password in asked} - there
    fernet = frozenset(password.key for _, password in asked if password.fernet)
    used = {password.key for instance, password in asked if _hashes(instance, present)}
    version = secret.version if secret else ""
    return Add(tuple(sorted(missing)), version, fernet & missing, tuple(sorted(used & missing))) if missing else None


def _hashes(instance: Instance, present: Present) -> Mapping[str, str]:
    """Return the hashes in the status of an existing resource; none if there is no such resource."""
    resource = present.get(instance.resource_name)
    found: Mapping[str, str] = getattr(resource.status, "hash", {}) if resource is not None else {}
    return found


def _lost(
    asked: Iterable[tuple[Instance, WantedPassword]], present: Present
) -> Iterator[tuple[Instance, WantedPassword]]:
    """Yield the keys with which services have encrypted what they stored, except those whose loss is accepted."""
    for instance, password in asked:
        word = _hashes(instance, present).get(password.note, "") if password.note else ""
        if word and word not in accepted(present[instance.resource_name]):
            yield instance, password


def loss(
    umbrella: OpenStackControlPlane, instances: Iterable[Instance], secret: SecretKeys | None, present: Present
) -> Finding | None:
    """Return what the user must bring back, or accept the loss of; None where nothing is lost."""
    asked = _asked(instances, umbrella.spec.secret, made_up=True)
    lost = [entry for entry in _lost(asked, present) if secret is None or entry[1].key not in secret.keys]
    if umbrella.spec.passwordPolicy != "Generate" or not lost:
        return None
    said = "; ".join(
        f"{password.key}, with which {instance} has encrypted what it stored: put it back, Secret "
        f"{configuration.secret_name(present[instance.resource_name])} still has it, or set the annotation "
        f"{ACCEPT_LOSS}: {_hashes(instance, present)[password.note]} on {instance} to have a new one made"
        for instance, password in lost
    )
    return Finding(INPUT_READY, "False", "SecretLost", f"Secret {umbrella.spec.secret} lacks {said}", "Error")


def complaint(
    umbrella: OpenStackControlPlane, instances: Iterable[Instance], secret: SecretKeys | None
) -> Finding | None:
    """Return what the user must add to the Secret, None when all is there."""
    needed = keys_of(instances, umbrella.spec.secret)
    missing = sorted(needed.keys() - (secret.keys if secret else ()))
    if not missing:
        return None
    name, namespace = umbrella.spec.secret, umbrella.metadata.namespace
    wanted = ", ".join(f"{key} (for {needed[key]})" for key in missing)
    if secret is None:
        literals = " ".join(f"--from-literal={key}=…" for key in missing)
        what = f"Secret {name} does not exist; it needs the keys {wanted}."
        command = f"kubectl -n {namespace} create secret generic {name} {literals}"
        other = " Or set spec.passwordPolicy to Generate." if umbrella.spec.passwordPolicy == "Provide" else ""
        return Finding(INPUT_READY, "False", "SecretMissing", f"{what} Create it: {command}.{other}", "Error")
    values = ", ".join(f'"{key}": "…"' for key in missing)
    command = f"kubectl -n {namespace} patch secret {name} -p '{{\"stringData\": {{{values}}}}}'"
    message = f"Secret {name} lacks the keys {wanted}. Add them: {command}"
    return Finding(INPUT_READY, "False", "SecretKeyMissing", message, "Error")


def renewal(step: Add, umbrella: OpenStackControlPlane) -> str:
    """Return the sentence about passwords that services use already and that are made again."""
    names = ", ".join(step.renewed)
    return (
        f"Secret {umbrella.spec.secret} lacked {names}, which services work with already: made anew, and the services "
        "take them on. Whoever logged in with the old ones needs the new ones"
    )


def make_passwords(step: Add, generate: Generate) -> dict[str, str]:
    """Return what a step puts under its keys."""
    # A Fernet key is what `generate` makes of as many bytes, with the sign at its end that it leaves out.
    return {key: f"{generate(KEY_BYTES)}=" if key in step.fernet else generate(STRENGTH) for key in step.keys}


async def carry_out(step: Add, umbrella: OpenStackControlPlane, client: Client, generate: Generate) -> None:
    """Write the passwords; nothing is written over what somebody else wrote meanwhile."""
    name, namespace = umbrella.spec.secret, umbrella.metadata.namespace
    data = encode(make_passwords(step, generate))
    metadata: JsonObject = {"name": name, "namespace": namespace}
    try:
        if step.version:
            body = {"metadata": {"resourceVersion": step.version}, "data": data}
            await client.patch(Secret, name, namespace, body)
        else:
            metadata["annotations"] = {GENERATED: "true"}
            await client.create(Secret, {"metadata": metadata, "type": "Opaque", "data": data})
    except (AlreadyExists, Conflict) as error:
        raise Retry(f"Secret {name} was changed meanwhile", reason="Conflict", condition=INPUT_READY) from error
