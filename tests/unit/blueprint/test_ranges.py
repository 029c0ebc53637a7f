"""Values out of range, or of no form that Kubernetes takes, in every kind and in the templates of the umbrella."""

from decimal import Decimal

import msgspec
import pytest

from stackwright import services
from stackwright.api import forms
from stackwright.api.base import CustomResource, JsonObject
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.blueprint import bounds, cron, node_ports, quantities, ranges
from stackwright.kube.errors import ConfigError
from stackwright.kube.quantities import amount
from stackwright.services.glance.kinds import Glance
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.rabbitmq.kinds import RabbitMq

NEEDED = {"secret": "s", "databaseInstance": "db"}


def wrong(kind: type[CustomResource], spec: JsonObject) -> list[str]:
    resource = msgspec.convert({"metadata": {"name": "one", "namespace": "here"}, "spec": spec}, kind)
    return [path for path, _ in ranges.problems(resource)]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("1 * * * *", id="hourly"),
        pytest.param("*/15 0-6 1,15 jan-MAR mon", id="steps-ranges-lists-names"),
        pytest.param("0 0 29 2 *", id="a-leap-day"),
        pytest.param("0 0 31 2 mon", id="a-weekday-comes-anyway"),
        pytest.param("5/10 ? * ? ?", id="a-step-from-a-number"),
        pytest.param("@daily", id="a-word"),
        pytest.param("@every 1h30m", id="a-time-between"),
        pytest.param("07 009 * * *", id="leading-zeros"),
    ],
)
def test_a_cron_expression_is_one(said: str) -> None:
    assert cron.problem(said) == ""
    assert bounds._compiled(forms.CRON).search(said)


@pytest.mark.parametrize(
    ("said", "names"),
    [
        pytest.param("60 * * * *", "end of range (60) above maximum (59): 60", id="minute-60"),
        pytest.param("* 24 * * *", "end of range (24) above maximum (23): 24", id="hour-24"),
        pytest.param("* * 0 * *", "beginning of range (0) below minimum (1): 0", id="day-0"),
        pytest.param("* * 32 * *", "end of range (32) above maximum (31): 32", id="day-32"),
        pytest.param("* * * 13 *", "end of range (13) above maximum (12): 13", id="month-13"),
        pytest.param("* * * * 7", "end of range (7) above maximum (6): 7", id="weekday-7"),
        pytest.param(
            "* * * * sunday", 'parse int from sunday: strconv.Atoi: parsing "sunday": invalid syntax', id="a-long-name"
        ),
        pytest.param("*/0 * * * *", "step of range should be a positive number: */0", id="step-0"),
        pytest.param("*/x * * * *", "failed to parse int from x", id="step-x"),
        pytest.param("1,,2 * * * *", "failed to parse int", id="an-empty-entry"),
        pytest.param("-1 * * * *", "failed to parse int", id="a-negative-number"),
        pytest.param("* * * *", "expected exactly 5 fields, found 4: [* * * *]", id="four-fields"),
        pytest.param("TZ=UTC * * * * *", "cannot use TZ", id="a-time-zone"),
        pytest.param("1-2-3 * * * *", "too many hyphens: 1-2-3", id="two-hyphens"),
        pytest.param("*/2/3 * * * *", "too many slashes: */2/3", id="two-slashes"),
        pytest.param("*/-2 * * * *", "negative number (-2) not allowed: -2", id="a-negative-step"),
        pytest.param("", "empty spec string", id="nothing"),
        pytest.param("@every soon", "failed to parse duration @every soon", id="a-time-that-is-none"),
        pytest.param("@reboot", "unrecognized descriptor: @reboot", id="a-word-of-another-cron"),
        pytest.param("٣ * * * *", "failed to parse int", id="digits-of-another-script"),
    ],
)
def test_a_cron_field_out_of_range_is_named(said: str, names: str) -> None:
    assert names in cron.problem(said)
    assert not bounds._compiled(forms.CRON).search(said), "the schema says it too"


