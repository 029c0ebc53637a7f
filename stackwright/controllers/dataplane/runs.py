"""OpenStackAnsibleEE: one Job, whose log says how each machine fares. A run that has ended is not repeated."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from stackwright.api.annotations import PAUSED
from stackwright.api.ansibleee import (
    FAILED,
    INPUT_READY,
    JOB_READY,
    NOT_BEGUN,
    PENDING,
    RUNNING,
    SUCCEEDED,
    HostResult,
    OpenStackAnsibleEE,
    OpenStackAnsibleEEStatus,
)
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.blueprint.dataplane import host_keys
from stackwright.blueprint.secret_values import texts_of
from stackwright.controllers.dataplane import run_job, run_log
from stackwright.controllers.dataplane.beginnings import (
    LATE,
    find_late,
    find_missing,
    find_refused,
    has_worked,
    is_idle,
)
from stackwright.controllers.dataplane.occupancy import (
    GivenUp,
    Occupancy,
    find_holder,
    how_ended,
    is_over,
)
from stackwright.controllers.dataplane.preparation import IMAGE, find_deployer, refuse_values
from stackwright.controllers.dataplane.releases import NOTHING, Release, Releases, conclude_lost, keep_results
from stackwright.controllers.dataplane.run_logs import RunLogs
from stackwright.controllers.dataplane.stuck_runs import explain_busy, find_lost, find_trouble, find_unread
from stackwright.controllers.looks import Interests, Looker
from stackwright.kube import clock
from stackwright.kube.builtin import ConfigMap, Job, Pod, Secret
from stackwright.kube.controller import Context
from stackwright.kube.errors import AlreadyExists, ApiError, Blocked, Retry
from stackwright.kube.plan import Ends, Plan, Step, Wait
from stackwright.kube.resource import Key, Resource, is_controlled
from stackwright.kube.shapes.external import external

# After how many seconds a run asks again for a node that another one has: that one's pod is about to end, mostly.
BUSY = 0.5
# How many hosts are named that failed.
NAMED = 3


@dataclass(frozen=True)
class World:
    """What a pass works with. `poll` is how often the log of a run is read, in seconds: a log cannot be watched."""

    context: Context
    interests: Interests
    occupancy: Occupancy
    logs: RunLogs
    image: str = ""
    poll: float = 2.0
    releases: Releases = field(default_factory=Releases)


@dataclass(frozen=True)
class Seen:
    """What was seen of a run. `ended` is None while its Job works, else whether the Job succeeded.

    `worked` is whether one of its pods may have touched a machine. `given_up` is why none begins, once none has for too
    long; then its Job goes, and it is `going` until nothing is left of that. `leftover` is a Job that could still begin
    to work although the run has ended. `release` is what follows for the nodes that the run is through with while it
    goes on with others. `known_hosts` are the keys of its machines that were recorded before. `trouble`
    is what there is to say of its pods, other than that they start or work.
    """

    now: datetime
    poll: float
    image: str
    waits: tuple[Wait, ...] = ()
    job: Job | None = None
    ended: bool | None = None
    progress: run_log.Progress = field(default_factory=run_log.Progress)
    trouble: Wait | None = None
    known_hosts: str = ""
    worked: bool = False
    given_up: str = ""
    going: bool = False
    leftover: Job | None = None
    release: Release = NOTHING

    @property
    def over(self) -> bool:
        """Whether nothing will come any more: the summary is there, the Job has ended, or it is gone for good."""
        gone = bool(self.given_up) and self.job is None and not self.going
        return self.progress.complete or self.ended is not None or gone


@dataclass(frozen=True)
class Begin(Step):
    """Create the Job of a run, and the ConfigMap with its files."""

    run: OpenStackAnsibleEE
    image: str
    known_hosts: str = ""


@dataclass(frozen=True)
class Discard(Step):
    """Delete the Job of a run that has ended, before the Job begins to work."""

    job: Job


@dataclass(frozen=True)
class Seal(Step):
    """Have the Job of a run make no further pod, so that nodes are free with which the one that works is through."""

    job: Job


@dataclass(frozen=True)
class GiveUp(Step):
    """Delete the Job of a run that does not begin. The run has ended once the Job is gone, and not before.

    A pod that began to work after the last word of its run would change a machine that counts as unchanged.
    """

    run: OpenStackAnsibleEE
    job: Job
    why: str
    worked: bool


async def observe(run: OpenStackAnsibleEE, world: World) -> Seen:
    """Look for what a run needs, for its Job, and into its log."""
    image = run.spec.image or world.image
    if run.finished:
        return Seen(clock.now(), world.poll, image, leftover=_find_leftover(run, world))
    look = world.interests.begin(run, world.context)
    occupancy, store = world.occupancy, world.context.store
    occupancy.forget(store(OpenStackAnsibleEE).list(), store(Job).list())
    world.releases.forget(store(OpenStackAnsibleEE).list(), store(Job).list())
    if run.metadata.uid in occupancy.given_up:
        return await _observe_end(run, image, world)
    job = await _find_job(run, world)
    if job is None or not is_controlled(job, run):
        if run.status.released:
            return Seen(clock.now(), world.poll, image, ended=False, progress=conclude_lost(run), worked=True)
        waits, now = tuple(_find_waits(run, image, look, world, job)), clock.now()
        if waits:
            # It does not try to begin, so nobody refuses it.
            occupancy.refused.pop(run.metadata.uid, None)
        known = _find_known_hosts(run, look, world)
        why = find_missing(run, waits, now) or find_refused(run, occupancy.refused.get(run.metadata.uid), now)
        worked = has_worked(run, None, ())
        return Seen(now, world.poll, image, waits, known_hosts=known, worked=worked, given_up=why)
    everywhere = store(Pod).list()
    world.logs.forget(everywhere)
    mine = [pod for pod in everywhere if is_controlled(pod, job)]
    ended, worked, now = how_ended(job), has_worked(run, job, mine), clock.now()
    hidden = _hidden(run, look)
    progress = await world.logs.read(world.context.client, mine, hidden, over=ended is not None)
    if ended is not None:
        # Also of one that succeeded: only its log has the keys of new machines, and who had no play.
        told = progress.complete or not world.logs.is_awaited(mine)
        return Seen(now, world.poll, image, (), job, ended if told else None, progress, worked=worked)
    podless = occupancy.miss_pods(run, now, missing=worked and all(is_over(pod) for pod in mine))
    lost = find_lost(mine, now, world.poll)
    trouble = lost or await find_trouble(run, job, mine, look, (world.context.client, world.poll))
    why = find_late(run, job, mine, now, podless, trouble)
    release = await world.releases.look(run, job, mine, progress, world.context.client)
    seen = Seen(now, world.poll, image, (), job, ended, progress, trouble, worked=worked, given_up=why)
    return replace(seen, release=release)


async def _find_job(run: OpenStackAnsibleEE, world: World) -> Job | None:
    """Return the Job that has the name of a run; it may be that of an earlier run, or of somebody else."""
    job, begun = world.context.store(Job).get(run.key), world.occupancy.begun
    if job is None and run.metadata.uid in begun:
        # It was made a moment ago, and the cache may not have it yet.
        job = await world.context.client.find(Job, run.metadata.name, run.metadata.namespace)
    if job is not None and not is_controlled(job, run):
        # It is in the way of a run that has not begun after all.
        begun.discard(run.metadata.uid)
    return job


async def _observe_end(run: OpenStackAnsibleEE, image: str, world: World) -> Seen:
    """Look whether the Job of a run that was given up is gone: the server deletes it after its pods."""
    given_up = world.occupancy.given_up[run.metadata.uid]
    there = await world.context.client.find(Job, run.metadata.name, run.metadata.namespace)
    job = there if there is not None and there.metadata.uid == given_up.job else None
    mine = [pod for pod in world.context.store(Pod).list() if job is not None and is_controlled(pod, job)]
    worked = given_up.worked or has_worked(run, job, mine)
    # What the last pod said stays; its log goes with it.
    progress = run_log.Progress({host.host: host for host in run.status.hosts})
    going, now = job is not None, clock.now()
    seen = Seen(now, world.poll, image, progress=progress, worked=worked, given_up=given_up.why, going=going)
    return replace(seen, trouble=find_lost(mine, now, world.poll))


def _find_leftover(run: OpenStackAnsibleEE, world: World) -> Job | None:
    """Return the Job of a run that has ended, if it could still begin to work: its nodes may have other runs by now."""
    job = world.context.store(Job).get(run.key)
    if job is None or not is_controlled(job, run) or job.deleting or how_ended(job) is not None:
        return None
    if job.metadata.uid in world.occupancy.discarded:
        return None
    pods = world.context.store(Pod).list(run.metadata.namespace)
    mine = [pod for pod in pods if is_controlled(pod, job)]
    return job if not mine or any(is_idle(pod) for pod in mine) else None


def _find_waits(run: OpenStackAnsibleEE, image: str, look: Looker, world: World, other: Job | None) -> Iterable[Wait]:
    """Yield what a run waits for before it can begin, or why it cannot; `other` is a Job with its name.

    All end after a while: whether somebody acts or not, the run is looked at again, and given up.
    """
    if (wrong := refuse_values(run)) is not None:
        yield replace(wrong, after=LATE)
    if not image:
        message = f"The image manifest has no {IMAGE}; add it, or set spec.image"
        yield Wait("ImageMissing", message, INPUT_READY, after=LATE, ends=Ends.BY_USER)
    told: list[tuple[str, str]] = []
    for kind, name in run_job.list_inputs(run):
        found = look(kind, name)
        if found is None or _is_left(run, name, found):
            told.append((kind.kind.name, name))
            message = f"{kind.kind.name} {name} does not exist"
            yield Wait(f"{kind.kind.name}Missing", message, INPUT_READY, after=LATE, ends=Ends.BY_AUTHOR)
    unread = find_unread(run, image, look, told)
    if unread is not None:
        yield replace(unread, after=LATE)
    if other is not None:
        yield _wait_for(other, world.poll)
    if taken := _find_taken(run, look(ConfigMap, run_job.name_files(run)), world):
        yield Wait("NameTaken", taken, JOB_READY, after=LATE, ends=Ends.BY_USER)
    if (holder := _find_holder(run, world)) is not None:
        there = world.context.store(Pod).list(run.metadata.namespace)
        yield explain_busy(holder, there, clock.now(), min(BUSY, world.poll))


def _find_taken(run: OpenStackAnsibleEE, there: ConfigMap | None, world: World) -> str:
    """Return why a run cannot write its files: somebody else has a ConfigMap of that name; "" if it can."""
    if there is None or run_job.is_for_run(there, run, world.context.client.field_manager):
        return ""
    return (
        f"ConfigMap {there.metadata.name} exists, was not created for this run, and is left alone; delete it, or give "
        "the run another name"
    )


def _wait_for(other: Job, poll: float) -> Wait:
    """Return a wait for the Job that has the name of a run. One of an earlier run goes with that."""
    said, owner = f"Job {other.metadata.name} is not of this run, and has its name", other.metadata.controller
    if other.deleting or (owner is not None and owner.kind == OpenStackAnsibleEE.kind.name):
        return Wait("NameTaken", f"{said}; this waits until it is gone", JOB_READY, after=poll)
    message = f"{said}; delete it if nobody needs it, or create the run under another name"
    return Wait("NameTaken", message, JOB_READY, after=poll, ends=Ends.BY_USER)


def _is_left(run: OpenStackAnsibleEE, name: str, there: Resource) -> bool:
    """Return whether an inventory is that of an earlier run of the same name: whoever makes a run owns both."""
    owner, own = there.metadata.controller, run.metadata.controller
    foreign = owner is not None and own is not None and owner.uid != own.uid
    return name == run.spec.inventorySecretName and foreign


def _find_holder(run: OpenStackAnsibleEE, world: World) -> tuple[str, str] | None:
    """Return one of a run's nodes that another run has, with that run; None if there is none."""
    namespace, store = run.metadata.namespace, world.context.store
    jobs = {job.key: job for job in store(Job).list(namespace)}
    others, there = store(OpenStackAnsibleEE).list(namespace), store(Pod).list(namespace)
    return find_holder(run, others, jobs, there, world.occupancy.begun)


