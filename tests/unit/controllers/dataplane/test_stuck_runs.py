"""What keeps the pod of a run from starting: whoever has to act is told, and what passes by itself is no alarm."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.base import ObjectMeta
from stackwright.api.dataplane import OpenStackDataPlaneNodeStatus, RunningService, ServiceRecord
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.dataplane import nodes, run_job, runs
from stackwright.controllers.dataplane.beginnings import LATE
from stackwright.controllers.dataplane.occupancy import GivenUp
from stackwright.controllers.service.missing_pods import LOOK_AGAIN, RefusalEvent
from stackwright.kube import conditions
from stackwright.kube.builtin import Job, Pod, Secret
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Condition, JsonObject, Resource
from tests.unit.controllers.dataplane.run_parts import MIDNIGHT, Server, job, owned, owner, pod, run, waiting, world

TOKEN = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "word"}}}
CERTS: JsonObject = {
    "volumes": [{"name": "certs", "secret": {"secretName": "certs"}}],
    "mounts": [{"name": "certs", "mountPath": "/certs"}],
}
LATER = "2200-01-01T00:00:00Z"
PROFILE = 'Error creating: pods "a-x7k2p" is forbidden: violates PodSecurity "restricted:latest": hostPath volumes'


def mine(**spec: Any) -> OpenStackAnsibleEE:
    """Return the run `a` with fields as a user writes them."""
    body = {"playbook": "a.b.c", "nodes": [{"name": "one"}], **spec}
    metadata = {"name": "a", "namespace": "openstack", "uid": "a"}
    return msgspec.convert({"metadata": metadata, "spec": body}, OpenStackAnsibleEE)


def made_for(of: OpenStackAnsibleEE) -> Job:
    """Return the Job that a run has made."""
    body = run_job.describe_job(of, "image")
    body["metadata"] |= {"uid": "job-a", "creationTimestamp": MIDNIGHT}
    return msgspec.convert(body, Job)


def secret(name: str, **data: str) -> Secret:
    return Secret(metadata=ObjectMeta(name=name, namespace="openstack"), data=encode(data))


def refusal(note: str = PROFILE) -> RefusalEvent:
    return RefusalEvent(metadata=ObjectMeta(name="e", creationTimestamp="2026-11-16T00:00:05Z"), note=note)


async def wait_of(of: OpenStackAnsibleEE, *objects: Resource) -> tuple[Wait, str]:
    """Return for what a run waits, and how severe that is."""
    (wait,) = runs.decide(of, await runs.observe(of, world(Server(of, *objects)))).waits
    return wait, conditions.of_wait(wait, of).severity


@pytest.mark.parametrize("by", ["a-user", "a-role"])
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param({"env": [TOKEN]}, "Secret token, which does not exist; create it with the key word", id="env"),
        pytest.param({"extraMounts": [CERTS]}, "Secret certs, which does not exist; create it", id="extraMounts"),
    ],
)
async def test_a_secret_that_only_the_pod_reads_is_named_before_and_after_there_is_a_job(
    spec: JsonObject, said: str, by: str
) -> None:
    of = mine(**spec) if by == "a-user" else owned(mine(**spec), LATER)
    wait, severity = await wait_of(of)
    assert (wait.reason, wait.condition, severity, wait.after) == ("SecretMissing", "InputReady", "Error", LATE)
    assert wait.message == f"Job a reads {said}"
    assert await wait_of(of, made_for(of), waiting(made=LATER)) == (replace(wait, after=2.0), "Error")
    # Nobody asks for what it reads while it works.
    wait, severity = await wait_of(of, made_for(of), waiting("Running", "running"))
    assert (wait.reason, wait.message, severity) == ("Running", "Ansible runs", "Info")


async def test_a_run_that_has_all_that_it_reads_begins() -> None:
    of = mine(env=[TOKEN], extraMounts=[CERTS])
    plan = runs.decide(of, await runs.observe(of, world(Server(of, secret("token", word="w"), secret("certs")))))
    assert ([type(step) for step in plan.steps], plan.waits) == ([runs.Begin], ())
    optional = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "word", "optional": True}}}
    of = mine(env=[optional])
    assert runs.decide(of, await runs.observe(of, world(Server(of)))).steps


async def test_a_secret_that_is_missing_is_told_once() -> None:
    wait, severity = await wait_of(mine(sshKeySecretName="key"))
    assert (wait.message, severity) == ("Secret key does not exist", "Error")


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}


def without_place() -> Pod:
    return msgspec.structs.replace(waiting(), status={"phase": "Pending", "conditions": [UNSCHEDULABLE]})


@pytest.mark.parametrize(
    ("there", "said"),
    [
        pytest.param(waiting(reason="ErrImagePull"), "correct the image", id="an-image"),
        pytest.param(waiting(reason="ImagePullBackOff"), "correct the image", id="an-image-that-is-tried-again"),
        pytest.param(without_place(), "0/1 nodes are available; make room", id="no-room"),
        pytest.param(waiting(reason="CreateContainerError", message="no"), "p: no; correct what", id="a-container"),
    ],
)
async def test_a_pod_that_does_not_start_is_a_warning(there: Pod, said: str) -> None:
    wait, severity = await wait_of(mine(), job("a"), there)
    assert (wait.reason, wait.condition, severity) == ("PodTrouble", "JobReady", "Warning")
    assert said in wait.message


async def test_the_kubelets_two_words_for_an_image_are_one_sentence() -> None:
    said = [await wait_of(mine(), job("a"), waiting(reason=word)) for word in ("ErrImagePull", "ImagePullBackOff")]
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("pods", "said"),
    [
        pytest.param([], "Its pod starts", id="no-pod-yet"),
        pytest.param([waiting(reason="ContainerCreating")], "Its pod starts", id="its-image-is-pulled"),
        pytest.param([waiting("Running", "running")], "Ansible runs", id="it-works"),
        pytest.param([waiting("Failed", "terminated", exitCode="137")], "ends with code 137", id="it-was-killed"),
    ],
)
async def test_what_goes_on_by_itself_is_no_alarm(pods: list[Pod], said: str) -> None:
    wait, severity = await wait_of(mine(), job("a"), *pods)
    assert (wait.reason, severity) == ("Running", "Info")
    assert said in wait.message


def ending(of: Pod, since: str = "2020-01-01T00:00:00Z") -> Pod:
    """Return a pod that had to have ended by then."""
    metadata = msgspec.structs.replace(of.metadata, deletionTimestamp=since)
    return msgspec.structs.replace(of, metadata=metadata, spec={"nodeName": "worker-3"})


@pytest.mark.parametrize("of", [mine(), owned(mine())], ids=["of-a-user", "of-a-role"])
async def test_a_pod_of_which_nobody_says_whether_it_has_ended_is_told_with_its_machine(of: OpenStackAnsibleEE) -> None:
    wait, severity = await wait_of(of, job("a"), ending(waiting("Running", "running")))
    assert (wait.reason, severity) == ("PodLost", "Warning")
    assert "delete the Node worker-3" in wait.message
    # It is looked at again: nothing wakes a run when a machine comes back.
    assert wait.after


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(ending(waiting("Running", "running"), LATER), id="it-has-time"),
        pytest.param(ending(waiting("Succeeded", "terminated")), id="it-has-ended"),
    ],
)
async def test_a_pod_that_ends_in_time_is_not_lost(pod: Pod) -> None:
    wait, _ = await wait_of(mine(), job("a"), pod)
    assert wait.reason == "Running"


async def test_a_run_that_was_given_up_says_which_pod_it_waits_for() -> None:
    of, pod = owned(mine()), ending(waiting())
    there = world(Server(of, job("a"), pod))
    (step,) = runs.decide(of, await runs.observe(of, there)).steps
    assert isinstance(step, runs.GiveUp)
    assert "delete the Node worker-3" in step.why
    there.occupancy.given_up["a"] = GivenUp("job-a", step.why)
    (wait,) = runs.decide(of, await runs.observe(of, there)).waits
    assert (wait.reason, conditions.of_wait(wait, of).severity) == ("PodLost", "Warning")


async def test_a_run_that_waits_for_a_lost_pod_of_a_deleted_run_says_so() -> None:
    left = ending(pod("gone", "Running", "one"))
    left = msgspec.structs.replace(left, metadata=msgspec.structs.replace(left.metadata, namespace="openstack"))
    of = run("a", "one")
    waits = runs.decide(of, await runs.observe(of, world(Server(of, left)))).waits
    wait = next(wait for wait in waits if wait.reason == "NodeBusy")
    assert conditions.of_wait(wait, of).severity == "Warning"
    assert wait.message.startswith("Node one is in the run gone. Pod gone-x should have ended")


async def test_pods_that_the_profile_refuses_are_told_from_the_events_of_the_job() -> None:
    of, server = mine(), Server(mine(), job("a"), refusal())
    seen = await runs.observe(of, world(server))
    (wait,) = runs.decide(of, seen).waits
    assert server.asked == ["regarding.uid=job-a,reason=FailedCreate"]
    assert (wait.reason, conditions.of_wait(wait, of).severity) == ("FailedCreate", "Error")
    assert 'violates PodSecurity "restricted:latest"' in wait.message
    assert "a-x7k2p" not in wait.message
    # A pod may come at any time, and wakes the run; events wake nobody.
    assert wait.after == LOOK_AGAIN


async def test_why_there_is_no_pod_is_told_when_a_run_is_given_up() -> None:
    of = owned(run("a"))
    seen = await runs.observe(of, world(Server(of, job("a"), refusal())))
    assert "No pod began to work within 15 minutes: Job a cannot create its pods" in seen.given_up
    assert "PodSecurity" in seen.given_up


async def test_a_pod_that_came_after_a_refusal_ends_it() -> None:
    killed = waiting("Failed", "terminated", made="2026-11-16T00:01:00Z")
    wait, severity = await wait_of(mine(), job("a"), refusal(), killed)
    assert (wait.reason, severity) == ("Running", "Info")


@pytest.mark.parametrize(
    ("there", "severity"),
    [
        pytest.param(job("a", of="earlier"), "Info", id="of-an-earlier-run"),
        pytest.param(job("a", of="earlier", deleting=True), "Info", id="that-goes"),
        pytest.param(Job(metadata=ObjectMeta(name="a", namespace="openstack")), "Error", id="of-nobody"),
        pytest.param(
            Job(metadata=ObjectMeta(name="a", namespace="openstack", ownerReferences=(owner("CronJob", "c"),))),
            "Error",
            id="of-somebody-else",
        ),
    ],
)
async def test_a_job_in_the_way_goes_by_itself_only_if_it_is_of_an_earlier_run(there: Job, severity: str) -> None:
    of = run("a", "one")
    waits = runs.decide(of, await runs.observe(of, world(Server(of, there)))).waits
    wait = next(wait for wait in waits if wait.reason == "NameTaken")
    assert conditions.of_wait(wait, of).severity == severity
    assert ("delete it" in wait.message) is (severity == "Error")


def stuck(severity: str) -> OpenStackAnsibleEE:
    said = Condition(type="Ready", status="False", severity=severity, reason="FailedCreate", message="no pods")
    of = run("a", "one")
    return msgspec.structs.replace(of, status=msgspec.structs.replace(of.status, conditions=(said,)))


@pytest.mark.parametrize("severity", ["Error", "Warning"])
@pytest.mark.parametrize("own", [True, False], ids=["its-own", "of-a-user"])
def test_a_node_says_what_keeps_the_run_that_has_it(severity: str, own: bool) -> None:
    running = RunningService(name="greet", run="a") if own else None
    status = OpenStackDataPlaneNodeStatus(services=(ServiceRecord(name="greet", inputHash="x"),), running=running)
    held_by = nodes.find_holding("one", (stuck(severity),), running)
    said = nodes.find_stuck((stuck(severity),), "a")
    (found,) = nodes.find_state(status, deploy=True, held_by=held_by, stuck=said)
    assert (found.condition, found.reason, found.severity) == ("DeploymentReady", "FailedCreate", severity)
    assert found.message == "OpenStackAnsibleEE a: no pods"


def test_a_run_that_goes_on_is_nothing_to_say_of_a_node() -> None:
    assert nodes.find_stuck((stuck("Info"),), "a") is None
    assert nodes.find_stuck((stuck("Error"),), "b") is None
    assert nodes.find_stuck((run("a", finished=True),), "a") is None
