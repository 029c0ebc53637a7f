"""Jobs that are there keep their nodes; those that wait for a node, or failed, are made anew for others."""

from typing import Any

import msgspec
import pytest

from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint import names
from stackwright.controllers.service import job_nodes, traces
from stackwright.kube.builtin import Job, Pod
from stackwright.kube.resource import ObjectMeta, OwnerReference
from stackwright.kube.shapes.child import Child
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE

MARK = "openstack.org/applied-configuration"
OLD, NEW = {"disk": "old"}, {"disk": "new"}
WAITING: JsonObject = {"active": 1, "ready": 0}
COMPLETE: JsonObject = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
FAILED: JsonObject = {"failed": 7, "conditions": [{"type": "Failed", "status": "True", "message": "no"}]}
KEYSTONE: CustomResource = msgspec.convert(
    {"metadata": {"name": "keystone"}, "spec": {"databaseInstance": "openstack", "secret": "osp-secret"}}, KeystoneAPI
)
SYNC = names.job("keystone", "db-sync", "abc")
ACTION = traces.job_name(KEYSTONE, "sync-database", "1")


def selecting(selector: JsonObject | None) -> JsonObject:
    return {"template": {"spec": {**({"nodeSelector": selector} if selector else {}), "containers": []}}}


def job(name: str, selector: JsonObject | None, status: JsonObject, mark: str = "before") -> Job:
    metadata = ObjectMeta(name=name, uid=f"uid-{name}", annotations={MARK: mark})
    return Job(metadata=metadata, spec=selecting(selector), status=status)


def pod(of: Job, *, placed: bool) -> Pod:
    owner = OwnerReference(apiVersion="batch/v1", kind="Job", name=of.metadata.name, uid=of.metadata.uid)
    scheduled = {"type": "PodScheduled", "status": "True" if placed else "False"}
    return Pod(
        metadata=ObjectMeta(name="a", ownerReferences=(owner,)),
        status={"phase": "Pending", "conditions": [scheduled]},
    )


def asked(name: str, selector: JsonObject) -> Child:
    return Child(Job, {"metadata": {"name": name}, "spec": selecting(selector)}, once=True)


@pytest.mark.parametrize(
    ("name", "status", "placed", "moves"),
    [
        pytest.param(SYNC, WAITING, False, True, id="no-node-fits"),
        pytest.param(SYNC, WAITING, True, False, id="it-starts"),
        pytest.param(SYNC, {"active": 1, "ready": 1}, True, False, id="it-is-at-work"),
        pytest.param(SYNC, {"active": 1, "ready": 0, "failed": 1}, True, True, id="it-fails-there"),
        pytest.param(SYNC, COMPLETE, True, False, id="it-is-done"),
        pytest.param(ACTION, WAITING, False, True, id="no-node-fits-an-action"),
        pytest.param(ACTION, FAILED, True, False, id="an-action-has-failed"),
    ],
)
def test_what_cannot_come_to_its_end_is_made_anew_for_other_nodes(
    name: str, status: JsonObject, *, placed: bool, moves: bool
) -> None:
    there = job(name, OLD, status)
    pods, wanted = [pod(there, placed=placed)], asked(name, NEW)
    found = job_nodes.find_misplaced(SERVICE, KEYSTONE, [there], [wanted], pods, MARK)
    assert found == ((there,) if moves else ())
    assert not job_nodes.find_misplaced(SERVICE, KEYSTONE, [there], [asked(name, OLD)], pods, MARK)
    # A webhook of somebody else writes into each Job.
    again = job(name, OLD, status, mark=wanted.digest)
    assert not job_nodes.find_misplaced(SERVICE, KEYSTONE, [again], [wanted], [pod(again, placed=placed)], MARK)


def test_a_job_whose_first_pod_is_not_there_yet_stays() -> None:
    there = job(SYNC, OLD, {})
    assert not job_nodes.find_misplaced(SERVICE, KEYSTONE, [there], [asked(SYNC, NEW)], (), MARK)


def kept(values: JsonObject, *jobs: Job, pods: tuple[Pod, ...] = ()) -> JsonObject:
    known = {found.metadata.name: found for found in jobs}

    def look(kind: type[Any], name: str, **_: str) -> Any:
        return known.get(name) if kind is Job else None

    return job_nodes.keep(KEYSTONE, values, look, pods)


@pytest.mark.parametrize("before", [OLD, None])
def test_the_values_of_a_job_that_is_there_have_the_nodes_that_it_has(before: JsonObject | None) -> None:
    part = {"hash": "abc", "nodeSelector": NEW}
    values = {
        "jobs": {"db-sync": part, "bootstrap": part},
        "actions": {"sync-database": {**part, "job": "db-sync"}},
        "provision": {"database": part, "identity": part, "databases": {"cell1": part}},
    }
    parts = ("db-sync", "action-sync-database", "db-create", "db-create-cell1")
    found = kept(values, *(job(names.job("keystone", name, "abc"), before, COMPLETE) for name in parts))
    stays = {"hash": "abc", **({"nodeSelector": before} if before else {})}
    assert found["jobs"] == {"db-sync": stays, "bootstrap": part}
    # It would have the nodes of the job that it runs otherwise.
    assert found["actions"] == {"sync-database": {**stays, "job": "db-sync", "nodeSelector": before or {}}}
    assert found["provision"] == {"database": stays, "identity": part, "databases": {"cell1": stays}}


def test_the_values_of_a_job_that_waits_for_a_node_have_the_nodes_that_are_asked_for() -> None:
    waiting = job(SYNC, OLD, WAITING)
    values = {"jobs": {"db-sync": {"hash": "abc", "nodeSelector": NEW}}}
    assert kept(values, waiting, pods=(pod(waiting, placed=False),)) == values
