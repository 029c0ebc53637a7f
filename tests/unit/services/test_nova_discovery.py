"""When the hosts of a cell are discovered: once its computes run, and when Nova gets to know one outside."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stackwright.blueprint.needs import Census, Reported
from stackwright.kube.informer import Change
from stackwright.kube.resource import Condition
from stackwright.services.nova import mapping
from stackwright.services.nova.cell_needs import cell_needs
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.nova import NOVA
from stackwright.services.nova.parent import Machine
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


KNOWN = {"discoveredHosts": {"nova-cell1": {"one": "id-1"}}}


def outside(name: str = "one", service: str = "id-1", cell: str = "nova-cell1", **status: Any) -> NovaExternalCompute:
    body = {"metadata": {"name": name, "uid": name}, "spec": {"cellName": cell}}
    said = {"hostName": name, "serviceID": service, **status}
    return msgspec.convert({**body, "status": said}, NovaExternalCompute)


def machines(resource: Nova, *computes: NovaExternalCompute) -> dict[str, Any] | None:
    """Return what the job that discovers machines of cell1 is done for; None as long as there are none."""
    (census,) = (need for need in NOVA.needs if isinstance(need, Census))
    found = {each.metadata.name: census.read(each) for each in computes}
    told = {name: machine for name, machine in found.items() if machine is not None}
    facts = replace(PARENT, done=frozenset({"map-cell1"}), machines=told)
    return mapping.machine_inputs("cell1", resource, facts)


@pytest.mark.parametrize(
    ("status", "computes", "wanted"),
    [
        pytest.param({}, (), None, id="there-are-none"),
        pytest.param({}, (outside(service=""),), None, id="nova-does-not-know-it-yet"),
        pytest.param({}, (outside(cell="nova-cell2"),), None, id="it-is-of-another-cell"),
        pytest.param({}, (outside(),), {"one": "id-1"}, id="a-new-one"),
        pytest.param(KNOWN, (outside(phase="Starting"),), {"one": "id-1"}, id="one-that-is-down-for-a-while"),
        pytest.param(KNOWN, (outside(), outside("two", "id-2")), {"one": "id-1", "two": "id-2"}, id="a-second-one"),
        pytest.param(KNOWN, (), {"one": "id-1"}, id="one-that-is-gone-is-no-reason-to-look"),
        pytest.param(KNOWN, (outside("two", "id-2"),), {"two": "id-2"}, id="one-came-another-went"),
        pytest.param(KNOWN, (outside(service="id-9"),), {"one": "id-9"}, id="it-was-deleted-and-came-back"),
    ],
)
def test_one_job_for_each_machine_that_nova_gets_to_know(
    status: dict[str, Any], computes: tuple[NovaExternalCompute, ...], wanted: dict[str, str] | None
) -> None:
    assert machines(nova(status), *computes) == (None if wanted is None else {"machines": wanted})


def test_machines_are_mapped_when_their_job_is_done() -> None:
    there = {"two": Machine("nova-cell1", "two", "id-2")}
    before = replace(PARENT, done=frozenset({"map-cell1"}), machines=there)
    assert mapping.met(nova(KNOWN), before) == {"nova-cell1": {"one": "id-1"}}
    after = replace(before, done=before.done | {"machines-cell1"})
    assert mapping.met(nova(KNOWN), after) == {"nova-cell1": {"two": "id-2"}}
    assert mapping.met(nova(KNOWN), replace(PARENT, machines=there)) == {"nova-cell1": {"one": "id-1"}}


def test_nova_looks_again_only_when_a_machine_comes_or_goes() -> None:
    (census,) = (need for need in NOVA.needs if isinstance(need, Census))
    assert not census.counts(Change(outside(), outside(phase="Starting")))
    assert not census.counts(Change(None, outside(service="")))
    assert census.counts(Change(outside(service=""), outside()))
    assert census.counts(Change(outside(), None))
