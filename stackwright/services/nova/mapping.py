"""Which cells Nova knows of: the jobs that map them, discover their hosts, and remove them from the API's database."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from stackwright.api.base import JsonObject
from stackwright.blueprint.digests import digest
from stackwright.blueprint.needs.given import broker_secret, database_secret
from stackwright.blueprint.service import ConfigFile, Export, Job
from stackwright.kube.plan import Ends, Wait
from stackwright.services.nova import generic_computes, rows, settings, upgrade
from stackwright.services.nova.kinds.cell import CELL0
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.parent import DELETE, ParentFacts, cell_name, count_computes, former, removed_cells
from stackwright.services.nova.programs import FIND_CELL, script

# For how many seconds the services of a new Nova wait for cells after cell0.
PATIENCE = 120.0
# For how many seconds a job looks for computes that Ansible has started; the scheduler finds them later, too.
LOOKING = 180
MAP, DISCOVER, MACHINES, NODES = "map-", "discover-", "machines-", "nodes-"
ENVIRONMENT = {
    "description": "What the script reads from its environment: CELL_NAME, HOSTS.",
    "type": "object",
    "additionalProperties": {"type": "string"},
}
# Where the scripts are in the pods of jobs.
BIN = "/var/lib/openstack/bin"
SCRIPTS = (
    script(
        "ensure_cell_mapping.sh",
        f"""\
# What a cell is mapped to stands in nova.conf: its database, and its broker. Nobody talks to cell0 by a broker.
if [ "$CELL_NAME" = {CELL0} ]; then
  nova-manage cell_v2 map_cell0
  nova-manage cell_v2 update_cell --cell_uuid 00000000-0000-0000-0000-000000000000 --transport-url none:///
  exit 0
fi
{FIND_CELL}\
if [ -n "$uuid" ]; then
  nova-manage cell_v2 update_cell --cell_uuid "$uuid"
else
  nova-manage cell_v2 create_cell --name "$CELL_NAME"
fi
""",
    ),
    # Nova gets to know a compute some time after it was started. Hosts that are to be waited for are in HOSTS. One that
    # does not come is no failure: it may be broken, and others are mapped.
    script(
        "host_discover.sh",
        f"""\
while true; do
  nova-manage cell_v2 discover_hosts --by-service --verbose
  [ -n "${{HOSTS:-}}" ] || exit 0
  mapped=" $(nova-manage cell_v2 list_hosts | awk -F '|' '{{ gsub(/ /, "", $4); print $4 }}' | tr '\\n' ' ') "
  missing=""
  for host in $HOSTS; do
    case "$mapped" in *" $host "*) ;; *) missing="$missing $host" ;; esac
  done
  [ -n "$missing" ] || exit 0
  if [ "$SECONDS" -ge {LOOKING} ]; then
    echo "Nova does not know these hosts yet:$missing. Its scheduler goes on looking for them" >&2
    exit 0
  fi
  sleep 10
done
""",
    ),
    # It fails as long as the cell has hosts or servers. 4 says that it has neither, but had servers: what is left to be
    # deleted are their mappings.
    script(
        "delete_cell.sh",
        f"""\
{FIND_CELL}\
[ -n "$uuid" ] || exit 0
status=0
nova-manage cell_v2 delete_cell --cell_uuid "$uuid" || status=$?
[ "$status" -eq 4 ] || exit "$status"
nova-manage cell_v2 delete_cell --force --cell_uuid "$uuid"
""",
    ),
)


def manage_files(cell: str, resource: Nova, facts: ParentFacts) -> tuple[ConfigFile, ...]:
    """Return what nova-manage reads for a cell."""
    return settings.manage_files(cell, facts)


def mounted(name: str, cell: str, of: str, resource: Nova, facts: ParentFacts) -> JsonObject:
    """Return where a job has its scripts, for which cell it is, and for which hosts it waits."""
    secret = {"secretName": scripts_name(cell_name(resource, of)), "defaultMode": 0o550}
    # One that is not empty is looked at again after a while, and not by the same Job.
    tries = {"backoffLimit": 1} if cell in former(resource) else {}
    hosts = generic_computes.find_hosts(cell_name(resource, cell), facts) if name == NODES else ()
    return {
        "environment": {"CELL_NAME": cell, **({"HOSTS": " ".join(hosts)} if hosts else {})},
        "extraVolumes": [{"name": "scripts", "secret": secret}],
        "extraMounts": [{"name": "scripts", "mountPath": BIN, "readOnly": True}],
        **tries,
    }


def scripts_name(cell: str) -> str:
    """Return the name of the Secret with the scripts; `cell` is the name of the NovaCell."""
    return f"{cell}-manage-scripts"


def scripts(cell: str, resource: Nova) -> Iterator[Export]:
    """Yield the scripts of a cell's jobs, under the name that the seed has for them."""
    yield Export(scripts_name(cell_name(resource, cell)), {file.key: file.content for file in SCRIPTS})