@pytest.mark.parametrize(
    ("said", "names"),
    [
        pytest.param("50-10 * * * *", "beginning of range (50) beyond end of range (10): 50-10", id="backwards"),
        pytest.param("0 0 30 2 *", "never comes", id="the-30th-of-february"),
        pytest.param("0 0 31 4,6,9,nov ?", "never comes", id="the-31st-of-short-months"),
    ],
)
def test_what_no_schema_can_say_of_a_cron_expression_is_said_here(said: str, names: str) -> None:
    assert names in cron.problem(said)


@pytest.mark.parametrize(
    ("said", "number"),
    [("1", 1), (2, 2), ("100m", Decimal("0.1")), ("1Ki", 1024), ("2e3", 2000), ("-5", -5), (".5", Decimal("0.5"))],
)
def test_a_quantity_is_a_number(said: object, number: Decimal) -> None:
    assert amount(said) == number


@pytest.mark.parametrize("said", ["", "x", "1 Gi", "1GB", "1e1.5", "Gi", True, None, 1.5])
def test_what_is_no_quantity_is_none(said: object) -> None:
    assert amount(said) is None


@pytest.mark.parametrize(
    ("requests", "limits", "paths"),
    [
        pytest.param({"cpu": "1"}, {"cpu": "1000m"}, [], id="the-same-in-other-words"),
        pytest.param({"memory": "2Gi"}, {"memory": "2G"}, ["requests[memory]"], id="a-little-over"),
        pytest.param({"memory": "0"}, {}, [], id="nothing-asked-for"),
        pytest.param({"memory": "-1Gi"}, {}, ["requests[memory]"], id="less-than-nothing"),
        pytest.param({"memory": "lots"}, {}, ["requests[memory]"], id="no-quantity"),
        pytest.param({"memory": "99999999999E"}, {}, ["requests[memory]"], id="more-than-can-be-counted"),
        pytest.param({"memory": "1e900"}, {}, ["requests[memory]"], id="far-more"),
        pytest.param({"memory": str(2**63 - 1)}, {}, [], id="as-much-as-can-be-counted"),
        pytest.param({"memory": str(2**63)}, {}, ["requests[memory]"], id="one-more"),
        pytest.param({"cpu": "9223372036854776"}, {}, ["requests[cpu]"], id="thousandths-of-processors"),
        pytest.param({"ram": "1Gi"}, {}, ["requests[ram]"], id="no-resource"),
        pytest.param({"example.org/card": 1}, {"example.org/card": 1}, [], id="a-card"),
        pytest.param({"example.org/card": 1}, {}, ["requests[example.org/card]"], id="a-card-without-a-limit"),
    ],
)
def test_nobody_asks_for_more_than_the_limit(requests: JsonObject, limits: JsonObject, paths: list[str]) -> None:
    assert [path for path, _ in quantities.requirement_problems(requests, limits)] == paths
    spec = {**NEEDED, "resources": {"requests": requests, "limits": limits}}
    assert wrong(KeystoneAPI, spec) == [f"spec.resources.{path}" for path in paths]


