"""When the hosts of a cell are discovered: once its computes run, and when there is a new one outside."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.dataplane_service import OpenStackDataPlaneService
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


def census_of(kind: type[Any]) -> Census:
    (found,) = (need for need in NOVA.needs if isinstance(need, Census) and need.of is kind)
    return found


def machines(resource: Nova, *computes: NovaExternalCompute) -> dict[str, Any] | None:
    """Return what the job that discovers machines of cell1 is done for; None as long as there are none."""
    census = census_of(NovaExternalCompute)
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
    census = census_of(NovaExternalCompute)
    assert not census.counts(Change(outside(), outside(phase="Starting")))
    assert not census.counts(Change(None, outside(service="")))
    assert census.counts(Change(outside(service=""), outside()))
    assert census.counts(Change(outside(), None))


# Computes that a role deploys as any other service.

DEPLOYED = msgspec.convert(
    {"metadata": {"name": "nova"}, "spec": {"playbook": "p", "secrets": ["nova-cell1-compute-config"]}},
    OpenStackDataPlaneService,
)


def node(name: str, *applied: str, uid: str = "", failed: str = "", **metadata: Any) -> OpenStackDataPlaneNode:
    """Return a node with services that were applied, and one that never was."""
    services: list[dict[str, Any]] = [
        {"name": service, "appliedHash": "hash", "inputHash": "another"} for service in ("reach", *applied)
    ]
    services += [{"name": failed, "inputHash": "hash", "failures": 1}] if failed else []
    body = {"metadata": {"name": name, "uid": uid or name, **metadata}, "spec": {"role": "compute"}}
    return msgspec.convert(
        {**body, "status": {"hostName": f"{name}.example.org", "services": services}}, OpenStackDataPlaneNode
    )


@pytest.mark.parametrize(
    ("nodes", "cell", "wanted"),
    [
        pytest.param((), "cell1", None, id="there-are-none"),
        pytest.param((node("one", "nova"),), "cell1", {"one.example.org": "one"}, id="one"),
        pytest.param((node("one", "nova", uid="new"),), "cell1", {"one.example.org": "new"}, id="made-anew"),
        pytest.param((node("one", "nova"),), "cell2", None, id="of-another-cell"),
        pytest.param((node("one", "configure-os", failed="nova"),), "cell1", None, id="not-applied-yet"),
        pytest.param(
            (node("one", "nova", deletionTimestamp="2026-11-17T12:00:00Z"),), "cell1", None, id="one-that-goes"
        ),
    ],
)
def test_one_job_for_each_machine_that_a_role_makes_a_compute(
    nodes: tuple[OpenStackDataPlaneNode, ...], cell: str, wanted: dict[str, str] | None
) -> None:
    resource = nova(cellTemplates={"cell0": {}, "cell1": {}, "cell2": {}})
    read, service = census_of(OpenStackDataPlaneNode).read, census_of(OpenStackDataPlaneService).read(DEPLOYED)
    facts = replace(
        PARENT,
        done=frozenset({f"map-{cell}"}),
        nodes={each.metadata.name: found for each in nodes if (found := read(each)) is not None},
        node_services={"nova": service, "other": ("nova-cell3-compute-config",)},
    )
    assert mapping.node_inputs(cell, resource, facts) == (None if wanted is None else {"nodes": wanted})
    assert mapping.node_inputs(cell, resource, replace(facts, done=frozenset())) is None
    (job,) = (job for job in mapping.jobs(resource) if job.name == f"nodes-{cell}")
    assert job.values is not None
    assert job.values(resource, facts)["environment"].get("HOSTS") == (" ".join(wanted) if wanted else None)


def test_nova_looks_again_only_when_a_service_was_applied_to_a_node_for_the_first_time() -> None:
    counts = census_of(OpenStackDataPlaneNode).counts
    assert not counts(Change(None, node("one")))
    assert not counts(Change(node("one"), node("one", failed="nova")))
    assert counts(Change(node("one", failed="nova"), node("one", "nova")))
    assert not counts(Change(node("one", "nova"), node("one", "nova", labels={"a": "b"})))


NOVA_MANAGE = """\
#!/bin/bash
echo "$2" >> "$CALLS"
[ "$2" = list_hosts ] || exit 0
echo "+-----------+-----------+-----------------+"
echo "| Cell Name | Cell UUID |     Hostname    |"
echo "|   cell1   |    1-2    | two.example.org |"
[ "$(grep -c list_hosts "$CALLS")" -lt 3 ] || echo "|   cell1   |    1-2    | one.example.org |"
"""


@pytest.mark.parametrize(
    ("hosts", "looks", "said"),
    [
        pytest.param("", 1, "", id="it-looks-once"),
        pytest.param("two.example.org", 1, "", id="one-that-is-mapped"),
        pytest.param("two.example.org one.example.org", 3, "", id="one-that-comes-later"),
        pytest.param("one.example.org three.example.org", 4, "yet: three.example.org.", id="one-that-does-not-come"),
    ],
)
def test_the_job_waits_until_nova_knows_a_compute(tmp_path: Path, hosts: str, looks: int, said: str) -> None:
    # The clock of the shell goes on by what it sleeps.
    text = mapping.SCRIPTS[1].content.replace("sleep 10", "SECONDS=$((SECONDS + 60))")
    programs = {"nova-manage": NOVA_MANAGE, "host_discover.sh": text}
    for name, content in programs.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    calls = tmp_path / "calls"
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(calls), "HOSTS": hosts}
    done = subprocess.run([tmp_path / "host_discover.sh"], env=environment, capture_output=True, text=True, check=True)
    assert calls.read_text(encoding="utf-8").split().count("discover_hosts") == looks
    assert said in done.stderr
    assert bool(done.stderr) is bool(said)