# What each job is done for: another mapping, or another set of computes, is another job.


def map_inputs(cell: str, resource: Nova, facts: ParentFacts) -> JsonObject | None:
    """Return what a cell is mapped to, once the tables of the API are there."""
    broker = facts.broker(cell)
    if not facts.synced or cell not in facts.cell_databases or broker is None:
        return None
    content = {**database_secret(facts.cell_databases[cell]), "api": facts.api_database.place}
    return content if cell == CELL0 else {**content, **broker_secret(broker)}


def discovery_inputs(cell: str, resource: Nova, facts: ParentFacts) -> JsonObject | None:
    """Return the computes of a cell, once these very ones run and the cell is mapped."""
    computes = count_computes(resource.spec.cellTemplates[cell].novaComputeTemplates)
    if f"{MAP}{cell}" not in facts.done or facts.computes.get(cell) != computes:
        return None
    return {"computes": computes}


def machine_inputs(cell: str, resource: Nova, facts: ParentFacts) -> JsonObject | None:
    """Return the computes outside of the cluster that are discovered, once Nova knows one that is not yet.

    One that goes is no reason to look again: Nova forgets the mapping of a compute that is deleted.
    """
    if f"{MAP}{cell}" not in facts.done:
        return None
    name = cell_name(resource, cell)
    there = {machine.host: machine.service for machine in facts.machines.values() if machine.cell == name}
    known = resource.status.discoveredHosts.get(name, {})
    wanted = there if there.items() - known.items() else known
    return {"machines": dict(sorted(wanted.items()))} if wanted else None


def node_inputs(cell: str, resource: Nova, facts: ParentFacts) -> JsonObject | None:
    """Return the computes that roles deploy as any other service, which are to be discovered."""
    hosts = generic_computes.find_hosts(cell_name(resource, cell), facts)
    return {"nodes": hosts} if hosts and f"{MAP}{cell}" in facts.done else None


def removal_inputs(cell: str, resource: Nova, facts: ParentFacts) -> JsonObject | None:
    """Return which cell is removed: the mapping that it had, once Nova knows no compute of it in the cluster."""
    if not facts.synced or rows.has_computes(resource, facts, cell):
        return None
    # One that was never registered may come and go several times.
    known = resource.status.registeredCells.get(cell_name(resource, cell))
    return {"removed": known or resource.metadata.generation}


def removals(resource: Nova, facts: ParentFacts) -> Iterator[Wait]:
    """Yield the cells whose removal is not done: nothing of theirs goes before."""
    serving = removed_cells(resource, facts)
    for cell in former(resource):
        if f"{DELETE}{cell}" not in facts.done:
            message = f"Cell {cell} is removed once it has no hosts and no servers; delete those that it still has"
            there = facts.former.get(cell)
            if there is not None and not there.deleting and cell not in serving:
                message += ". Its database or its broker is gone, so it keeps its images until it is removed"
            # An empty one goes by itself. Of servers and hosts that it still has only their Job knows.
            yield Wait("CellNotEmpty", message, "NovaCellsDeletion", ends=Ends.PERHAPS_BY_USER)


def waits(resource: Nova, facts: ParentFacts) -> Iterator[Wait]:
    """Yield what the first mapping of a cell, and the first discovery of its hosts, wait for."""
    known, discovered_before = resource.status.registeredCells, resource.status.discoveredCells
    for cell, said in sorted(resource.spec.cellTemplates.items()):
        name = cell_name(resource, cell)
        if name not in known and map_inputs(cell, resource, facts) is None:
            message = f"Cell {cell} is mapped once its database and the tables of the API are there"
            yield Wait("CellsNotMapped", message, "NovaCellsMapped")
        if said.novaComputeTemplates and name not in discovered_before and not discovery_inputs(cell, resource, facts):
            message = f"The hosts of cell {cell} are discovered once it is mapped and its computes run"
            yield Wait("ComputesNotReady", message, "NovaHostsDiscovered")


def mapped(resource: Nova, facts: ParentFacts) -> list[str]:
    """Return the declared cells that are mapped to what they have now."""
    return [cell for cell in sorted(resource.spec.cellTemplates) if f"{MAP}{cell}" in facts.done]


