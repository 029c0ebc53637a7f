"""Rows of services that run no more: which hosts Nova may know, which of them are too many, and the jobs that act.

Pods of a StatefulSet have stable names, which are what Nova calls their hosts. The status remembers how many hosts of
each StatefulSet there have been, so that those which are too many are known by name, and nothing is ever guessed: a
machine outside of the cluster is never among them, whatever it is called.

As long as somebody scales a StatefulSet by hand, all hosts that it had are remembered and none is too many: they may
come back any time, and Nova rightly says of those that are not there that they are down.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from stackwright.api.base import JsonObject
from stackwright.blueprint import oslo
from stackwright.blueprint.needs import GivenEarlier, Reported
from stackwright.blueprint.needs.given import GIVEN_BROKER_ALONE, GIVEN_DATABASE
from stackwright.blueprint.service import ConfigFile, Job
from stackwright.services.nova import programs, settings, upgrade
from stackwright.services.nova.kinds.cell import CELL0, NovaCell, compute_name
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.parent import (
    DELETE,
    ParentFacts,
    cell_name,
    database_secret_name,
    former,
    has_seen,
)

CLEAN, EMPTY = "clean-", "empty-"
CONDITION = "NovaServicesCleaned"
SCRIPT = ConfigFile(
    "service_rows.py",
    (Path(__file__).parent / "pod" / "service_rows.py").read_text(encoding="utf-8"),
    "/etc/nova/service_rows.py",
)
# The computes of a cell are emptied if it has no other hosts: then it is going to stay, and so are they.
EMPTY_CELL = programs.script(
    "empty_cell.sh",
    f"""\
{programs.FIND_CELL}\
[ -n "$uuid" ] || exit 0
nova-manage cell_v2 list_hosts --cell_uuid "$uuid" |
  awk -F '|' -v uuid="$uuid" '{{ gsub(/ /, "", $3); gsub(/ /, "", $4) }} $3 == uuid {{ print $4 }}' |
  while read -r host; do
    case " $HOSTS " in
      *" nova-compute/$host "*) ;;
      *) echo "Cell $CELL_NAME has other hosts than those in the cluster: $host" >&2; exit 1 ;;
    esac
  done
