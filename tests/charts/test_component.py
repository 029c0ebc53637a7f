"""The component template of the library: every word of it, also those that few services say, such as DaemonSets."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.blueprint import charts, value_schema
from stackwright.blueprint.needs import Database, Each
from stackwright.blueprint.service import Component, Service
from stackwright.blueprint.workloads import Host, HostPath, Port, Workload
from stackwright.kube import documents
from stackwright.kube.client import Client
from stackwright.services.barbican.service import SERVICE
from tests.charts.conftest import CHARTS, Helm
from tests.charts.judging import judge, restricted

VALUES: dict[str, Any] = {
    "image": "localhost/openstack:test",
    "components": {"agent": {"config": "teapot-config-data", "hash": "first"}},
    "jobs": {"db-sync": {"config": "teapot-config-data", "hash": "abc"}},
}


def rendered(helm: Helm, folder: Path, component: Component[Any, Any], **values: Any) -> dict[tuple[str, str], Any]:
    """Render a chart of one line for a service with one component."""
    service: Service[Any, Any] = replace(SERVICE, name="teapot", components=(component,), endpoints=())
    return render_service(helm, folder, service, **values)


def render_service(helm: Helm, folder: Path, service: Service[Any, Any], **values: Any) -> dict[tuple[str, str], Any]:
    chart = folder / "teapot"
    (chart / "templates").mkdir(parents=True)
    shutil.copytree(CHARTS / "library", chart / "charts" / "library")
    metadata = yaml.safe_load((CHARTS / "placement" / "Chart.yaml").read_text())
    (chart / "Chart.yaml").write_text(yaml.safe_dump({**metadata, "name": "teapot"}))
    (chart / "templates" / "teapot.yaml").write_text('{{ include "stackwright.release" (dict "root" $) }}\n')
    (chart / "blueprint.yaml").write_text(yaml.safe_dump(charts.facts([service], 42499)))
    (chart / "values.schema.json").write_text(json.dumps(value_schema.schema("teapot", [service])))
    (chart / "values.yaml").write_text(yaml.safe_dump({**VALUES, **values}))
    printed = helm("template", "teapot", chart)
    return {(body["kind"], body["metadata"]["name"]): body for body in documents.read(printed)}


def agent(workload: Workload, host: Host, **words: Any) -> Component[Any, Any]:
    return Component("agent", workload=workload, host=host, after=("db-sync",), **words)


HOST = Host(
    network=True,
    pid=True,
    ipc=True,
    capabilities=("NET_ADMIN",),
    paths=(
        HostPath("/run/openvswitch", type="DirectoryOrCreate", propagation="HostToContainer"),
        HostPath("/lib/modules", mount="/modules", read_only=True),
    ),
)


@pytest.mark.parametrize(
    ("ports", "found"),
    [
        pytest.param((Port("brewing", 8080),), True, id="it-is-found-by-its-ports"),
        pytest.param((), False, id="it-talks-by-a-broker-alone"),
    ],
)
def test_a_stateful_set_has_a_service_where_there_is_something_to_connect_to(
    helm: Helm, tmp_path: Path, ports: tuple[Port, ...], found: bool
) -> None:
    objects = rendered(helm, tmp_path, agent("StatefulSet", Host(), ports=ports))
    named = objects["StatefulSet", "teapot-agent"]["spec"]["serviceName"]
    assert (("Service", named) in objects) is found


def test_a_port_of_udp_stands_beside_one_of_tcp_with_the_same_number(helm: Helm, tmp_path: Path) -> None:
    ports = (Port("names", 5353, protocol="UDP"), Port("names-tcp", 5353))
    objects = rendered(helm, tmp_path, agent("StatefulSet", Host(), ports=ports))
    workload = objects["StatefulSet", "teapot-agent"]["spec"]
    (container,) = workload["template"]["spec"]["containers"]
    assert container["ports"] == [
        {"name": "names", "containerPort": 5353, "protocol": "UDP"},
        {"name": "names-tcp", "containerPort": 5353},
    ]
    assert objects["Service", workload["serviceName"]]["spec"]["ports"] == [
        {"name": "names", "port": 5353, "targetPort": "names", "protocol": "UDP"},
        {"name": "names-tcp", "port": 5353, "targetPort": "names-tcp"},
    ]


def test_a_daemon_set_takes_what_it_declares_and_nothing_else(helm: Helm, tmp_path: Path) -> None:
    objects = rendered(helm, tmp_path, agent("DaemonSet", HOST, user=0))
    spec = objects["DaemonSet", "teapot-agent"]["spec"]
    assert "replicas" not in spec
    assert ("PodDisruptionBudget", "teapot-agent") not in objects
    pod = spec["template"]["spec"]
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert (pod["hostPID"], pod["hostIPC"]) == (True, True)
    assert "affinity" not in pod
    assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsNonRoot"]) == (0, False)
    assert [entry["name"] for entry in pod["initContainers"]] == ["wait-for-db-sync"]
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": True,
        "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]},
    }
    assert pod["initContainers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    assert mounts["/run/openvswitch"]["mountPropagation"] == "HostToContainer"
    assert mounts["/modules"]["readOnly"] is True
    volumes = {volume["name"]: volume.get("hostPath") for volume in pod["volumes"]}
    assert volumes[mounts["/run/openvswitch"]["name"]] == {"path": "/run/openvswitch", "type": "DirectoryOrCreate"}
    assert volumes[mounts["/modules"]["name"]] == {"path": "/lib/modules"}


async def test_the_server_takes_such_pods_and_the_strict_profile_does_not(
    client: Client, namespace: str, helm: Helm, tmp_path: Path
) -> None:
    for number, host in enumerate((HOST, Host(privileged=True))):
        objects = rendered(helm, tmp_path / str(number), agent("DaemonSet", host))
        template = objects["DaemonSet", "teapot-agent"]["spec"]["template"]
        assert await judge(client, namespace, template) == ""
    await restricted(client, namespace)
    assert 'violates PodSecurity "restricted' in await judge(client, namespace, template)


def test_pods_with_ports_of_the_host_do_not_stand_in_each_others_way(helm: Helm, tmp_path: Path) -> None:
    objects = rendered(helm, tmp_path, agent("Deployment", Host(network=True), ports=(Port("web", 8123),)))
    rolling = objects["Deployment", "teapot-agent"]["spec"]["strategy"]["rollingUpdate"]
    assert rolling == {"maxSurge": 0, "maxUnavailable": 1}


def test_a_stateful_set_has_a_volume_for_each_node_and_a_name(helm: Helm, tmp_path: Path) -> None:
    ports = (Port("raft", 6643), Port("health", 8080, probed=True))
    kept = agent("StatefulSet", Host(), ports=ports, data="/var/lib/teapot", nodes="nodes")
    components = {"agent": {"config": "c", "replicas": 3, "storage": {"class": "", "request": "1G"}}}
    objects = rendered(helm, tmp_path, kept, components=components)
    spec = objects["StatefulSet", "teapot-agent"]["spec"]
    assert spec["serviceName"] == "teapot-nodes"
    assert [entry["metadata"]["name"] for entry in spec["volumeClaimTemplates"]] == ["data"]
    (container,) = spec["template"]["spec"]["containers"]
    assert "/var/lib/teapot" in {mount["mountPath"] for mount in container["volumeMounts"]}
    assert [port["port"] for port in objects["Service", "teapot-nodes"]["spec"]["ports"]] == [6643]
    assert ("PodDisruptionBudget", "teapot-agent") in objects


@pytest.mark.parametrize("after", [(), ("db-create",)])
def test_nobody_waits_for_what_is_not_asked_for(helm: Helm, tmp_path: Path, after: tuple[str, ...]) -> None:
    objects = rendered(helm, tmp_path, Component("agent", after=after))
    assert "initContainers" not in objects["Deployment", "teapot-agent"]["spec"]["template"]["spec"]


def test_a_job_that_the_resource_names_runs_as_its_form_says(helm: Helm, tmp_path: Path) -> None:
    (sync, *_) = SERVICE.known_jobs
    forms = (replace(sync, name="sync-*"), replace(sync, name="sync-last", after=()))
    service: Service[Any, Any] = replace(
        SERVICE, name="teapot", components=(Component("agent"),), endpoints=(), jobs=lambda _: (), forms=forms
    )
    config = {"config": "teapot-config-data", "hash": "abc"}
    database = {"host": "h", "name": "teapot", "admin": {"secret": "s"}, "account": {"username": "u", "secret": "s"}}
    nodes = {"nodeSelector": {"openstack": "enabled"}}
    objects = render_service(
        helm,
        tmp_path,
        service,
        jobs={"sync-cell1": {**config, **nodes}, "sync-last": config},
        provision={"database": {**database, **nodes, "hash": "def"}},
    )
    pods = job_pods(objects)
    waits = [entry["name"] for entry in pods["teapot-sync-cell1-abc"]["initContainers"]]
    assert waits == ["wait-for-db-create"]
    assert "initContainers" not in pods["teapot-sync-last-abc"]
    selected = {name: pod.get("nodeSelector") for name, pod in pods.items()}
    asked = nodes["nodeSelector"]
    assert selected == {"teapot-sync-cell1-abc": asked, "teapot-sync-last-abc": None, "teapot-db-create-def": asked}


def job_pods(objects: dict[tuple[str, str], Any]) -> dict[str, Any]:
    return {name: body["spec"]["template"]["spec"] for (kind, name), body in objects.items() if kind == "Job"}


def test_by_hand_a_schema_is_made_for_each_cell(helm: Helm, tmp_path: Path) -> None:
    cells = Each((Database,), lambda _: ())
    service: Service[Any, Any] = replace(SERVICE, name="teapot", endpoints=(), needs=(*SERVICE.needs, cells))
    database = {"host": "h", "admin": {"secret": "s"}, "account": {"username": "u", "secret": "s"}, "hash": "def"}
    names = ("teapot-cell0", "teapot-cell1")
    values = {
        "components": {},
        "jobs": {"db-sync": {"config": "teapot-config-data", "hash": "abc"}},
        "provision": {"databases": {name: {**database, "name": name.replace("-", "_")} for name in names}},
    }
    objects = render_service(helm, tmp_path, service, **values)
    pods = job_pods(objects)
    for name in names:
        (container,) = pods[f"teapot-db-create-{name}-def"]["containers"]
        variables = {entry["name"]: entry.get("value") for entry in container["env"]}
        assert variables["DATABASE_NAME"] == name.replace("-", "_")
        assert ("ConfigMap", f"teapot-db-create-{name}") in objects
    waits = [entry["name"] for entry in pods["teapot-db-sync-abc"]["initContainers"]]
    assert waits == [f"wait-for-db-create-{name}" for name in names]
    assert objects["ConfigMap", "teapot-wait"]["data"]["db-create-teapot-cell1"] == "teapot-db-create-teapot-cell1-def"
