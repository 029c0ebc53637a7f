"""How many connections Nova keeps open to a database server, against how many the server takes. Pure.

Each process of a service has a pool of connections for each database that it uses. Those for all cells use the
database of every cell.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from stackwright.blueprint import ini
from stackwright.blueprint.needs.database import DATABASE, DatabaseServer
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.whole_numbers import read_number
from stackwright.services.nova import api, metadata
from stackwright.services.nova.checks import is_metadata_global
from stackwright.services.nova.kinds.cell import CELL0, has_novncproxy
from stackwright.services.nova.kinds.nova import Nova

# The size of a pool where nobody says it: oslo.db's own.
POOL = 5
_API = "api"
OPTIONS = (
    ("database", "max_pool_size"),
    ("api_database", "max_pool_size"),
    ("scheduler", "workers"),
    ("conductor", "workers"),
)


@dataclass(frozen=True)
class Share:
    """What one service keeps open to one server: so many pods, processes in each, and connections in each process."""

    service: str
    replicas: int
    workers: int
    connections: int

    @property
    def total(self) -> int:
        """All connections of the service."""
        return self.replicas * self.workers * self.connections

    def __str__(self) -> str:
        return f"{self.service} {self.replicas} x {self.workers} x {self.connections}"


def advice(resource: Nova, sight: Sight) -> Iterator[tuple[str, str]]:
    """Yield a sum for each server that takes fewer connections than Nova may keep open to it."""
    for server, path in _servers(resource).items():
        found = sorted(shares(resource, server), key=lambda share: -share.total)
        total = sum(share.total for share in found)
        offer: DatabaseServer | None = sight.provider(DATABASE, server).offer
        if offer is not None and 0 < offer.connections < total:
            parts = ", ".join(str(share) for share in found if share.total)
            yield (
                path,
                f"Nova may keep {total} connections to Galera {server} open, whose max_connections is "
                f"{offer.connections}; raise that in its customServiceConfig, or have fewer replicas, workers or a "
                f"smaller max_pool_size (replicas x workers x pools: {parts})",
            )


def shares(resource: Nova, server: str) -> Iterator[Share]:
    """Yield what each service keeps open to a server."""
    spec, here = resource.spec, _databases(resource, server)
    top = {
        "nova-api": (spec.apiServiceTemplate, api.PROCESSES),
        "nova-scheduler": (spec.schedulerServiceTemplate, _workers(spec.schedulerServiceTemplate, "scheduler")),
    }
    if is_metadata_global(resource):
        top["nova-metadata"] = (spec.metadataServiceTemplate, metadata.PROCESSES)
    for name, (template, workers) in top.items():
        yield _share(name, template, workers, here)
    for cell, said in sorted(spec.cellTemplates.items()):
        own = {database for database in here if database == cell}
        up = {_API} & here if said.hasAPIAccess or cell == CELL0 else set()
        conductor = said.conductorServiceTemplate
        # Those of cell0 work for all cells.
        used = here if cell == CELL0 else own | up
        yield _share(f"{cell}-conductor", conductor, _workers(conductor, "conductor"), used)
        if said.metadataServiceTemplate.enabled:
            yield _share(f"{cell}-metadata", said.metadataServiceTemplate, metadata.PROCESSES, own)
        if has_novncproxy(cell, said.noVNCProxyServiceTemplate):
            yield _share(f"{cell}-novncproxy", said.noVNCProxyServiceTemplate, 1, own)


def _share(service: str, template: Any, workers: int, databases: set[str]) -> Share:
    cells = len(databases - {_API}) * _number(template, "database", "max_pool_size", POOL)
    above = len(databases & {_API}) * _number(template, "api_database", "max_pool_size", POOL)
    return Share(service, template.replicas, workers, cells + above)


def _servers(resource: Nova) -> dict[str, str]:
    """Return the servers that Nova uses, each with the first field that names it."""
    found = {resource.spec.apiDatabaseInstance: "spec.apiDatabaseInstance"}
    for cell, said in sorted(resource.spec.cellTemplates.items()):
        found.setdefault(said.cellDatabaseInstance, f"spec.cellTemplates[{cell}].cellDatabaseInstance")
    return found


def _databases(resource: Nova, server: str) -> set[str]:
    """Return which of Nova's databases a server has: that of the API, and those of cells by name."""
    spec = resource.spec
    cells = {cell for cell, said in spec.cellTemplates.items() if said.cellDatabaseInstance == server}
    return cells | ({_API} if spec.apiDatabaseInstance == server else set())


def _workers(template: Any, section: str) -> int:
    return _number(template, section, "workers", 1)


def _number(template: Any, section: str, option: str, usual: int) -> int:
    """Return a number of the user's own configuration, or the usual one."""
    number = read_number(_said(template.customServiceConfig).get((section, option), ""))
    return usual if number is None else number


# The same templates are asked for each server and each number.
@lru_cache(maxsize=64)
def _said(text: str) -> dict[tuple[str, str], str]:
    """Return what a text says of the options that matter here."""
    parsed = ini.parse(text)
    if isinstance(parsed, ini.Problem):
        return {}
    return {
        (section, option): parsed[section][option][-1]
        for section, option in OPTIONS
        if option in parsed.get(section, {})
    }
