"""Which logs stand for a resource."""

from typing import Any

import pytest

from stackwright.api.dataplane import (
    OpenStackDataPlaneNode,
    OpenStackDataPlaneNodeSpec,
    OpenStackDataPlaneNodeStatus,
)
from stackwright.cli.commands import logs
from stackwright.controllers.dataplane.run_job import NODES_ANNOTATION, RUN_LABEL
from stackwright.foresight import pod_logs
from stackwright.foresight.pod_logs import Source
from stackwright.kube.builtin import Deployment, Job, Pod
from stackwright.kube.resource import ObjectMeta
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from tests.unit.foresight.clouds import made
from tests.unit.services import novas

JOB, SERVER = made(Job, "db-sync"), made(Deployment, "keystone")
INITIAL = {"initContainers": [{"name": "wait"}], "containers": [{"name": "api"}]}


def pod(name: str, owner: Any, component: str, created: int = 0) -> Pod:
    labels = {"app.kubernetes.io/component": component}
    born = f"2026-11-15T10:00:{created:02}Z"
    found: Pod = made(Pod, name, owner=owner, metadata={"labels": labels, "creationTimestamp": born}, spec=INITIAL)
    return found


def test_of_jobs_the_last_pod_is_read_and_of_servers_all() -> None:
    pods = [
        pod("api-2", SERVER, "api", 9),
        pod("sync-1", JOB, "db-sync", 1),
        pod("sync-2", JOB, "db-sync", 5),
        pod("bootstrap", JOB, "bootstrap", 3),
        pod("api-1", SERVER, "api", 8),
    ]
    assert [found.metadata.name for found in pod_logs.choose_pods(pods)] == ["bootstrap", "sync-2", "api-1", "api-2"]


def of_release(name: str, instance: str, component: str, owner: Any = SERVER) -> Pod:
    names = {"name": name, "instance": instance, "component": component}
    said = {"labels": {f"app.kubernetes.io/{key}": value for key, value in names.items()}}
    found: Pod = made(Pod, f"{instance}-{component}", owner=owner, metadata={**said, "creationTimestamp": ""})
    return found


def test_of_a_resource_that_stands_for_others_their_pods_are_read_too() -> None:
    cell = novas.made("NovaCell", "nova-cell1")
    conductor = novas.made("NovaConductor", "nova-cell1-conductor")
    selection = pod_logs.select(cell, (conductor,))
    assert selection.labels == (
        "app.kubernetes.io/name in (nova-cell,nova-conductor),"
        "app.kubernetes.io/instance in (nova-cell1,nova-cell1-conductor)"
    )
    assert selection.has(of_release("nova-conductor", "nova-cell1-conductor", "conductor"))
    assert not selection.has(of_release("nova-conductor", "nova-cell1", "conductor"))
    alone = pod_logs.select(conductor)
    assert alone.has(of_release("nova-conductor", "nova-cell1-conductor", "conductor"))
    assert not alone.has(of_release("nova-conductor", "nova-cell2-conductor", "conductor"))


def test_the_same_job_of_two_releases_is_read_of_each() -> None:
    pods = [of_release("nova-conductor", f"nova-{cell}-conductor", "db-sync", JOB) for cell in ("cell0", "cell1")]
    assert pod_logs.choose_pods(pods) == pods


def status(**fields: Any) -> dict[str, Any]:
    return {"initContainerStatuses": [{"name": "wait", **fields}]}


@pytest.mark.parametrize(
    ("state", "container", "expected"),
    [
        pytest.param(status(state={"terminated": {"exitCode": 0}}), "", ["api"], id="what-serves"),
        pytest.param(status(state={"running": {}}), "", ["wait", "api"], id="and-what-it-waits-for"),
        pytest.param(status(state={"terminated": {"exitCode": 1}}), "", ["wait", "api"], id="or-failed-in"),
        pytest.param(status(state={"terminated": {"exitCode": 0}}), "wait", ["wait"], id="the-one-that-is-named"),
        pytest.param({}, "teapot", [], id="none-of-that-name"),
    ],
)
def test_the_containers_of_a_pod(state: Any, container: str, expected: list[str]) -> None:
    found = pod_logs.sources(made(Pod, "p", spec=INITIAL, status=state), container)
    assert found == [Source("p", name) for name in expected]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(status(state={"waiting": {"reason": "ContainerCreating"}}), False, id="not-yet"),
        pytest.param(status(state={"running": {}}), True, id="it-runs"),
        pytest.param(status(state={"waiting": {"reason": "CrashLoopBackOff"}}, restartCount=2), True, id="it-ran"),
        pytest.param({}, False, id="nothing-known"),
    ],
)
def test_whether_a_container_could_have_written(state: Any, expected: bool) -> None:
    assert pod_logs.has_begun(made(Pod, "p", status=state), "wait") is expected


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        pytest.param([("a", "api")], [""], id="one-needs-no-name"),
        pytest.param([("a", "api"), ("b", "api")], ["[a] ", "[b] "], id="pods-are-told-apart"),
        pytest.param([("a", "wait"), ("a", "api")], ["[a/wait] ", "[a/api] "], id="and-containers-of-one-pod"),
    ],
)
def test_lines_are_told_apart(sources: list[tuple[str, str]], expected: list[str]) -> None:
    assert list(logs.prefixes(Source(*source) for source in sources).values()) == expected


def test_of_a_node_the_runs_that_touch_it_are_read_and_what_they_say_of_it() -> None:
    node = OpenStackDataPlaneNode(
        metadata=ObjectMeta(name="one"),
        spec=OpenStackDataPlaneNodeSpec(role="compute"),
        status=OpenStackDataPlaneNodeStatus(hostName="one.example"),
    )
    selection = pod_logs.select(node)
    touching = Pod(metadata=ObjectMeta(annotations={NODES_ANNOTATION: "two,one"}))
    assert selection.has(touching)
    assert not selection.has(Pod(metadata=ObjectMeta(annotations={NODES_ANNOTATION: "two,one-more"})))
    lines = [b'{"host": "one.example"}', b'{"host": "two"}', b'{"summary": {}}', b"PLAY", b"[1]"]
    assert [line for line in lines if selection.concerns(line)] == [lines[0], *lines[2:]]


def test_the_log_of_a_service_on_a_node_is_that_of_its_own_runs() -> None:
    selection = pod_logs.select(NovaExternalCompute(metadata=ObjectMeta(name="one")))
    assert (selection.labels, selection.node, selection.host) == (RUN_LABEL, "one", "one")

    def run(name: str) -> Pod:
        return Pod(metadata=ObjectMeta(labels={RUN_LABEL: name}, annotations={NODES_ANNOTATION: "one"}))

    assert selection.has(run("nova-external-comput-one-1a2b"))
    assert not selection.has(run("configure-os-compute-1a2b"))
