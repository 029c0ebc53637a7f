"""OpenStackAnsibleEE: one Job, whose log says how each machine fares. A run that has ended is not repeated."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from stackwright.api.annotations import PAUSED
from stackwright.api.ansibleee import (
    INPUT_READY,
    JOB_READY,
    HostResult,
    OpenStackAnsibleEE,
    OpenStackAnsibleEEStatus,
)
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.blueprint.dataplane import host_keys
from stackwright.blueprint.secret_values import texts_of
from stackwright.controllers.dataplane import run_job, run_log
from stackwright.controllers.dataplane.occupancy import Occupancy, find_holder
from stackwright.controllers.dataplane.preparation import IMAGE
from stackwright.controllers.dataplane.run_logs import RunLogs
from stackwright.controllers.looking import Interests, Looker
from stackwright.controllers.service import pods as pod_troubles
from stackwright.kube import clock
from stackwright.kube.builtin import ConfigMap, Job, Pod, Secret
from stackwright.kube.controller import Context
from stackwright.kube.errors import AlreadyExists, Blocked, Retry
from stackwright.kube.plan import Ends, Plan, Step, Wait
from stackwright.kube.resource import Key
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


@dataclass(frozen=True)
class Seen:
    """What was seen of a run. `ended` is None while its Job works, else whether the Job succeeded.

    `known_hosts` are the keys of its machines that were recorded before.
    """

    now: datetime
    poll: float
    image: str
    waits: tuple[Wait, ...] = ()
    job: Job | None = None
    ended: bool | None = None
    progress: run_log.Progress = field(default_factory=run_log.Progress)
    trouble: str = ""
    known_hosts: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing will come any more: the summary is there, or the Job has ended."""
        return self.progress.complete or self.ended is not None


@dataclass(frozen=True)
class Begin(Step):
    """Create the Job of a run, and the ConfigMap with its files."""

    run: OpenStackAnsibleEE
    image: str
    known_hosts: str = ""


async def observe(run: OpenStackAnsibleEE, world: World) -> Seen:
    """Look for what a run needs, for its Job, and into its log."""
    image = run.spec.image or world.image
    if run.finished:
        return Seen(clock.now(), world.poll, image)
    look = world.interests.begin(run, world.context)
    world.occupancy.forget(world.context.store(OpenStackAnsibleEE).list())
    job = world.context.store(Job).get(run.key)
    if job is None and run.metadata.uid in world.occupancy.begun:
        # It was made a moment ago, and the cache may not have it yet.
        job = await world.context.client.find(Job, run.metadata.name, run.metadata.namespace)
    if job is None:
        waits = tuple(_find_waits(run, image, look, world))
        return Seen(clock.now(), world.poll, image, waits, known_hosts=_find_known_hosts(run, look, world))
    everywhere = world.context.store(Pod).list()
    world.logs.forget(everywhere)
    there = (pod for pod in everywhere if pod.metadata.namespace == run.metadata.namespace)
    mine = [pod for pod in there if pod.metadata.labels.get(run_job.RUN_LABEL) == run.metadata.name]
    ended = how_ended(job)
    hidden = _hidden(run, look)
    progress = await world.logs.read(world.context.client, mine, hidden, over=ended is not None)
    trouble = pod_troubles.trouble(mine) if ended is None else ""
    return Seen(clock.now(), world.poll, image, (), job, ended, progress, trouble)


def _find_waits(run: OpenStackAnsibleEE, image: str, look: Looker, world: World) -> Iterable[Wait]:
    """Yield what a run waits for before it can begin."""
    if not image:
        message = f"The image manifest has no {IMAGE}; add it, or set spec.image"
        yield Wait("ImageMissing", message, INPUT_READY, ends=Ends.BY_USER)
    for kind, name in run_job.list_inputs(run):
        if look(kind, name) is None:
            message = f"{kind.kind.name} {name} does not exist"
            yield Wait(f"{kind.kind.name}Missing", message, INPUT_READY, ends=Ends.BY_AUTHOR)
    if busy := _find_busy(run, world):
        yield Wait("NodeBusy", busy, JOB_READY, after=min(BUSY, world.poll))


