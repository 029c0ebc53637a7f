"""Whether the cluster is one that a cloud can be deployed to: its version, our kinds, an operator. Pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from stackwright import services
from stackwright.blueprint.workloads import ENFORCED, PROFILES, Profile, forbids
from stackwright.foresight.checks.cluster_state import ClusterState
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.foresight.durations import spell
from stackwright.foresight.operators import describe_blindness
from stackwright.kube.builtin import Namespace
from stackwright.kube.crd.generate import OWNER, OWNER_LABEL
from stackwright.kube.crd.install import differences
from stackwright.kube.shapes.states import state_of

_VERSION = "app.kubernetes.io/version"
# What the leases begin with that operators compete for.
_LEASE = "stackwright-"
# Who has not renewed a lease for so long does not work any more.
_ALIVE = timedelta(seconds=60)


def kubernetes(state: ClusterState, oldest: tuple[int, int]) -> CheckResult:
    """Return whether the server is new enough."""
    version = state.version
    needed = f"{oldest[0]}.{oldest[1]} or newer is needed"
    if (version.major, version.minor) < oldest:
        return CheckResult(
            Level.PROBLEM, "kubernetes", f"The server is Kubernetes {version}, and {needed}; upgrade it."
        )
    return CheckResult(Level.OK, "kubernetes", f"The server is Kubernetes {version}; {needed}.")


def definitions(state: ClusterState) -> Iterable[CheckResult]:
    """Yield whether the cluster knows our kinds as this version has them."""
    topic = "definitions"
    if state.definitions is None:
        yield CheckResult(Level.UNKNOWN, topic, "You have no right to read CustomResourceDefinitions.")
        return
    there = {item.metadata.name: item for item in state.definitions}
    names = [kind.kind.crd_name for kind in services.kinds()]
    missing = [name for name in names if name not in there]
    foreign = [name for name, item in there.items() if item.metadata.labels.get(OWNER_LABEL) != OWNER]
    if missing:
        which = "none of our kinds" if len(missing) == len(names) else f"no {', '.join(missing)}"
        message = f"The cluster knows {which}; install them: stackwright crds --install (stackwright up does it)."
        yield CheckResult(Level.PROBLEM, topic, message)
    if foreign:
        message = f"{', '.join(foreign)}: another operator's; remove it from the cluster, or use another cluster."
        yield CheckResult(Level.PROBLEM, topic, message)
    if missing or foreign:
        return
    if state.upgraded is None:
        yield CheckResult(Level.UNKNOWN, topic, f"All {len(names)} kinds are installed; their version is not known.")
        return
    changed = [
        item.metadata.name
        for item in state.upgraded
        if next(iter(differences(there[item.metadata.name].spec, item.spec)), "")
    ]
    if changed:
        message = f"{', '.join(changed)}: in another version; upgrade them: stackwright crds --install."
        yield CheckResult(Level.WARNING, topic, message)
    else:
        yield CheckResult(Level.OK, topic, f"All {len(names)} kinds are installed, in this version.")


def operators(state: ClusterState, version: str, now: datetime) -> Iterable[CheckResult]:
    """Yield whether somebody works on what is written, and of which version that is."""
    topic = "operator"
    if state.operators is None:
        yield CheckResult(Level.UNKNOWN, topic, "You have no right to read the operators.")
        return
    if not state.operators:
        yield _outside(state, now)
    elif message := describe_blindness(state.operators, state.namespace):
        yield CheckResult(Level.PROBLEM, topic, message)
    for item in state.operators:
        name = f"{item.metadata.name} in namespace {item.metadata.namespace}"
        how, other = state_of(item), item.metadata.labels.get(_VERSION, "")
        if how.status != "True":
            hint = f"kubectl -n {item.metadata.namespace} describe pods"
            yield CheckResult(Level.PROBLEM, topic, f"{how.message} ({name}); see why: {hint}.")
        elif other != version:
            message = f"{name} has version {other}, and this is {version}; upgrade it (stackwright up does it)."
            yield CheckResult(Level.WARNING, topic, message)
        else:
            yield CheckResult(Level.OK, topic, f"{name} runs, in version {version}.")


def _outside(state: ClusterState, now: datetime) -> CheckResult:
    """Return whether an operator works on the cluster from outside: its lease tells."""
    for lease in state.leases or ():
        if not lease.metadata.name.startswith(_LEASE) or not lease.spec.renewTime or not lease.spec.holderIdentity:
            continue
        age = now - datetime.fromisoformat(lease.spec.renewTime)
        if age < _ALIVE:
            heard = spell(age.total_seconds())
            message = f"{lease.spec.holderIdentity} works outside the cluster, last seen {heard} ago."
            return CheckResult(Level.OK, "operator", message)
    message = "No operator runs: nothing would be deployed. Install it (stackwright up does it), or run one."
    return CheckResult(Level.PROBLEM, "operator", message)


def namespace(state: ClusterState, profile: Profile, takers: tuple[str, ...]) -> CheckResult:
    """Return whether the namespace is there, and enforces a pod security profile.

    `profile` is the strictest one that allows all pods, and `takers` are the resources because of which it is not
    stricter.
    """
    name, topic = state.namespace, "namespace"
    if state.here is None:
        message = f"Namespace {name} does not exist; create it: kubectl create namespace {name}."
        return CheckResult(Level.WARNING, topic, message)
    if not state.here.metadata.name:
        return CheckResult(Level.UNKNOWN, topic, f"You have no right to read namespace {name}.")
    if state.here.deleting:
        return CheckResult(Level.PROBLEM, topic, f"Namespace {name} is being deleted; wait until it is gone.")
    return _enforced(state.here, profile, takers)


def _enforced(here: Namespace, wanted: Profile, takers: tuple[str, ...]) -> CheckResult:
    name, topic, enforced = here.metadata.name, "namespace", here.metadata.labels.get(ENFORCED, "")
    if forbids(enforced, wanted):
        message = f"Namespace {name} enforces the {enforced} profile, which forbids pods of {', '.join(takers)}; allow "
        command = f"kubectl label --overwrite namespace {name} {ENFORCED}={wanted}"
        return CheckResult(Level.PROBLEM, topic, f"{message}them: {command}.")
    if enforced == wanted:
        return CheckResult(Level.OK, topic, f"Namespace {name} exists, and enforces the {wanted} profile.")
    if wanted == PROFILES[-1]:
        # A namespace without the label allows everything, unless the cluster has another default.
        message = f"Namespace {name} exists, and enforces no profile, as pods of {', '.join(takers)} need."
        return CheckResult(Level.OK, topic, message)
    message = f"Namespace {name} does not enforce the {wanted} profile, which our pods satisfy; make it do so: "
    return CheckResult(Level.WARNING, topic, f"{message}kubectl label namespace {name} {ENFORCED}={wanted}.")
