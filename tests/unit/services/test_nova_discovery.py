"""When the hosts of a cell are discovered: not before the computes run that are asked for now."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stackwright.blueprint.needs import Reported
from stackwright.kube.resource import Condition
from stackwright.services.nova import mapping
from stackwright.services.nova.cell_needs import cell_needs
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.nova import Nova
from tests.unit.services.novas import PARENT, made, nova

ONE = {"fake": {"computeDriver": "fake.FakeDriver", "replicas": 1}}
TWO = {**ONE, "other": {"computeDriver": "fake.FakeDriver", "replicas": 2}}


def asked(computes: dict[str, Any]) -> Nova:
    return nova(cellTemplates={"cell0": {}, "cell1": {"novaComputeTemplates": computes}})


def cell(computes: dict[str, Any], *, ready: str, behind: int = 0) -> NovaCell:
    """Return cell1 as it was told, and what it says of its computes; it may be some generations behind."""
    found: NovaCell = made("NovaCell", "nova-cell1", novaComputeTemplates=computes)
    said = (Condition(type="NovaAllControlPlaneComputesReady", status=ready),)
    metadata = msgspec.structs.replace(found.metadata, generation=2)
    status = msgspec.structs.replace(found.status, conditions=said, observedGeneration=2 - behind)
    return msgspec.structs.replace(found, metadata=metadata, status=status)


def discovery(resource: Nova, present: NovaCell | None) -> dict[str, Any] | None:
    """Return what the job that discovers the hosts of cell1 is done for; None as long as it waits."""
    need = next(need for need in cell_needs(resource) if isinstance(need, Reported) and need.name == "computes")
    fact = need.resolve(resource, lambda *_, **__: present).fact  # type: ignore[arg-type]  # only asked
    facts = replace(PARENT, synced=True, done=frozenset({"map-cell1"}), computes={"cell1": fact})
    return mapping.discovery_inputs("cell1", resource, facts)


def test_the_hosts_are_discovered_once_the_computes_run() -> None:
    assert discovery(asked(TWO), cell(TWO, ready="True")) == {"computes": {"fake": 1, "other": 2}}


@pytest.mark.parametrize(
    "present",
    [
        pytest.param(None, id="there-is-no-cell-yet"),
        pytest.param(cell(TWO, ready="False"), id="they-do-not-run"),
        pytest.param(cell(TWO, ready="True", behind=1), id="the-cell-speaks-of-those-before"),
        pytest.param(cell(ONE, ready="True"), id="the-cell-was-not-told-yet"),
    ],
)
def test_nobody_looks_before_the_computes_that_are_asked_for_run(present: NovaCell | None) -> None:
    assert discovery(asked(TWO), present) is None