def _find_known_hosts(run: OpenStackAnsibleEE, look: Looker, world: World) -> str:
    """Return the keys that were recorded of a run's machines."""
    store, namespace = world.context.store(OpenStackDataPlaneNode), run.metadata.namespace
    nodes = ((store.get(Key(namespace, entry.name)), entry.address) for entry in run.spec.nodes)
    recorded = (line for node, address in nodes if node is not None for line in find_keys(node, address))
    secret = look(Secret, run.spec.sshKeySecretName) if run.spec.sshKeySecretName else None
    given = texts_of(secret).get(host_keys.KNOWN_HOSTS, "") if secret is not None else ""
    return host_keys.write_recorded(recorded, given)


def find_keys(node: OpenStackDataPlaneNode, place: str) -> tuple[str, ...]:
    """Return the keys that the machine of a node has to have at a place, HOST:PORT.

    One with services of operators has to be the former machine, even if the node's status does not say so yet.
    """
    address, _, port = place.rpartition(":")
    # A user may write anything there.
    if not address or not port.isdecimal() or not find_deployer(node):
        return node.status.hostKeys
    return host_keys.rename(node.status.hostKeys, host_keys.name_place(address, int(port)))


def _hidden(run: OpenStackAnsibleEE, look: Looker) -> frozenset[str]:
    """Return what no message may show: secret variables, and what stands in the Secrets of the run."""
    needed = (name for kind, name in run_job.list_inputs(run) if kind is Secret)
    texts: list[str] = []
    for name in dict.fromkeys((*needed, *run_job.list_secrets(run))):
        secret = look(Secret, name)
        if secret is not None:
            texts += _find_texts(texts_of(secret), of_inventory=name == run.spec.inventorySecretName)
    return run_log.secret_words(texts)