def _find_busy(run: OpenStackAnsibleEE, world: World) -> str:
    """Return which of a run's nodes another run has; "" if none."""
    namespace, store = run.metadata.namespace, world.context.store
    jobs = {job.key: job for job in store(Job).list(namespace)}
    others, there = store(OpenStackAnsibleEE).list(namespace), store(Pod).list(namespace)
    holder = find_holder(run, others, jobs, there, world.occupancy.begun)
    return f"Node {holder[0]} is in the run {holder[1]}" if holder is not None else ""


def _find_known_hosts(run: OpenStackAnsibleEE, look: Looker, world: World) -> str:
    """Return the keys that were recorded of a run's machines."""
    store, namespace = world.context.store(OpenStackDataPlaneNode), run.metadata.namespace
    nodes = (store.get(Key(namespace, entry.name)) for entry in run.spec.nodes)
    recorded = (line for node in nodes if node is not None for line in node.status.hostKeys)
    secret = look(Secret, run.spec.sshKeySecretName) if run.spec.sshKeySecretName else None
    given = texts_of(secret).get(host_keys.KNOWN_HOSTS, "") if secret is not None else ""
    return host_keys.write_recorded(recorded, given)


def _hidden(run: OpenStackAnsibleEE, look: Looker) -> frozenset[str]:
    """Return what no message may show: secret variables, and what stands in the Secrets of the run."""
    texts: list[str] = []
    for kind, name in run_job.list_inputs(run):
        secret = look(kind, name)
        if isinstance(secret, Secret):
            found = texts_of(secret)
            if name == run.spec.inventorySecretName:
                texts += json.loads(found.get(run_job.HIDDEN_KEY) or "[]")
            else:
                texts += found.values()
    return run_log.secret_words(texts)


def how_ended(job: Job) -> bool | None:
    """Return whether a Job succeeded; None while it works. Pure."""
    for condition in job.status.get("conditions") or ():
        if condition.get("status") == "True" and condition.get("type") in ("Complete", "Failed"):
            return bool(condition["type"] == "Complete")
    return None


def decide(run: OpenStackAnsibleEE, seen: Seen) -> Plan:
    """Return what brings a run to its end."""
    status = conclude(run, seen)
    if status.finishedAt:
        refuse_failed(status)
        return Plan()
    if seen.waits:
        return Plan(waits=seen.waits)
    if seen.job is None:
        return Plan(steps=(Begin(run, seen.image, seen.known_hosts, reason="Starting", condition=JOB_READY),))
    message = seen.trouble or "Ansible runs"
    return Plan(waits=(Wait("Running", message, JOB_READY, after=seen.poll),))


def conclude(run: OpenStackAnsibleEE, seen: Seen) -> OpenStackAnsibleEEStatus:
    """Return what is known of a run: how each machine fares, and whether it is over. What has ended stays."""
    if run.finished or (seen.job is None and seen.waits):
        return run.status
    if not seen.over:
        hosts = tuple(seen.progress.hosts[name] for name in sorted(seen.progress.hosts))
        return msgspec.structs.replace(run.status, jobStatus="Running" if seen.job else "Pending", hosts=hosts)
    names = (entry.inventory_name for entry in run.spec.nodes)
    succeeded = bool(seen.ended) and not seen.progress.complete
    hosts = run_log.conclude(seen.progress, names, succeeded=succeeded)
    well = all(host.state == "Ok" for host in hosts) and seen.ended is not False
    return msgspec.structs.replace(
        run.status,
        jobStatus="Succeeded" if well else "Failed",
        hosts=hosts,
        hostKeys=tuple(sorted(seen.progress.host_keys)),
        finishedAt=clock.seconds(seen.now),
    )


def refuse_failed(status: OpenStackAnsibleEEStatus) -> None:
    """Say which machines failed, where some did."""
    if status.jobStatus == "Succeeded":
        return
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
async def runs(step: Begin, world: World) -> None:
    """Carry out one step."""
    run, client = step.run, world.context.client
    # Another run may have begun since this one looked. Nothing is awaited between the question and the claim.
    if busy := _find_busy(run, world):
        raise Retry(busy, reason="NodeBusy", condition=JOB_READY)
    world.occupancy.claim(run)
    await client.apply(ConfigMap, run_job.describe_files(run, step.known_hosts))
    try:
        await client.create(Job, run_job.describe_job(run, step.image))
    except AlreadyExists:
        # It was made a moment ago, and the cache does not have it yet.
        return
