"""Which passwords the services take from the Secret of the control plane, and who makes them.

Deciding is pure and sees the names of keys only. What is in a Secret is never changed, only what is missing is
added, and only to a Secret that was made here.
"""

import base64
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from stackwright import services
from stackwright.api import paths
from stackwright.api.base import JsonObject
from stackwright.api.controlplane import INPUT_READY, OpenStackControlPlane
from stackwright.blueprint.key_rings import KEY_BYTES
from stackwright.blueprint.needs.need import WantedPassword
from stackwright.controllers.controlplane.resolution import Instance
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.conditions import Finding
from stackwright.kube.errors import AlreadyExists, Conflict, Retry

# Says on a Secret that the operator made it, and so may add to it.
GENERATED = "openstack.org/generated"

# Bytes of randomness in a password.
STRENGTH = 24

Generate = Callable[[int], str]

random: Generate = secrets.token_urlsafe


@dataclass(frozen=True)
class Seen:
    """A Secret without its values: which keys have one, whether the operator made it, and which version it is."""

    keys: frozenset[str]
    generated: bool
    version: str


@dataclass(frozen=True)
class Add:
    """Put generated passwords under these keys; without a version the Secret is made. `fernet` are those of keys."""

    keys: tuple[str, ...]
    version: str
    fernet: frozenset[str] = frozenset()


def seen(secret: Secret | None) -> Seen | None:
    """Return what may be known of a Secret."""
    if secret is None:
        return None
    keys = frozenset(key for key, value in secret.data.items() if value)
    return Seen(keys, secret.metadata.annotations.get(GENERATED) == "true", secret.metadata.resourceVersion)


def keys_of(instances: Iterable[Instance], secret: str, *, made_up: bool = False) -> dict[str, str]:
    """Return the keys that the Secret needs, each with what needs it; with `made_up` those that may be generated."""
    return {key: user for key, user, _ in _asked(instances, secret, made_up=made_up)}


def _asked(instances: Iterable[Instance], secret: str, *, made_up: bool) -> Iterator[tuple[str, str, bool]]:
    """Yield the keys that the Secret needs, each with what needs it and whether it is one of Fernet."""
    return (
        (password.key, str(instance), password.fernet)
        for instance in instances
        if not instance.foreign
        and paths.find(instance.spec, "secret") == secret
        # The password of what runs elsewhere is what it is.
        and not (made_up and instance.external)
        for password in select(_passwords_of(instance), made_up=made_up)
    )


def select(passwords: Iterable[WantedPassword], *, made_up: bool) -> Iterator[WantedPassword]:
    """Yield the passwords that must be there; with `made_up` all that are generated, also those that are optional."""
    return (password for password in passwords if made_up or not password.optional)


def _passwords_of(instance: Instance) -> Iterator[WantedPassword]:
    resource, blueprint = instance.resource, services.blueprint_of(instance.part.kind)
    if resource is not None and blueprint is not None:
        for need in blueprint.needs_of(resource):
            yield from need.passwords(resource)


def decide(umbrella: OpenStackControlPlane, instances: Iterable[Instance], secret: Seen | None) -> Add | None:
    """Return which passwords to generate, None when there is nothing to do or it is not ours to do."""
    if umbrella.spec.passwordPolicy != "Generate" or (secret is not None and not secret.generated):
        return None
    asked = tuple(_asked(instances, umbrella.spec.secret, made_up=True))
    missing = {key for key, _, _ in asked} - (secret.keys if secret else frozenset())
    fernet = frozenset(key for key, _, of_fernet in asked if of_fernet)
    return Add(tuple(sorted(missing)), secret.version if secret else "", fernet & missing) if missing else None


def complaint(umbrella: OpenStackControlPlane, instances: Iterable[Instance], secret: Seen | None) -> Finding | None:
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


def made(step: Add, generate: Generate) -> dict[str, str]:
    """Return what a step puts under its keys."""
    # A Fernet key is what `generate` makes of as many bytes, with the sign at its end that it leaves out.
    return {key: f"{generate(KEY_BYTES)}=" if key in step.fernet else generate(STRENGTH) for key in step.keys}


async def carry_out(step: Add, umbrella: OpenStackControlPlane, client: Client, generate: Generate) -> None:
    """Write the passwords; nothing is written over what somebody else wrote meanwhile."""
    name, namespace = umbrella.spec.secret, umbrella.metadata.namespace
    data = {key: base64.b64encode(text.encode()).decode() for key, text in made(step, generate).items()}
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
