"""Whether the names are free that a deployment would use, and short enough; and whose Helm releases there are. Pure."""

from collections.abc import Iterable

from stackwright import services
from stackwright.adapters.helm import records
from stackwright.controllers.release.history import history_of
from stackwright.controllers.release.owner import Owner, release_of, who_owns, why_contested
from stackwright.controllers.service import labels
from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.imagined_cloud import ImaginedCloud, Release
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.kube.resource import Resource, is_controlled

TOPIC = "names"
# Names become labels and host names, of at most 63 characters; Kubernetes adds to those of some kinds.
LONGEST = {"StatefulSet": 52, "CronJob": 52, "Deployment": 63, "DaemonSet": 63, "Job": 63, "Service": 63}


def planes(cloud: ImaginedCloud, state: ClusterState) -> Iterable[CheckResult]:
    """Yield what keeps a namespace from having this control plane: it can have one."""
    there = {item.metadata.name for item in state.planes}
    wanted = {plane.metadata.name for plane in cloud.planes}
    # A file of other resources, such as nodes, is for the control plane that is there.
    if others := sorted(there - wanted if cloud.given and wanted else ()):
        message = (
            f"Namespace {cloud.namespace} has OpenStackControlPlane {others[0]} already, and can have one; "
            "change that one, or use another namespace."
        )
        yield CheckResult(Level.PROBLEM, TOPIC, message)
    if len(wanted) > 1:
        message = f"{', '.join(sorted(wanted))}: a namespace has one OpenStackControlPlane at most; leave one of them."
        yield CheckResult(Level.PROBLEM, TOPIC, message)


def lengths(cloud: ImaginedCloud) -> Iterable[CheckResult]:
    """Yield the names that are too long."""
    for release in cloud.releases:
        for body in release.rendered.objects:
            name, most = body["metadata"]["name"], LONGEST.get(body["kind"], 253)
            if len(name) > most:
                message = (
                    f"{body['kind']} {name} has {len(name)} characters, and may have {most}; "
                    f"give {release.label} a shorter name."
                )
                yield CheckResult(Level.PROBLEM, TOPIC, message)


def objects(cloud: ImaginedCloud, state: ClusterState) -> Iterable[CheckResult]:
    """Yield the objects of others that have names which we would use, and say so where all are free or ours."""
    count, bad = 0, False
    for release in cloud.releases:
        there = _there(release, state)
        count += len(release.rendered.objects)
        owner = _resource(release, state)
        history = history_of(state.secrets or (), release.resource.metadata.name)
        if who_owns(owner, history, there) is Owner.CONTESTED:
            bad = True
            yield CheckResult(Level.PROBLEM, TOPIC, f"{release.label}: {why_contested(owner, history, there)}.")
            continue
        foreign = [item for item in there if not _is_ours(item, release, owner)]
        for item in foreign:
            bad = True
            message = (
                f"{item.kind.name} {item.metadata.name}, which {release.label} would create, exists already and "
                "belongs to something else; delete it, or use another name or namespace."
            )
            yield CheckResult(Level.PROBLEM, TOPIC, message)
    if count and not bad:
        yield CheckResult(Level.OK, TOPIC, f"The names of all {count} objects are free, or belong to them already.")


def releases(cloud: ImaginedCloud, state: ClusterState) -> Iterable[CheckResult]:
    """Yield which Helm releases are of another version, or were left in the middle."""
    topic = "releases"
    if state.secrets is None:
        yield CheckResult(Level.UNKNOWN, topic, "You have no right to read Secrets, and therefore Helm's records.")
        return
    for release in cloud.releases:
        name = release.resource.metadata.name
        history = history_of(state.secrets, name)
        if not history:
            continue
        last = history[-1]
        before, after = (
            last.record.chart[1] if last.record is not None else "",
            release.rendered.chart.record["metadata"].get("version", ""),
        )
        if last.status in records.BUSY:
            message = (
                f"Helm release {name} is {last.status} at revision {last.version}; wait, or end it: helm rollback."
            )
            yield CheckResult(Level.WARNING, topic, message)
        elif before != after:
            message = f"Helm release {name} has version {before} of its chart; {after} would upgrade it."
            yield CheckResult(Level.WARNING, topic, message)


def _there(release: Release, state: ClusterState) -> list[Resource]:
    keys = ((body["kind"], body["metadata"]["name"]) for body in release.rendered.objects)
    return [state.objects[key] for key in keys if key in state.objects]


def _resource(release: Release, state: ClusterState) -> Resource:
    """Return the resource as it is there, which has a uid; else as it would be."""
    wanted = release.resource
    same = (item for item in state.resources if type(item) is type(wanted))
    return next((item for item in same if item.metadata.name == wanted.metadata.name), wanted)


def _is_ours(item: Resource, release: Release, owner: Resource) -> bool:
    """Return whether an object is that of the resource, or was left over by one of its name."""
    if is_controlled(item, owner) and owner.metadata.uid:
        return True
    kinds = {kind.kind.name for kind in services.kinds()}
    controller = item.metadata.controller
    if controller is not None:
        return controller.kind in kinds and controller.name == owner.metadata.name
    key = labels.instance_of(item, release.rendered.chart.name)
    return (key is not None and key.name == owner.metadata.name) or release_of(item) == owner.metadata.name