@pytest.mark.parametrize(
    ("kind", "spec", "paths"),
    [
        pytest.param(KeystoneAPI, NEEDED, [], id="nothing-wrong"),
        pytest.param(KeystoneAPI, {**NEEDED, "replicas": 0}, [], id="no-replicas-stop-a-service"),
        pytest.param(KeystoneAPI, {**NEEDED, "replicas": -1}, ["spec.replicas"], id="fewer-replicas-than-none"),
        pytest.param(KeystoneAPI, {**NEEDED, "fernetMaxActiveKeys": 2}, ["spec.fernetMaxActiveKeys"], id="two-keys"),
        pytest.param(
            KeystoneAPI, {**NEEDED, "trustFlushSchedule": "61 * * * *"}, ["spec.trustFlushSchedule"], id="minute-61"
        ),
        pytest.param(KeystoneAPI, {**NEEDED, "containerImage": "Not An Image"}, ["spec.containerImage"], id="no-image"),
        pytest.param(KeystoneAPI, {**NEEDED, "containerImage": "a/b:1\n"}, ["spec.containerImage"], id="a-newline"),
        pytest.param(KeystoneAPI, {**NEEDED, "secret": "Not_A_Name"}, ["spec.secret"], id="no-name"),
        pytest.param(
            KeystoneAPI, {**NEEDED, "databaseAccount": "a" * 81}, ["spec.databaseAccount"], id="a-long-account"
        ),
        pytest.param(
            KeystoneAPI, {**NEEDED, "nodeSelector": {"a b": "c"}}, ["spec.nodeSelector[a b]"], id="no-key-of-a-label"
        ),
        pytest.param(
            KeystoneAPI, {**NEEDED, "nodeSelector": {"a": "c" * 64}}, ["spec.nodeSelector[a]"], id="a-long-label"
        ),
        pytest.param(Galera, {"storageClass": "x", "storageRequest": "0"}, ["spec.storageRequest"], id="no-size"),
        pytest.param(Galera, {"storageClass": "x", "storageRequest": "-1G"}, ["spec.storageRequest"], id="below-0"),
        pytest.param(RabbitMq, {"persistence": {"storage": 0}}, ["spec.persistence.storage"], id="a-bare-0"),
        pytest.param(
            Glance, {**NEEDED, "dbPurge": {"schedule": "* * * * 9"}}, ["spec.dbPurge.schedule"], id="weekday-9"
        ),
        pytest.param(
            Glance,
            {**NEEDED, "glanceAPIs": {"default": {"storage": {"storageRequest": "0G"}}}},
            ["spec.glanceAPIs[default].storage.storageRequest"],
            id="deep-in-a-map",
        ),
    ],
)
def test_a_value_that_cannot_be_is_found(kind: type[CustomResource], spec: JsonObject, paths: list[str]) -> None:
    assert wrong(kind, spec) == paths


@pytest.mark.parametrize("port", [80, 29999, 32768, 65535], ids=str)
def test_a_port_of_nodes_is_of_the_clusters_range(port: int) -> None:
    spec = {**NEEDED, "override": {"service": {"public": {"spec": {"type": "NodePort", "nodePort": port}}}}}
    assert wrong(KeystoneAPI, spec) == ["spec.override.service[public].spec.nodePort"]


def test_a_cluster_may_have_another_range() -> None:
    assert node_ports.allowed({}) == (30000, 32767)
    assert node_ports.allowed({node_ports.VARIABLE: "20000-22767"}) == (20000, 22767)
    with pytest.raises(ConfigError, match="not a range of ports"):
        node_ports.allowed({node_ports.VARIABLE: "many"})


def test_the_templates_of_the_umbrella_are_asked_alike() -> None:
    sections = {
        "keystone": {"template": {"trustFlushSchedule": "99 * * * *", "resources": {"requests": {"cpu": "-1"}}}},
        "galera": {"templates": {"openstack": {"storageRequest": "0"}}},
        "glance": {"template": {"glanceAPIs": {"default": {"containerImage": "x", "nodeSelector": {"?": ""}}}}},
    }
    spec = {"secret": "s", "storageClass": "local", **sections}
    assert wrong(services.control_plane(), spec) == [
        "spec.keystone.template.resources.requests[cpu]",
        "spec.galera.templates[openstack].storageRequest",
        "spec.glance.template.glanceAPIs[default].nodeSelector[?]",
        "spec.keystone.template.trustFlushSchedule",
    ]
    assert issubclass(services.control_plane(), OpenStackControlPlane)


@pytest.mark.parametrize(
    "said",
    ["", "keystone", "a/b/c:1", "localhost:5000/a:1", "registry.example/a@sha256:" + "0" * 64, "Host.example/a_b/c__d"],
)
def test_an_image_is_one(said: str) -> None:
    assert bounds._compiled(forms.IMAGE).search(said)


@pytest.mark.parametrize(
    "said", ["UPPER", "a:", "a@sha256:0", "http://a/b", "a//b", "/a", "a/", "a b", ":1", "a:" + "t" * 129, "a/-b"]
)
def test_what_is_no_image_is_none(said: str) -> None:
    assert not bounds._compiled(forms.IMAGE).search(said)
