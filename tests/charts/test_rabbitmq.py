"""What RabbitMQ's chart renders, and what its example says."""

from pathlib import Path

from stackwright.blueprint import start
from stackwright.kube.resource import ObjectMeta
from stackwright.services.rabbitmq import configuration
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.services.rabbitmq.service import SERVE
from tests.charts.conftest import CHARTS, Refuse, Render

NAME = ("StatefulSet", "rabbitmq-server")
EXAMPLE = CHARTS / "rabbitmq" / "example"


def test_all_nodes_start_at_once_and_find_each_other_before_they_are_ready(render: Render) -> None:
    objects = render("rabbitmq")
    spec, nodes = objects[NAME]["spec"], objects["Service", "rabbitmq-nodes"]["spec"]
    assert (spec["serviceName"], spec["podManagementPolicy"], spec["replicas"]) == ("rabbitmq-nodes", "Parallel", 3)
    assert (nodes["clusterIP"], nodes["publishNotReadyAddresses"]) == ("None", True)
    assert [port["port"] for port in objects["Service", "rabbitmq"]["spec"]["ports"]] == [5672, 15672]
    assert ("PodDisruptionBudget", "rabbitmq-server") in objects


def test_volumes_stay(render: Render) -> None:
    spec = render("rabbitmq", "--set", "components.server.storage.class=fast")[NAME]["spec"]
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["spec"]["resources"]["requests"]["storage"] == "10Gi"


def test_one_node_or_three_have_the_same_pods(render: Render) -> None:
    one = render("rabbitmq", "--set", "components.server.replicas=1")
    assert one[NAME]["spec"]["template"] == render("rabbitmq")[NAME]["spec"]["template"]
    assert ("PodDisruptionBudget", "rabbitmq-server") not in one


def test_the_first_user_and_the_cookie_come_from_secrets(render: Render) -> None:
    spec = render("rabbitmq", "--set", "secrets.erlangCookie=ours")[NAME]["spec"]["template"]["spec"]
    (sources,) = [volume["projected"]["sources"] for volume in spec["volumes"] if volume["name"] == "secrets"]
    assert [source["secret"]["name"] for source in sources] == ["rabbitmq-default-user", "ours"]
    mounted = [mount["name"] for mount in spec["containers"][0]["volumeMounts"]]
    assert "secrets" not in mounted


def test_a_node_may_read_its_own_stateful_set_and_nothing_else(render: Render) -> None:
    assert render("rabbitmq")["Role", "rabbitmq-server"]["rules"] == [
        {"apiGroups": ["apps"], "resources": ["statefulsets"], "resourceNames": ["rabbitmq-server"], "verbs": ["get"]}
    ]


def test_a_booting_or_paused_node_is_not_killed(render: Render) -> None:
    (container,) = render("rabbitmq")[NAME]["spec"]["template"]["spec"]["containers"]
    for probe in ("startupProbe", "livenessProbe"):
        assert container[probe]["tcpSocket"] == {"port": "distribution"}


def test_the_pods_have_all_programs(render: Render) -> None:
    said = render("rabbitmq")["ConfigMap", "rabbitmq-scripts"]["data"]
    assert said == {path.name: path.read_text() for path in (CHARTS / "rabbitmq" / "files").iterdir()}


def test_a_number_of_nodes_that_is_none_is_refused(refuse: Refuse) -> None:
    said = refuse("rabbitmq", "--set", "components.server.replicas=-1").replace("/", ".")
    assert "components.server.replicas" in said


def test_an_unknown_value_is_refused(refuse: Refuse) -> None:
    assert "replica" in refuse("rabbitmq", "--set", "components.server.replica=3")


def test_the_example_is_what_the_operator_writes() -> None:
    broker = RabbitMq(metadata=ObjectMeta(name="rabbitmq", namespace="openstack"))
    files = tuple(configuration.files(broker))
    expected = {file.key: file.content for file in files}
    expected["server.json"] = start.contract(SERVE, files, "rabbitmq")
    assert {path.name: Path(path).read_text() for path in EXAMPLE.iterdir()} == expected