def _find_texts(found: Mapping[str, str], *, of_inventory: bool) -> Iterable[str]:
    """Return the secret texts of a Secret; of an inventory, those that it lists. One that a user wrote lists none."""
    if not of_inventory or run_job.HIDDEN_KEY not in found:
        return found.values()
    try:
        return msgspec.json.decode(found[run_job.HIDDEN_KEY], type=list[str])
    except msgspec.MsgspecError:
        return found.values()


def decide(run: OpenStackAnsibleEE, seen: Seen) -> Plan:
    """Return what brings a run to its end."""
    if seen.leftover is not None:
        return Plan(steps=(Discard(seen.leftover, reason="Discarding", condition=JOB_READY),))
    status = conclude(run, seen)
    if seen.given_up and not run.finished:
        return _give_up(run, seen)
    if status.finishedAt:
        refuse_failed(status)
        return Plan()
    return Plan(waits=seen.waits) if seen.waits else _go_on(run, seen)


def _go_on(run: OpenStackAnsibleEE, seen: Seen) -> Plan:
    if seen.job is None:
        return Plan(steps=(Begin(run, seen.image, seen.known_hosts, reason="Starting", condition=JOB_READY),))
    message = "Ansible runs" if seen.worked else "Its pod starts"
    if seen.release.seal:
        return Plan(steps=(Seal(seen.job, reason="Running", message=message, condition=JOB_READY),))
    return Plan(waits=(seen.trouble or Wait("Running", message, JOB_READY, after=seen.poll),))


