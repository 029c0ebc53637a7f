"""What a resource waits for, followed down to its pods."""

import json
from typing import Any

import msgspec
import pytest

from stackwright.cli.printing import explanation_report
from stackwright.foresight import explanation, reasons
from stackwright.foresight.reasons import Reason
from stackwright.foresight.snapshot import Log
from stackwright.foresight.tree import State
from stackwright.kube.builtin import Job, PersistentVolumeClaim, Pod, ReplicaSet, StatefulSet
from tests.unit.foresight.clouds import control_plane, galera, keystone, kind, made, ready
from tests.unit.foresight.snapshots import NOW, container, deployed, pod, snapshot, told, waiting_cloud

KEYSTONE = ("KeystoneAPI", "keystone")
PULLING = container({"waiting": {"reason": "ErrImagePull", "message": "not found"}})


def chain(reason: Reason) -> list[Any]:
    """Return the names in a tree of reasons."""
    name = f"{reason.kind} {reason.name}"
    return [name, *map(chain, reason.waits_for)] if reason.waits_for else [name]


def test_what_is_waited_for_is_followed_through_all_resources_to_the_volume() -> None:
    *others, nodes = waiting_cloud()
    data = made(
        PersistentVolumeClaim, "data-openstack-galera-0", spec={"storageClassName": "x"}, status={"phase": "Pending"}
    )
    unfit = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "unbound"}
    first = made(
        Pod,
        "openstack-galera-0",
        owner=nodes,
        spec={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-openstack-galera-0"}}]},
        status={"phase": "Pending", "conditions": [unfit]},
    )
    found = explanation.explain(snapshot(*others, nodes, data, first), KEYSTONE)
    assert chain(found) == [
        "KeystoneAPI keystone",
        [
            "MariaDBAccount keystone",
            [
                "MariaDBDatabase keystone",
                [
                    "Galera openstack",
                    [
                        "StatefulSet openstack-galera",
                        ["Pod openstack-galera-0", ["PersistentVolumeClaim data-openstack-galera-0"]],
                    ],
                ],
            ],
        ],
    ]


def test_what_nobody_made_is_told_with_what_to_do() -> None:
    identity, _, schema, account, cache, _ = waiting_cloud()
    found = explanation.explain(snapshot(identity, schema, account, cache), ("MariaDBDatabase", "keystone"))
    (missing,) = found.waits_for
    assert (missing.kind, missing.name, missing.reason) == ("Galera", "openstack", "Missing")
    assert missing.to_do == "Create Galera openstack, or name another one where it is needed."
    assert missing.state is State.ERROR


def test_a_control_plane_waits_for_its_services_and_each_of_them_is_told_once() -> None:
    plane = control_plane(status=ready("False", "Info", "KeystoneAPI keystone: it waits"))
    identity, database = keystone(plane, status=ready("False")), galera(plane, status=ready("False"))
    found = explanation.explain(snapshot(plane, identity, database), ("OpenStackControlPlane", "openstack"))
    names = [f"{entry.kind} {entry.name}" for entry in reasons.flatten(found)]
    assert names.count("Galera openstack") == 1
    assert "Memcached memcached" in names


def test_why_a_deletion_is_refused_is_told_with_what_to_do() -> None:
    said = "these are still on the machine: second; migrate or delete them"
    leaving = {"deletionTimestamp": "2026-11-15T10:00:00Z", "finalizers": ["openstack.org/keystoneapi"]}
    going = keystone(metadata=leaving, status=ready("False", "Error", said, "InUse"))
    found = explanation.explain(snapshot(going), KEYSTONE)
    assert (found.state, found.reason) == (State.ERROR, "InUse")
    assert explanation_report.lines(found, NOW)[0].endswith(f"is being deleted; InUse: {said}")


def test_the_condition_that_the_summary_repeats_is_named() -> None:
    condition = {"type": "DBReady", "status": "False", "severity": "Info", "reason": "Ready", "message": "it waits"}
    status = ready("False", "Info", "it waits")
    status["conditions"] = [*status["conditions"], {"type": "InputReady", "status": "Unknown"}, condition]
    found = explanation.explain(snapshot(keystone(status=status)), KEYSTONE)
    assert (found.condition, found.message) == ("DBReady", "it waits")


def deployment_of(reason: reasons.Reason) -> reasons.Reason:
    return next(entry for entry in reason.waits_for if entry.kind == "Deployment")


def test_only_pods_of_the_present_template_are_asked() -> None:
    identity, server, new = deployed()
    old: ReplicaSet = made(
        ReplicaSet, "keystone-0", owner=server, metadata={"annotations": {"deployment.kubernetes.io/revision": "1"}}
    )
    pods = [
        pod("keystone-0-a", old, containerStatuses=[PULLING]),
        pod("keystone-1-a", new, containerStatuses=[PULLING]),
    ]
    found = explanation.explain(snapshot(identity, server, old, new, *pods), KEYSTONE)
    deployment = deployment_of(found)
    assert chain(deployment) == ["Deployment keystone", ["Pod keystone-1-a"]]


def test_pods_with_the_same_reason_are_told_once() -> None:
    identity, server, new = deployed(3)
    pods = [pod(f"keystone-1-{letter}", new, containerStatuses=[PULLING]) for letter in "abc"]
    deployment = deployment_of(explanation.explain(snapshot(identity, server, new, *pods), KEYSTONE))
    assert [(entry.name, entry.likewise) for entry in deployment.waits_for] == [("keystone-1-a", 2)]


def test_what_pods_of_several_workloads_have_in_common_is_told_once() -> None:
    identity, server, new = deployed()
    job = made(Job, "keystone-db-sync", owner=identity)
    pods = [pod("keystone-1-a", new, containerStatuses=[PULLING]), pod("sync-a", job, containerStatuses=[PULLING])]
    found = explanation.explain(snapshot(identity, server, new, job, *pods), KEYSTONE)
    first, second = [entry for entry in reasons.flatten(found) if entry.kind == "Pod"]
    assert (first.name, second.name) == ("sync-a", "keystone-1-a")
    assert first.to_do
    assert (second.message, second.to_do) == ("has the same problem as Pod sync-a", "")


def test_pods_that_the_api_server_refuses_are_told_by_who_wanted_to_make_them() -> None:
    identity, server, new = deployed()
    refused = told(new, "FailedCreate", 'pods "keystone-1-x" is forbidden: violates PodSecurity "restricted:latest"')
    deployment = deployment_of(explanation.explain(snapshot(identity, server, new, refused), KEYSTONE))
    (entry,) = deployment.waits_for
    assert (entry.kind, entry.name) == ("ReplicaSet", "keystone-1")
    assert entry.message.startswith('cannot create its pod: pods "keystone-1-x" is forbidden')
    assert "profile or quota" in entry.to_do


def test_a_refusal_of_before_is_no_news_when_the_pods_are_there() -> None:
    identity, server, new = deployed()
    refused = told(new, "FailedCreate", "quota")
    there = pod("keystone-1-a", new, containerStatuses=[PULLING])
    deployment = deployment_of(explanation.explain(snapshot(identity, server, new, refused, there), KEYSTONE))
    assert [entry.kind for entry in deployment.waits_for] == ["Pod"]


def test_a_job_that_failed_shows_the_end_of_its_last_pod() -> None:
    identity = keystone(status=ready("False", "Error", "Job keystone-db-sync failed"))
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "too often"}
    job = made(Job, "keystone-db-sync", owner=identity, status={"conditions": [failed]})
    ended = container({"terminated": {"exitCode": 1, "reason": "Error"}}, name="db-sync")
    pods = [
        made(Pod, f"keystone-db-sync-{age}", owner=job, metadata={"creationTimestamp": f"2026-11-15T10:0{age}:00Z"},
             spec={"nodeName": "one"}, status={"phase": "Failed", "containerStatuses": [ended]})
        for age in (2, 1)
    ]  # fmt: skip
    logs = {Log("keystone-db-sync-2", "db-sync"): ("Access denied",)}
    found = explanation.explain(snapshot(identity, job, *pods, logs=logs), KEYSTONE)
    (entry,) = next(one for one in found.waits_for if one.kind == "Job").waits_for
    assert entry.name == "keystone-db-sync-2"
    assert entry.log is not None
    assert entry.log.lines == ("Access denied",)