def patience(facts: ParentFacts) -> float | None:
    """Return for how many seconds a new Nova still waits for cells; None where it goes on without those."""
    mapped_for = facts.done_for.get(f"{MAP}{CELL0}")
    # Without cell0 nothing can start.
    left = PATIENCE if mapped_for is None else PATIENCE - mapped_for
    return left if left > 0 else None


def registered(resource: Nova, facts: ParentFacts) -> dict[str, str]:
    """Return the mapped cells by NovaCell, each with a hash of its mapping."""
    found = ((cell, map_inputs(cell, resource, facts)) for cell in mapped(resource, facts))
    return {cell_name(resource, cell): digest(content) for cell, content in found if content is not None}


def remembered(resource: Nova, facts: ParentFacts) -> dict[str, str]:
    """Return what the status says of mapped cells: former ones stay in it until they are removed."""
    gone = {cell_name(resource, cell) for cell in former(resource) if f"{DELETE}{cell}" in facts.done}
    before = {name: value for name, value in resource.status.registeredCells.items() if name not in gone}
    return dict(sorted({**before, **registered(resource, facts)}.items()))


def discovered(resource: Nova, facts: ParentFacts) -> dict[str, str]:
    """Return the cells whose hosts were discovered, by NovaCell, each with a hash of its computes."""
    cells = [cell for cell in sorted(resource.spec.cellTemplates) if f"{DISCOVER}{cell}" in facts.done]
    return {cell_name(resource, cell): digest(discovery_inputs(cell, resource, facts) or {}) for cell in cells}


def met(resource: Nova, facts: ParentFacts) -> dict[str, dict[str, str]]:
    """Return the machines outside of the cluster that are mapped, by NovaCell, each host with Nova's id of it."""
    found: dict[str, dict[str, str]] = {}
    for cell in sorted(resource.spec.cellTemplates):
        name = cell_name(resource, cell)
        content = machine_inputs(cell, resource, facts) if f"{MACHINES}{cell}" in facts.done else None
        hosts = content["machines"] if content is not None else resource.status.discoveredHosts.get(name, {})
        if hosts:
            found[name] = hosts
    return found


# The jobs themselves.


@dataclass(frozen=True)
class Task:
    """A job that is done for a cell: its script, what it is done for, and the condition that follows it."""

    name: str
    script: ConfigFile
    inputs: Callable[[str, Nova, ParentFacts], JsonObject | None]
    condition: str
    description: str

    def job(self, cell: str) -> Job[Nova, ParentFacts]:
        """Return the job of a cell; what concerns the API's database alone is done with what cell0 has."""
        of = CELL0 if self.name == DELETE else cell
        return Job(
            f"{self.name}{cell}",
            lambda _: f"{BIN}/{self.script.key}",
            partial(self.inputs, cell),
            self.condition,
            files=partial(manage_files, of),
            values=partial(mounted, self.name, cell, of),
            secret=f"{of}-manage-config-data",
            image=upgrade.manage_image,
            description=self.description,
            own_values={"environment": ENVIRONMENT},
        )


TASKS = (
    Task(MAP, SCRIPTS[0], map_inputs, "NovaCellsMapped", "Tells Nova of a cell."),
    Task(DISCOVER, SCRIPTS[1], discovery_inputs, "NovaHostsDiscovered", "Tells Nova of the hosts of a cell."),
    # It takes no Ready from Nova: the compute that waits for it says so.
    Task(MACHINES, SCRIPTS[1], machine_inputs, "", "Tells Nova of machines outside of the cluster."),
    Task(NODES, SCRIPTS[1], node_inputs, "", "Tells Nova of machines that a role makes computes."),
    Task(DELETE, SCRIPTS[2], removal_inputs, "NovaCellsDeletion", "Removes an empty cell."),
)
FORMS = (*(task.job("*") for task in TASKS), *upgrade.FORMS, *rows.FORMS)


def jobs(resource: Nova) -> tuple[Job[Nova, ParentFacts], ...]:
    """Return the jobs: mappings, discovery of computes, the removal of former cells, and upgrades."""
    mapping, discovery, machines, nodes, removal = TASKS
    cells = sorted(resource.spec.cellTemplates)
    hosting = (cell for cell in cells if resource.spec.cellTemplates[cell].novaComputeTemplates)
    return (
        # First, as the others run the image that the tables were brought to.
        *upgrade.jobs(resource),
        *(mapping.job(cell) for cell in cells),
        *(discovery.job(cell) for cell in hosting),
        *(task.job(cell) for task in (machines, nodes) for cell in cells if cell != CELL0),
        *rows.jobs(resource),
        *(removal.job(cell) for cell in former(resource)),
    )