def _give_up(run: OpenStackAnsibleEE, seen: Seen) -> Plan:
    """Return what ends a run that does not begin; its status says so at the end of the pass."""
    if seen.job is None:
        going = Wait("NotBegun", seen.given_up, JOB_READY, after=min(BUSY, seen.poll))
        return Plan(waits=(seen.trouble or going,))
    why = seen.given_up
    step = GiveUp(run, seen.job, why, seen.worked, reason="GivingUp", message=why, condition=JOB_READY)
    return Plan(steps=(step,))


def conclude(run: OpenStackAnsibleEE, seen: Seen) -> OpenStackAnsibleEEStatus:
    """Return what is known of a run: how each machine fares, and whether it is over. What has ended stays."""
    if run.finished or (seen.job is None and seen.waits and not seen.given_up):
        return run.status
    progress = keep_results(run, seen.progress)
    if not seen.over:
        hosts = tuple(progress.hosts[name] for name in sorted(progress.hosts))
        status = RUNNING if seen.worked else PENDING
        released = {**run.status.released, **seen.release.nodes}
        return msgspec.structs.replace(run.status, jobStatus=status, hosts=hosts, released=released)
    names = (entry.inventory_name for entry in run.spec.nodes)
    succeeded = bool(seen.ended) and not seen.progress.complete
    progress = replace(progress, message=progress.message or seen.given_up)
    hosts = run_log.conclude(progress, names, succeeded=succeeded)
    well = all(host.state == "Ok" for host in hosts) and seen.ended is not False and not seen.given_up
    begun = seen.worked or not seen.given_up
    return msgspec.structs.replace(
        run.status,
        jobStatus=SUCCEEDED if well else FAILED if begun else NOT_BEGUN,
        hosts=hosts,
        hostKeys=tuple(sorted(seen.progress.host_keys)),
        finishedAt=clock.seconds(seen.now),
    )


