"""What memcached's chart renders."""

from tests.charts.conftest import Render

NAME = ("StatefulSet", "memcached")


def test_its_servers_have_names_from_their_start(render: Render) -> None:
    objects = render("memcached", "--set", "components.server.replicas=3")
    service = objects["Service", "memcached"]["spec"]
    assert objects[NAME]["spec"]["serviceName"] == "memcached"
    assert (service["clusterIP"], service["publishNotReadyAddresses"]) == ("None", True)
    assert ("PodDisruptionBudget", "memcached") in objects


def test_its_memory_is_what_it_asks_for_and_some(render: Render) -> None:
    objects = render("memcached", "--set", "cacheSize=128,maxConn=10")
    (container,) = objects[NAME]["spec"]["template"]["spec"]["containers"]
    assert {"--memory-limit=128", "--conn-limit=10"} <= set(container["args"])
    assert container["resources"]["requests"]["memory"] == "160Mi"
    assert ("PodDisruptionBudget", "memcached") not in objects


def test_a_configuration_secret_says_what_runs(render: Render) -> None:
    spec = render("memcached", "--set", "components.server.config=memcached-config-data")[NAME]["spec"]["template"][
        "spec"
    ]
    assert spec["containers"][0]["args"] == ["kolla_start"]
    assert "server.json" in {mount.get("subPath") for mount in spec["containers"][0]["volumeMounts"]}


def test_a_limit_without_a_request_is_not_below_what_the_chart_asks_for(render: Render) -> None:
    objects = render("memcached", "--set", "components.server.resources.limits.memory=64Mi")
    (container,) = objects[NAME]["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"memory": "64Mi"}
    assert "memory" not in container["resources"]["requests"]
    assert "cpu" in container["resources"]["requests"], "what is not limited is asked for as before"


def test_a_spread_that_selects_no_pods_counts_those_of_the_component(render: Render) -> None:
    said = '[{"maxSkew": 1, "topologyKey": "zone"}, {"maxSkew": 1, "topologyKey": "host", "labelSelector": {}}]'
    objects = render("memcached", "--set-json", f"components.server.topologySpreadConstraints={said}")
    own, all_pods = objects[NAME]["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert own["labelSelector"] == objects[NAME]["spec"]["selector"]
    assert all_pods["labelSelector"] == {}
