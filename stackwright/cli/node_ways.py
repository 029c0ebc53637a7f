"""Tries the ways from nodes to the cloud: a run of Ansible for nodes that can share one, deleted at the end."""

import asyncio
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass

from stackwright import tasks
from stackwright.api.ansibleee import HostResult, OpenStackAnsibleEE
from stackwright.blueprint.dataplane import ways
from stackwright.blueprint.dataplane.inputs import Work, common_key
from stackwright.blueprint.dataplane.schedule import Due, NewRun
from stackwright.controllers.dataplane.preparation import Prepared
from stackwright.controllers.dataplane.run_inputs import describe_run
from stackwright.foresight.checks.ways import Trial
from stackwright.kube import conditions
from stackwright.kube.client import Client
from stackwright.kube.errors import ApiError, Denied
from stackwright.kube.resource import JsonObject, Resource

# The image of the operators runs it; the text of the playbook comes with this program.
WORK = Work(ways.SERVICE, "", contents=ways.PLAYBOOK, type=ways.SERVICE)


@dataclass(frozen=True)
class Patience:
    """For how many seconds an operator may say nothing of a run, how long a run may take, and how often it is asked."""

    taken: float = 20.0
    ended: float = 180.0
    every: float = 1.0


async def try_ways(
    client: Client, namespace: str, trials: Iterable[Trial], patience: Patience | None = None
) -> dict[str, HostResult | str]:
    """Return the result of each node, or why there is none."""
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(common_key(WORK, trial.machine), []).append(trial)
    found = await tasks.together(
        *(_try(client, namespace, common, group, patience or Patience()) for common, group in groups.items())
    )
    return {node: answer for answers in found for node, answer in answers.items()}


async def _try(
    client: Client, namespace: str, common: str, trials: list[Trial], patience: Patience
) -> dict[str, HostResult | str]:
    bodies = describe(common, trials)
    made: list[tuple[type[Resource], str]] = []
    try:
        for kind, body in bodies:
            name = body["metadata"]["name"]
            await client.create(kind, {**body, "metadata": {"name": name, "namespace": namespace}})
            made.append((kind, name))
        run = await _follow(client, namespace, made[-1][1], patience)
    except Denied:
        return {trial.node: "you have no right to create OpenStackAnsibleEE and Secrets" for trial in trials}
    finally:
        # Also after Ctrl-C: what was made here is of no use to anybody.
        await asyncio.shield(_clean_up(client, namespace, made))
    if isinstance(run, str):
        return {trial.node: run for trial in trials}
    results = {result.host: result for result in run.status.hosts}
    return {trial.node: results.get(trial.machine.host_name, "the run says nothing of it") for trial in trials}


def describe(common: str, trials: Iterable[Trial]) -> list[tuple[type[Resource], JsonObject]]:
    """Return the objects of a run, under a name that nobody else has; the run comes last."""
    machines = {
        trial.node: Prepared(trial.machine, trial.variables, (Due(ways.SERVICE, "", common),)) for trial in trials
    }
    new = NewRun(ways.SERVICE, tuple(machines), 0, common)
    return list(describe_run(f"check-{secrets.token_hex(4)}", new, WORK, machines))


async def _follow(client: Client, namespace: str, name: str, patience: Patience) -> OpenStackAnsibleEE | str:
    """Return a run that has ended, or why it did not."""
    begun = time.monotonic()
    while True:
        run = await client.find(OpenStackAnsibleEE, name, namespace)
        passed = time.monotonic() - begun
        if run is None:
            return "somebody deleted the run"
        if run.finished:
            return run
        ready = conditions.find(run.status.conditions, conditions.READY)
        why = f" ({ready.message})" if ready is not None and ready.message else ""
        if ready is None and passed > patience.taken:
            return "no operator takes up the run"
        if not run.status.jobStatus and passed > patience.taken and why:
            return f"the run does not begin{why}"
        if passed > patience.ended:
            return f"the run does not end{why}"
        await asyncio.sleep(patience.every)


async def _clean_up(client: Client, namespace: str, made: Iterable[tuple[type[Resource], str]]) -> None:
    for kind, name in made:
        try:
            await client.delete(kind, name, namespace)
        except ApiError:
            # It is gone already, or a user deletes it; the result matters more.
            continue
