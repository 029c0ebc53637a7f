"""Whether every volume has somebody who makes it. Pure."""

from collections.abc import Iterable

from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.imagined_cloud import ImaginedCloud
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.kube.resource import JsonObject

TOPIC = "storage"
DEFAULT = "storageclass.kubernetes.io/is-default-class"


def claims(cloud: ImaginedCloud) -> Iterable[tuple[str, JsonObject]]:
    """Yield the claims of volumes, each with whose it is."""
    for release in cloud.releases:
        for body in release.rendered.objects:
            if body["kind"] == "PersistentVolumeClaim":
                yield release.label, body["spec"]
            for template in (body.get("spec") or {}).get("volumeClaimTemplates") or ():
                yield release.label, template["spec"]


def storage(cloud: ImaginedCloud, state: ClusterState) -> Iterable[CheckResult]:
    """Yield for each storage class whether it is there; volumes that name none need a default."""
    wanted: dict[str, list[str]] = {}
    for label, spec in claims(cloud):
        wanted.setdefault(spec.get("storageClassName") or "", []).append(label)
    if not wanted:
        return
    if state.classes is None:
        names = ", ".join(sorted(name or "the default one" for name in wanted))
        yield CheckResult(Level.UNKNOWN, TOPIC, f"You have no right to read storage classes; needed: {names}.")
        return
    there = sorted(item.metadata.name for item in state.classes)
    known = f"there {'is' if len(there) == 1 else 'are'} {', '.join(there)}" if there else "there is none at all"
    default = [item.metadata.name for item in state.classes if item.metadata.annotations.get(DEFAULT) == "true"]
    for name, labels in sorted(wanted.items()):
        users = ", ".join(dict.fromkeys(labels))
        if name in there:
            yield CheckResult(Level.OK, TOPIC, f"StorageClass {name} exists, for {users}.")
        elif name:
            message = f"StorageClass {name}, which {users} needs, does not exist; create it, or name another ({known})."
            yield CheckResult(Level.PROBLEM, TOPIC, message)
        elif default:
            yield CheckResult(Level.OK, TOPIC, f"{users}: volumes of the default StorageClass {default[0]}.")
        else:
            message = f"{users} names no storage class, and there is no default one; name one ({known})."
            yield CheckResult(Level.PROBLEM, TOPIC, message)