def refuse_failed(status: OpenStackAnsibleEEStatus) -> None:
    """Say which machines failed, where some did."""
    if status.jobStatus == SUCCEEDED:
        return
    if status.jobStatus == NOT_BEGUN:
        why = next((host.message for host in status.hosts), "")
        raise Blocked(why or "It was given up before it began", reason="NotBegun", condition=JOB_READY)
    failed = [host for host in status.hosts if host.state != "Ok"]
    listed = "; ".join(_describe(host) for host in failed[:NAMED])
    more = f"; and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    message = f"Not applied: {listed}{more}" if failed else "The pod ended with an error; its log says why"
    raise Blocked(message, reason="RunFailed", condition=JOB_READY)


def _describe(host: HostResult) -> str:
    at = f" in task {host.task}" if host.task else ""
    why = f": {host.message}" if host.message else ""
    return f"{host.host} {host.state.lower()}{at}{why}"


@external(of=OpenStackAnsibleEE, read=observe, decide=decide, tell=conclude, pause=PAUSED)
async def runs(step: Begin | Discard | GiveUp | Seal, world: World) -> None:
    """Carry out one step."""
    match step:
        case Begin():
            await _begin(step, world)
        case Discard(job=job):
            metadata = job.metadata
            await world.context.client.delete(Job, metadata.name, metadata.namespace, uid=metadata.uid)
            # Only now: what could not be deleted is tried again.
            world.occupancy.discarded.add(metadata.uid)
        case Seal(job=job):
            await world.releases.seal(job, world.context.client)
        case GiveUp(run=run, job=job):
            metadata, client = job.metadata, world.context.client
            # Its pods go first, so that none is left once it is gone.
            await client.delete(Job, metadata.name, metadata.namespace, uid=metadata.uid, propagation="Foreground")
            world.occupancy.given_up[run.metadata.uid] = GivenUp(metadata.uid, step.why, step.worked)


async def _begin(step: Begin, world: World) -> None:
    run, client = step.run, world.context.client
    # Somebody may have made it a moment ago, so that the cache does not have it yet; the apply would take every field.
    there = await client.find(ConfigMap, run_job.name_files(run), run.metadata.namespace)
    if taken := _find_taken(run, there, world):
        raise Retry(taken, reason="NameTaken", condition=JOB_READY)
    # Another run may have begun since this one looked: then the next look waits for it, and nobody has to act.
    # Nothing is awaited between the question and the claim.
    if _find_holder(run, world) is not None:
        return
    world.occupancy.claim(run)
    try:
        await client.apply(ConfigMap, run_job.describe_files(run, step.known_hosts))
        await client.create(Job, run_job.describe_job(run, step.image))
    except AlreadyExists:
        # It was made a moment ago, and the cache does not have it yet; or it is somebody else's, as the next look says.
        return
    except ApiError as error:
        world.occupancy.note_refusal(run, clock.now(), f"Its Job cannot be created: {error.message}")
        raise
