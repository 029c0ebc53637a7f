"""Why a Nova is not ready, in the words of what keeps it from that."""

from collections.abc import Mapping
from typing import Any

import msgspec

from stackwright.blueprint.needs import CatalogEntry, Messaging
from stackwright.blueprint.providers import Sight
from stackwright.controllers import needs
from stackwright.kube import conditions
from stackwright.kube.conditions import READY, REQUESTED, Finding
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Condition
from stackwright.services.nova.kinds.services import NovaAPI, NovaAPIStatus
from stackwright.services.nova.nova import NOVA
from tests.unit.services.novas import PARENT, children_of, made, nova


def sight(found: Mapping[str, NovaAPI]) -> Sight:
    """Return what needs see if there is nothing but this, by name."""

    def look(_: type[Any], name: str, *, namespace: str = "") -> Any:
        return found.get(name)

    seen: Any = look
    return needs.sight(seen)


def ready(*cells: Finding) -> Condition:
    """Return what a Nova says whose cells say this, and are not mapped yet."""
    resource = nova()
    waits = (item for item in children_of(resource, PARENT) if isinstance(item, Wait))
    findings = (*(conditions.of_wait(wait, resource) for wait in waits), *cells)
    computed = conditions.compute(resource.declared_conditions(), findings, (), "2026-11-19T10:00:00Z")
    found = conditions.find(computed, READY)
    assert found is not None
    return found


def test_a_cell_says_itself_why_it_is_not_mapped_yet() -> None:
    message = "NovaCell nova-cell0: NovaConductor nova-cell0-conductor: Job nova-cell0-conductor-db-sync-1 failed"
    said = ready(Finding("NovaAllCellReady", "False", "Failed", message, "Info"))
    assert said.message == message


def test_as_long_as_no_cell_has_spoken_nothing_is_news() -> None:
    """A status is not written on the way for what is about to speak (`kube/pace.py`)."""
    message = "NovaCell nova-cell0 has not reported its state yet"
    assert ready(Finding("NovaAllCellReady", "False", REQUESTED, message, "Info")).reason == REQUESTED
    assert ready().reason == "CellsNotMapped"


def test_a_broker_that_is_not_there_is_told_with_the_field_of_its_cell() -> None:
    (entry,) = (need for need in NOVA.needs_of(nova()) if isinstance(need, Messaging) and need.key == "cell1")
    (wait,) = entry.resolve(nova(), sight({})).waits
    assert wait.message.endswith("or name another one in spec.cellTemplates.cell1.messagingBus.cluster")


def test_nova_is_not_ready_before_its_api_said_where_it_is_served() -> None:
    """The API may become ready while a pass runs that found it without its URLs: that pass makes no endpoints."""
    (entry,) = (need for need in NOVA.needs_of(nova()) if isinstance(need, CatalogEntry))
    api: dict[str, NovaAPI] = {}
    found = entry.complete(nova(), PARENT, sight(api))
    assert [(said.condition, said.status, said.reason) for said in found.findings] == [
        ("KeystoneEndpointReady", "False", REQUESTED)
    ]
    urls = {"public": "http://public:8774", "internal": "http://internal:8774"}
    api["nova-api"] = msgspec.structs.replace(made("NovaAPI", "nova-api"), status=NovaAPIStatus(apiEndpoints=urls))
    found = entry.complete(nova(), PARENT, sight(api))
    assert not found.findings
    assert [(child.of.kind.name, child.condition) for child in found.children] == [
        ("KeystoneEndpoint", "KeystoneEndpointReady")
    ]