def test_what_is_ready_waits_for_nothing() -> None:
    found = explanation.explain(snapshot(keystone()), KEYSTONE)
    assert (found.state, found.waits_for, found.condition) == (State.READY, (), "")


def test_of_what_is_ready_a_failed_action_is_no_news_but_pods_that_are_away_are() -> None:
    identity, server, new = deployed()
    well = keystone(metadata={"annotations": {"openstack.org/paused": "true"}})
    failed = {"conditions": [{"type": "Failed", "status": "True"}]}
    action = made(Job, "keystone-action", owner=well, status=failed)
    away = pod("keystone-1-a", new, containerStatuses=[PULLING])
    others = [made(kind("Galera"), "openstack", spec={"storageClass": "x", "storageRequest": "1G"}, status=ready())]
    others += [made(kind("Memcached"), "memcached", spec={}, status=ready())]
    for name in ("MariaDBDatabase", "MariaDBAccount"):
        spec = {"name": "keystone"} if name == "MariaDBDatabase" else {"userName": "keystone", "secret": "s"}
        others.append(made(kind(name), "keystone", spec=spec, status=ready()))
    found = explanation.explain(snapshot(well, server, new, action, away, *others), KEYSTONE)
    assert identity.metadata.uid == well.metadata.uid
    assert chain(found) == ["KeystoneAPI keystone", ["Deployment keystone", ["Pod keystone-1-a"]]]


