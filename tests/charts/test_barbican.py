"""What Barbican's chart renders beside its API: a worker, which serves nothing."""

from typing import Any

from tests.charts.conftest import Render

WORKER = ("Deployment", "barbican-worker")


def pod(objects: dict[tuple[str, str], dict[str, Any]], name: tuple[str, str]) -> dict[str, Any]:
    return dict(objects[name]["spec"]["template"]["spec"])


def test_api_and_worker_are_there_each_with_its_budget(render: Render) -> None:
    found = set(render("barbican"))
    for name in ("barbican", "barbican-worker"):
        assert {("Deployment", name), ("PodDisruptionBudget", name)} <= found


def test_a_component_may_run_an_image_of_its_own(render: Render) -> None:
    objects = render("barbican", "--set", "components.worker.image=registry.example/worker:1")
    (worker,) = pod(objects, WORKER)["containers"]
    (api,) = pod(objects, ("Deployment", "barbican"))["containers"]
    assert worker["image"] == "registry.example/worker:1"
    assert api["image"] != worker["image"]


def test_a_listener_is_there_where_the_values_have_one(render: Render) -> None:
    listener = ("Deployment", "barbican-keystone-listener")
    assert listener not in render("barbican")
    objects = render("barbican", "--set", "components.keystone-listener.config=barbican-config-data")
    (container,) = pod(objects, listener)["containers"]
    assert container["args"] == ["kolla_start"]


def test_a_worker_serves_nothing_and_waits_for_the_tables(render: Render) -> None:
    worker = pod(render("barbican"), WORKER)
    (container,) = worker["containers"]
    assert container["args"] == ["kolla_start"]
    assert not {"ports", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe"} & set(container)
    assert [variable["name"] for variable in container["env"]] == ["KOLLA_CONFIG_STRATEGY"]
    assert [waiting["name"] for waiting in worker["initContainers"]] == ["wait-for-db-sync"]
    # No Service has to forget it first: it has the time in which orders end, and a little more.
    assert worker["terminationGracePeriodSeconds"] == 35


def test_a_worker_is_probed_where_the_values_say_how(render: Render) -> None:
    command = '{"exec": {"command": ["true"]}}'
    objects = render("barbican", "--set-json", f"components.worker.probes.liveness={command}")
    (container,) = pod(objects, WORKER)["containers"]
    assert container["livenessProbe"] == {"exec": {"command": ["true"]}}
    assert "readinessProbe" not in container


def test_services_send_to_the_api_alone(render: Render) -> None:
    objects = render("barbican")
    for interface in ("public", "internal"):
        selector = objects["Service", f"barbican-{interface}"]["spec"]["selector"]
        assert selector["app.kubernetes.io/component"] == "api"


def test_nothing_is_rendered_that_was_not_asked_for(render: Render) -> None:
    nothing = "components=null,jobs=null,actions=null,provision=null,networkPolicies=null,services=null"
    assert set(render("barbican", "--set", nothing)) == set()
