"""Runs that a status speaks of, and that the cache does not have: they are gone, or the cache is behind.

After another replica took over, or when the runs are listed again by a server that is behind, nodes may be newer than
runs. Then a run that has just begun must not be taken for one that somebody deleted.
"""

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import RunningService
from stackwright.blueprint.dataplane.records import find_lost, names_of
from stackwright.kube.client import Client


async def complete(
    runs: tuple[OpenStackAnsibleEE, ...], running: RunningService | None, namespace: str, client: Client
) -> tuple[OpenStackAnsibleEE, ...]:
    """Return the runs, with the one that a status says is under way if the server has it after all."""
    missing = find_lost(running, names_of(runs))
    if missing is None:
        return runs
    found = await client.find(OpenStackAnsibleEE, missing.run, namespace)
    return runs if found is None else (*runs, found)