python3 {SCRIPT.destination} empty
""",
)
ENVIRONMENT = {
    "description": "What the script reads from its environment: HOSTS, WITNESSES, CELL_NAME.",
    "type": "object",
    "additionalProperties": {"type": "string"},
}


def declared(resource: Nova, cell: str) -> dict[str, int]:
    """Return how many hosts each StatefulSet of a declared cell has; that of the scheduler is with cell0."""
    said, name = resource.spec.cellTemplates[cell], cell_name(resource, cell)
    found = {f"{name}-conductor": said.conductorServiceTemplate.replicas}
    if cell == CELL0:
        found[f"{resource.metadata.name}-scheduler"] = resource.spec.schedulerServiceTemplate.replicas
    for compute, template in said.novaComputeTemplates.items():
        found[compute_name(name, compute)] = template.replicas
    return found


def expected(resource: Nova, facts: ParentFacts, cell: str) -> dict[str, int]:
    """Return how many hosts each StatefulSet of a cell is to have; one that is removed loses its computes first."""
    if cell in resource.spec.cellTemplates:
        runs = (facts.cells.get(cell), facts.services.get("scheduler"))
        by_hand = {name: count for run in runs if run is not None for name, count in run.by_hand.items()}
        before = resource.status.serviceHosts.get(cell, {})
        return {
            name: max(count, by_hand[name], before.get(name, 0)) if name in by_hand else count
            for name, count in declared(resource, cell).items()
        }
    known = resource.status.serviceHosts.get(cell, {})
    return {name: count for name, count in known.items() if not (is_emptied(facts, cell) and _is_compute(name))}


def _is_compute(name: str) -> bool:
    return name.endswith("-compute")


def is_emptied(facts: ParentFacts, cell: str) -> bool:
    """Return whether no server is left on the computes of a cell that is removed, and none can come."""
    return f"{EMPTY}{cell}" in facts.done


def known(resource: Nova) -> dict[str, Mapping[str, int]]:
    """Return the hosts that Nova may know, as the status remembers them, of all cells that there are or were."""
    cells = (*resource.spec.cellTemplates, *former(resource))
    return {cell: resource.status.serviceHosts.get(cell, {}) for cell in sorted(cells)}


def stale(resource: Nova, facts: ParentFacts, cell: str) -> list[str]:
    """Return the hosts of a cell that are too many, each as binary/host."""
    wanted = expected(resource, facts, cell)
    return [
        host
        for name, count in sorted(known(resource).get(cell, {}).items())
        for host in _hosts(name, wanted.get(name, 0), count)
    ]


def _hosts(name: str, first: int, count: int) -> Iterator[str]:
    binary = f"nova-{name.rpartition('-')[2]}"
    return (f"{binary}/{name}-{number}" for number in range(first, count))


def _witnesses(resource: Nova, facts: ParentFacts, cell: str) -> dict[str, str]:
    """Return hosts that stay, by which the job knows that Nova reads the cell's database; none where nothing stays.

    A cell that is removed may never have had a conductor, and so no row by which Nova could show that it reads it.
    """
    staying = [name for name, count in sorted(expected(resource, facts, cell).items()) if count]
    if cell not in resource.spec.cellTemplates or not staying:
        return {}
    return {"WITNESSES": " ".join(host for name in staying for host in _hosts(name, 0, 1))}


def remembered(resource: Nova, facts: ParentFacts) -> dict[str, dict[str, int]]:
    """Return what the status is to remember: hosts that are too many stay in it until their rows are deleted."""
    found: dict[str, dict[str, int]] = {}
    for cell, before in known(resource).items():
        if f"{DELETE}{cell}" in facts.done:
            continue
        wanted = expected(resource, facts, cell)
        if stale(resource, facts, cell) and f"{CLEAN}{cell}" not in facts.done:
            names = sorted({*wanted, *before})
            wanted = {name: max(wanted.get(name, 0), before.get(name, 0)) for name in names}
        found[cell] = {name: count for name, count in sorted(wanted.items()) if count}
    return {cell: hosts for cell, hosts in found.items() if hosts}


def has_computes(resource: Nova, facts: ParentFacts, cell: str) -> bool:
    """Return whether Nova may know computes in the cluster of a cell."""
    return any(map(_is_compute, remembered(resource, facts).get(cell, {})))


# A cell that is removed, as it is in the cluster.


def needs(resource: Nova) -> Iterator[Reported | GivenEarlier]:
    """Yield the NovaCells of cells that are removed, and where they keep their data: nobody says it any more."""
    for cell in former(resource):
        name = cell_name(resource, cell)
        named, database = partial(_same, name), partial(_same, database_secret_name(name))
        yield Reported(name="former", key=cell, of=NovaCell, resource=named, read=_itself)
        yield GivenEarlier(name="cell_databases", key=cell, of=GIVEN_DATABASE, named=database)
        yield GivenEarlier(name="cell_brokers", key=cell, of=GIVEN_BROKER_ALONE, named=named)


def _same(name: str, _: Nova) -> str:
    return name


def _itself(cell: NovaCell) -> NovaCell:
    return cell


# The jobs.


def clean_inputs(cell: str, resource: Nova, facts: ParentFacts) -> JsonObject | None:
    """Return the hosts whose rows are deleted, once the cell is as it is to be."""
    hosts = stale(resource, facts, cell)
    if not hosts or not _is_settled(cell, resource, facts):
        return None
    # The same hosts may be too many once more, later.
    return {"deleted": hosts, "generation": resource.metadata.generation}


def _is_settled(cell: str, resource: Nova, facts: ParentFacts) -> bool:
    if cell not in resource.spec.cellTemplates:
        there = facts.former.get(cell)
        # It need not be ready: one whose conductors never started can be removed too. The job waits for each host.
        return there is None or (not there.spec.novaComputeTemplates and has_seen(there))
    runs = [facts.cells.get(cell), *([facts.services.get("scheduler")] if cell == CELL0 else ())]
    return all(run is not None and run.settled == frozenset(run.images) for run in runs)


def empty_inputs(cell: str, resource: Nova, facts: ParentFacts) -> JsonObject | None:
    """Return the computes that are emptied before they go."""
    computes = _computes(resource, cell)
    if not computes or not facts.synced:
        return None
    return {"emptied": computes, "generation": resource.metadata.generation}


def _computes(resource: Nova, cell: str) -> list[str]:
    known = resource.status.serviceHosts.get(cell, {})
    return [host for name, count in sorted(known.items()) if _is_compute(name) for host in _hosts(name, 0, count)]


def _files(resource: Nova, facts: ParentFacts) -> tuple[ConfigFile, ...]:
    login = json.dumps({key: value for key, value in oslo.login(facts.identity).items() if key != "auth_type"})
    own = ConfigFile("login.json", login, "/etc/nova/login.json")
    return (*settings.manage_files(CELL0, facts), SCRIPT, EMPTY_CELL, own)


def _clean_values(cell: str, resource: Nova, facts: ParentFacts) -> JsonObject:
    environment = {"HOSTS": " ".join(stale(resource, facts, cell)), **_witnesses(resource, facts, cell)}
    return {"environment": environment, "backoffLimit": 1}


def _empty_values(cell: str, resource: Nova, facts: ParentFacts) -> JsonObject:
    return {"environment": {"HOSTS": " ".join(_computes(resource, cell)), "CELL_NAME": cell}, "backoffLimit": 1}


def _clean(cell: str) -> Job[Nova, ParentFacts]:
    return Job(
        f"{CLEAN}{cell}",
        lambda _: f"python3 {SCRIPT.destination} delete",
        partial(clean_inputs, cell),
        CONDITION,
        files=_files,
        values=partial(_clean_values, cell),
        secret="service-rows-config-data",  # noqa: S106  the name of a Secret
        image=upgrade.manage_image,
        description="Deletes the rows of services whose pods are gone.",
        own_values={"environment": ENVIRONMENT},
    )


def _empty(cell: str) -> Job[Nova, ParentFacts]:
    return Job(
        f"{EMPTY}{cell}",
        lambda _: EMPTY_CELL.destination,
        partial(empty_inputs, cell),
        "NovaCellsDeletion",
        files=_files,
        values=partial(_empty_values, cell),
        secret="service-rows-config-data",  # noqa: S106  the name of a Secret
        image=upgrade.manage_image,
        description="Sees that the computes of a cell that is removed have no servers.",
        own_values={"environment": ENVIRONMENT},
    )


FORMS = (_clean("*"), _empty("*"))


def jobs(resource: Nova) -> tuple[Job[Nova, ParentFacts], ...]:
    """Return the jobs: none as long as there is nothing to delete."""
    gone = former(resource)
    emptied = tuple(_empty(cell) for cell in gone if _computes(resource, cell))
    shrunk = (cell for cell, hosts in known(resource).items() if cell in gone or _is_fewer(resource, cell, hosts))
    return (*emptied, *(_clean(cell) for cell in shrunk if known(resource)[cell]))


def _is_fewer(resource: Nova, cell: str, hosts: Mapping[str, int]) -> bool:
    wanted = declared(resource, cell)
    return any(wanted.get(name, 0) < count for name, count in hosts.items())
