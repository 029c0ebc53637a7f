"""What a Nova and its cells are called, and all that is made for them: known before anything is made. Pure."""

from collections.abc import Iterator
from typing import Any

from stackwright.blueprint.claims import Claim
from stackwright.blueprint.service import Service
from stackwright.services.nova import mapping, migration, outside_compute, standing_for
from stackwright.services.nova.cell import CELL
from stackwright.services.nova.checks import is_metadata_global
from stackwright.services.nova.kinds.cell import CELL0
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.parent import api_transport, cell_name, notification_transport, transport
from stackwright.services.nova.standing_for import Member


def members(resource: Nova, *, whole: bool = True) -> Iterator[Member]:
    """Yield what Nova stands for; unless `whole`, without what its cells stand for."""
    name = resource.metadata.name
    yield from standing_for.services(name, metadata=is_metadata_global(resource))
    for cell, said in sorted(resource.spec.cellTemplates.items(), key=lambda entry: (entry[0] != CELL0, entry[0])):
        own, path = cell_name(resource, cell), f"spec.cellTemplates[{cell}]"
        outside = (outside_compute.secret_name(own), migration.secret_name(own))
        secrets = (*_secrets(own), *outside, _login_to(transport(cell, resource)))
        yield standing_for.member(CELL, own, path, secrets=secrets, cellName=cell)
        if whole:
            yield from standing_for.services_of_cell(own, cell, said, path)


def _secrets(own: str) -> tuple[str, ...]:
    """Return the Secrets that Nova writes for a cell."""
    return own, f"{own}-database", mapping.scripts_name(own)


def _secrets_for_all(resource: Nova) -> tuple[str, ...]:
    name = resource.metadata.name
    return name, f"{name}-api-database"


def _login_to(url: str) -> str:
    """Return the Secret that is made for a TransportURL."""
    return f"rabbitmq-transport-url-{url}"


def problems(service: Service[Any, Any], resource: Nova) -> Iterator[tuple[str, str]]:
    """Yield the names that meet others, or are too long for what they become; `service` is Nova itself."""
    urls = (api_transport(resource), notification_transport(resource))
    own = Member(service, resource, secrets=(*_secrets_for_all(resource), *map(_login_to, urls)))
    yield from standing_for.problems(own, members(resource))


def claims(resource: Nova) -> Iterator[Claim]:
    """Yield what Nova creates, besides what its needs ask for."""
    cells = (name for cell in resource.spec.cellTemplates for name in _secrets(cell_name(resource, cell)))
    return standing_for.claims(members(resource, whole=False), (*_secrets_for_all(resource), *cells))
