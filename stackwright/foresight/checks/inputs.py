"""Whether the Secrets and ConfigMaps are there that a user must bring; of Secrets the names of keys count. Pure."""

from collections.abc import Iterable, Mapping

import msgspec

from stackwright import services
from stackwright.blueprint.pod_references import Reference, list_pull_secrets, list_required
from stackwright.blueprint.secret_values import encode
from stackwright.blueprint.service_fields import spec_of
from stackwright.controllers.controlplane import passwords
from stackwright.controllers.controlplane.passwords import SecretKeys
from stackwright.controllers.controlplane.resolution import Instance
from stackwright.controllers.service.references import OF_KUBERNETES
from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.imagined_cloud import ImaginedCloud, pods_of
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.resource import Resource

TOPIC = "passwords"


def umbrella(cloud: ImaginedCloud, state: ClusterState) -> Iterable[CheckResult]:
    """Yield whether the Secret of a control plane has the passwords of all services."""
    for plane in cloud.planes:
        name = plane.spec.secret
        if state.secrets is None and not any(_is_secret(item, name) for item in cloud.given):
            yield CheckResult(Level.UNKNOWN, TOPIC, f"You have no right to read Secret {name}.")
            continue
        found = passwords.read_keys(_secret(name, cloud, state))
        if (new := passwords.decide(plane, cloud.instances, found)) is not None:
            yield CheckResult(Level.OK, TOPIC, f"{', '.join(new.keys)}: will be created in Secret {name}.")
            found = SecretKeys((found.keys if found else frozenset()) | set(new.keys), generated=True, version="")
        if (complaint := passwords.complaint(plane, cloud.instances, found)) is not None:
            yield CheckResult(Level.PROBLEM, TOPIC, complaint.message)
        elif new is None:
            yield CheckResult(Level.OK, TOPIC, f"Secret {name} has all keys that the services need.")


def own_passwords(cloud: ImaginedCloud, state: ClusterState) -> Iterable[CheckResult]:
    """Yield whether services that no control plane makes have the passwords that they name."""
    if state.secrets is None:
        return
    of_planes = {instance.resource_name for instance in cloud.instances}
    for release in cloud.releases:
        # What a service makes of our kinds takes its passwords from that service.
        made_by = services.part_of(type(release.resource))
        if made_by is None:
            continue
        spec = msgspec.to_builtins(spec_of(release.resource))
        instance = Instance(*made_by, release.resource.metadata.name, spec)
        if instance.resource_name in of_planes:
            continue
        name = spec.get("secret", "")
        found = passwords.read_keys(_secret(name, cloud, state))
        missing = sorted(passwords.keys_of([instance], name).keys() - (found.keys if found else ()))
        if missing:
            what = "lacks" if found else "does not exist; create it with"
            message = f"{release.label}: Secret {name}, which spec.secret names, {what} {', '.join(missing)}."
            yield CheckResult(Level.PROBLEM, TOPIC, message)


def _secret(name: str, cloud: ImaginedCloud, state: ClusterState) -> Secret | None:
    """Return a Secret as it is after the files were applied: what they say goes over what is there."""
    there = next((item for item in state.secrets or () if item.metadata.name == name), None)
    given = [item for item in cloud.given if isinstance(item, Secret) and _is_secret(item, name)]
    if not given:
        return there
    data = {**(there.data if there else {}), **given[-1].data, **encode(given[-1].stringData)}
    return Secret(metadata=there.metadata if there else given[-1].metadata, data=data)


def _is_secret(item: Resource, name: str) -> bool:
    return isinstance(item, Secret) and item.metadata.name == name


def references(cloud: ImaginedCloud, state: ClusterState | None) -> Iterable[CheckResult]:
    """Yield the Secrets and ConfigMaps that pods read and that nobody makes."""
    made = {name for release in cloud.releases for name in release.made}
    made |= {plane.spec.secret for plane in cloud.planes} | {OF_KUBERNETES}
    wanted: dict[Reference, str] = {}
    for release in cloud.releases:
        for _, pod in pods_of(release):
            for reference in (*list_pull_secrets(pod), *list_required(pod)):
                if reference.name not in made:
                    wanted.setdefault(reference, release.label)
    there = _keys(cloud, state)
    unknown = state is None or state.secrets is None or state.configs is None
    found = [_missing(reference, label, there, unknown=unknown) for reference, label in wanted.items()]
    told = [entry for entry in found if entry is not None]
    yield from told
    if wanted and not told:
        message = f"Everything that pods read and you provide exists: {', '.join(sorted(map(str, wanted)))}."
        yield CheckResult(Level.OK, "references", message)


def _missing(
    wanted: Reference, label: str, there: Mapping[tuple[str, str], set[str]], *, unknown: bool
) -> CheckResult | None:
    keys = there.get((wanted.kind, wanted.name))
    if keys is None and unknown:
        message = f"{label} reads {wanted}; whether it exists is not known."
        return CheckResult(Level.UNKNOWN, "references", message)
    if keys is None:
        key = f" with the key {wanted.key}" if wanted.key else ""
        return CheckResult(
            Level.PROBLEM, "references", f"{label} reads {wanted}, which does not exist; create it{key}."
        )
    if wanted.key and wanted.key not in keys:
        return CheckResult(
            Level.PROBLEM, "references", f"{label} reads {wanted.key} of {wanted}, which lacks it; add it."
        )
    return None


def _keys(cloud: ImaginedCloud, state: ClusterState | None) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    there = (*((state.secrets if state else None) or ()), *((state.configs if state else None) or ()), *cloud.given)
    for item in there:
        if isinstance(item, Secret):
            found.setdefault(("Secret", item.metadata.name), set()).update(item.data, item.stringData)
        elif isinstance(item, ConfigMap):
            found.setdefault(("ConfigMap", item.metadata.name), set()).update(item.data, item.binaryData)
    return found