@pytest.mark.parametrize(
    ("fields", "to_do"),
    [
        pytest.param({"status": {}}, "stackwright check", id="nobody-looks"),
        pytest.param(
            {"status": {}, "metadata": {"annotations": {"openstack.org/paused": "true"}}},
            "Remove the annotation openstack.org/paused.",
            id="the-work-rests",
        ),
        pytest.param(
            {
                "status": {
                    **ready("False", "Info"),
                    "overridden": [{"resource": "Deployment/keystone", "field": ".spec.x", "manager": "kubectl-patch"}],
                }
            },
            "if it is the reason, take it back: Deployment/keystone .spec.x, by kubectl-patch.",
            id="somebody-set-a-field",
        ),
    ],
)
def test_what_is_in_the_way_of_an_operator(fields: Any, to_do: str) -> None:
    assert to_do in explanation.explain(snapshot(keystone(**fields)), KEYSTONE).to_do


def test_an_operator_may_be_silent_about_what_is_new() -> None:
    fresh = keystone(status={}, metadata={"creationTimestamp": "2026-11-15T10:04:50Z"})
    assert explanation.explain(snapshot(fresh), KEYSTONE).to_do == ""


REASON = Reason(
    "KeystoneAPI", "keystone", State.WAITING, "DBReady", "x", "MariaDBDatabase keystone waits", "2026-11-15T10:01:00Z",
    waits_for=(
        Reason(
            "Pod", "galera-0", State.WARNING, message="container server ended with code 1", to_do="Its log says why.",
            log=reasons.Excerpt("galera-0", "server", previous=True, lines=("no space left",)), likewise=1,
        ),
        Reason("Memcached", "memcached", State.WAITING, above=True),
    ),
)  # fmt: skip


def test_an_explanation_as_text() -> None:
    assert explanation_report.lines(REASON, NOW) == [
        "KeystoneAPI keystone  Waiting for 4 min  DBReady: MariaDBDatabase keystone waits",
        "├─ Pod galera-0  Warning  container server ended with code 1 (1 more likewise)",
        "│     The log of galera-0, container server before its last restart:",
        "│     > no space left",
        "│     To do: Its log says why.",
        "└─ Memcached memcached: see above",
    ]


def test_a_terminal_folds_sentences_and_cuts_no_word() -> None:
    long = msgspec.structs.replace(REASON, message="cannot get registry.example/a/long/name/of/an/image:1 " * 3)
    lines = explanation_report.lines(long, NOW, 60)
    assert all(len(line) <= 60 for line in lines)
    assert "".join(lines).count("registry.example/a/long/name/of/an/image:1") == 3


def test_json_has_the_documented_shape() -> None:
    report = json.loads(explanation_report.report("openstack", State.WAITING, REASON, None))
    assert (report["namespace"], report["state"]) == ("openstack", "Waiting")
    first = report["resource"]["waitsFor"][0]
    assert first["toDo"] == "Its log says why."
    assert first["log"] == {"pod": "galera-0", "container": "server", "previous": True, "lines": ["no space left"]}


def test_a_stateful_set_without_pods_says_why_it_makes_none() -> None:
    database = galera(status=ready("False"))
    nodes = made(StatefulSet, "openstack-galera", owner=database, status={"observedGeneration": 1})
    refused = told(nodes, "FailedCreate", "create Pod openstack-galera-0 failed: exceeded quota")
    found = explanation.explain(snapshot(database, nodes, refused), ("Galera", "openstack"))
    assert "exceeded quota" in found.waits_for[0].waits_for[0].message
