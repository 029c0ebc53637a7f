"""The configuration of a broker follows from its resource."""

import json
from typing import Any

import msgspec
import pytest

from stackwright.controllers import needs
from stackwright.kube.resource import ObjectMeta, R
from stackwright.services.rabbitmq import configuration
from stackwright.services.rabbitmq.conf_values import FORMS
from stackwright.services.rabbitmq.kinds import BrokerExternal, Configuration, RabbitMq, RabbitMqSpec
from stackwright.services.rabbitmq.service import SERVICE, problems
from tests.unit.blueprint.resolving import look_at, secret

METADATA = ObjectMeta(name="rabbitmq", namespace="openstack")
OUTSIDE = {"hostname": "rabbit.example.org", "managementURL": "http://rabbit.example.org:15672", "secret": "admin"}


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param({}, [], id="nothing-to-say"),
        pytest.param({"queueType": "Mirrored"}, ["spec.queueType"], id="queues-that-are-no-more"),
        pytest.param({"replicas": 4}, ["spec.replicas"], id="an-even-number"),
        pytest.param({"replicas": 0}, [], id="none"),
        pytest.param({"queueType": "Mirrored", "replicas": 2, "external": OUTSIDE}, [], id="a-broker-elsewhere"),
    ],
)
def test_the_author_of_an_odd_choice_is_told(spec: dict[str, Any], path: list[str]) -> None:
    resource = RabbitMq(spec=msgspec.convert(spec, RabbitMqSpec))
    assert [at for at, _ in SERVICE.advice(resource, needs.sight(look_at()))] == path


def test_mirrored_queues_are_those_of_an_older_broker_elsewhere() -> None:
    for external, expected in ((OUTSIDE, "classic"), (None, "quorum")):
        spec = {"queueType": "Mirrored", **({"external": external} if external else {})}
        assert configuration.queue_type(RabbitMq(spec=msgspec.convert(spec, RabbitMqSpec))) == expected


def files(spec: RabbitMqSpec) -> dict[str, tuple[str, str]]:
    broker = RabbitMq(metadata=METADATA, spec=spec)
    return {file.key: (file.destination, file.content) for file in configuration.files(broker)}


def test_what_the_user_adds_is_read_last() -> None:
    found = files(RabbitMqSpec(rabbitmq=Configuration(additionalConfig="log.console.level = debug")))
    assert found["additional.conf"] == ("/etc/rabbitmq/conf.d/90-additional.conf", "log.console.level = debug\n")
    read = sorted(place for place, _ in found.values() if "/conf.d/" in place)
    assert read[-1] == "/etc/rabbitmq/conf.d/90-additional.conf"


def test_plugins_of_the_user_come_beside_ours() -> None:
    plugins = Configuration(additionalPlugins=("rabbitmq_shovel", "rabbitmq_management"))
    assert files(RabbitMqSpec(rabbitmq=plugins))["enabled_plugins"][1] == "[rabbitmq_management,rabbitmq_shovel].\n"


def test_the_type_of_queues_is_set() -> None:
    assert "default_queue_type = quorum\n" in files(RabbitMqSpec())["rabbitmq.conf"][1]
    # Without mirrors a classic queue would be lost with its node.
    assert "default_queue_type = quorum\n" in files(RabbitMqSpec(queueType="Mirrored"))["rabbitmq.conf"][1]


def test_the_configuration_does_not_depend_on_the_number_of_nodes() -> None:
    assert files(RabbitMqSpec(replicas=1)) == files(RabbitMqSpec(replicas=3))


def test_every_node_has_a_name() -> None:
    assert configuration.hostnames(RabbitMq(metadata=METADATA, spec=RabbitMqSpec(replicas=3))) == (
        "rabbitmq-server-0.rabbitmq-nodes.openstack.svc",
        "rabbitmq-server-1.rabbitmq-nodes.openstack.svc",
        "rabbitmq-server-2.rabbitmq-nodes.openstack.svc",
    )
    external = BrokerExternal(
        hostname="rabbit.example.org", managementURL="http://rabbit.example.org:15672", secret="a"
    )
    assert configuration.hostnames(RabbitMq(spec=RabbitMqSpec(external=external))) == ("rabbit.example.org",)


def test_the_default_user_comes_in_the_broker_s_own_form() -> None:
    content = configuration.default_user(RabbitMq(metadata=METADATA), "secret")
    assert content["default_user.conf"] == "default_user = default_user\ndefault_pass = secret\n"
    assert (content["host"], content["port"]) == ("rabbitmq.openstack.svc", "5672")


def test_a_broker_is_told_the_password_of_a_default_user_whose_secret_was_lost() -> None:
    broker = RabbitMq(metadata=METADATA, spec=RabbitMqSpec())
    assert "load_definitions" not in files(RabbitMqSpec())["rabbitmq.conf"][1]
    renewed = configuration.default_user(broker, "another")
    found = {file.key: file for file in configuration.files(broker, renewed)}
    place = found["definitions.json"].destination
    assert f"load_definitions = {place}\n" in found["rabbitmq.conf"].content
    said = json.loads(found["definitions.json"].content)
    assert said["users"] == [{"name": "default_user", "password": "another", "tags": ["administrator"]}]
    # A broker without data makes nothing by itself where it has definitions.
    assert [entry["name"] for entry in said["vhosts"]] == ["/"]
    assert [(entry["user"], entry["vhost"]) for entry in said["permissions"]] == [("default_user", "/")]


def nobody(kind: type[R], name: str, *, namespace: str = "") -> R | None:
    return None


@pytest.mark.parametrize(
    ("spec", "path", "words"),
    [
        pytest.param({"additionalConfig": "a.b = 1\nthis is no line\n"}, "additionalConfig", "line 2", id="no-line"),
        pytest.param({"additionalConfig": "heartbeat =\n"}, "additionalConfig", "line 1", id="no-value"),
        pytest.param({"advancedConfig": "[{rabbit, []}]\n"}, "advancedConfig", "Erlang terms", id="no-full-stop"),
    ],
)
def test_what_a_broker_would_not_start_with_is_refused(spec: dict[str, Any], path: str, words: str) -> None:
    resource = RabbitMq(metadata=ObjectMeta(name="rabbitmq"), spec=RabbitMqSpec(rabbitmq=Configuration(**spec)))
    ((found, sentence),) = problems(resource, nobody)
    assert found == f"spec.rabbitmq.{path}"
    assert words in sentence


@pytest.mark.parametrize("url", ["http://[::", "http://a:b/", "http://a:99999/", "http://:15672"])
def test_a_url_that_cannot_be_read_is_refused(url: str) -> None:
    external = BrokerExternal(hostname="a", managementURL=url, secret="b")
    ((path, _),) = problems(RabbitMq(metadata=METADATA, spec=RabbitMqSpec(external=external)), nobody)
    assert path == "spec.external.managementURL"
    right = BrokerExternal(hostname="a", managementURL="https://[fd00::1]:15671/api", secret="b")
    assert list(problems(RabbitMq(metadata=METADATA, spec=RabbitMqSpec(external=right)), nobody)) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param({"username": "a", "password": "b"}, "has no line default_user", id="no-file"),
        pytest.param({"default_user.conf": "default_user = a\n"}, "has no line default_pass", id="no-password"),
        pytest.param({"default_user.conf": "default_user: a\ndefault_pass: b\n"}, "line 1 is not", id="another-form"),
        pytest.param({"default_user.conf": "default_user = a\ndefault_pass = b"}, "", id="well-formed"),
    ],
)
def test_a_first_user_that_no_broker_could_make_is_refused(content: dict[str, str], words: str) -> None:
    resource = RabbitMq(metadata=METADATA)
    found = list(problems(resource, look_at(secret("rabbitmq-default-user", content))))
    assert [path for path, _ in found] == (["metadata.name"] if words else [])
    assert all("Secret rabbitmq-default-user" in sentence and words in sentence for _, sentence in found)


def test_what_a_broker_reads_is_taken() -> None:
    said = Configuration(
        additionalConfig="# x\n\nheartbeat=30\nbanner = '''\nmany words\nhere\n'''\nlog.console.level = debug\n",
        advancedConfig='%% x.\n[{rabbit, [{default_vhost, <<"%2f">>}]}].\n% the end\n',
    )
    resource = RabbitMq(metadata=ObjectMeta(name="rabbitmq"), spec=RabbitMqSpec(rabbitmq=said))
    assert list(problems(resource, nobody)) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("vm_memory_high_watermark.relative = lots", "a number with a decimal point"),
        ("vm_memory_high_watermark.relative = 1", "a number with a decimal point"),
        ("vm_memory_high_watermark.relative = .4", "a number with a decimal point"),
        ("vm_memory_high_watermark.absolute = 2 GB", "a size"),
        ("disk_free_limit.absolute = much", "a size"),
        ("frame_max = 128KiB", "a number of bytes"),
        ("heartbeat = 30s", "a whole number"),
        ("heartbeat = \u00b2", "a whole number"),
        ("consumer_timeout = 0", "a whole number above 0"),
        ("management.http.max_body_size = -1", "not below 0"),
        ("connection_max = unlimited", "a whole number or infinity"),
        ("tcp_listen_options.nodelay = yes", "true or false"),
        ("tcp_listen_options.nodelay = 'on' # fast", "true or false"),
        ("collect_statistics = all", "one of none, coarse, fine"),
        ("log.console.level = loud", "one of debug, info"),
        ("cluster_partition_handling = pause", "one of ignore, pause_minority"),
    ],
)
def test_a_value_of_another_type_is_refused(line: str, words: str) -> None:
    name = line.partition(" = ")[0]
    found = configuration.conf_problem(f"# x\n{line}\n")
    assert found.startswith(f"line 2: {name} is")
    assert words in found
    assert found.endswith("the broker would not start")


def test_a_refused_value_is_shown_to_nobody() -> None:
    assert "s3cr3t" not in configuration.conf_problem("heartbeat = s3cr3t\n")


@pytest.mark.parametrize(
    "line",
    [
        "vm_memory_high_watermark.relative = 0.4",
        "vm_memory_high_watermark.relative=0.4 # of the container's",
        "vm_memory_high_watermark.relative = '0.4'",
        "vm_memory_high_watermark.relative = $(disk_free_limit.relative)",
        "vm_memory_high_watermark.absolute = 2GiB",
        "disk_free_limit.absolute = 50000000",
        "disk_free_limit.absolute = 1gb",
        "disk_free_limit.relative = 1.5",
        "frame_max = 131072",
        "frame_max = 128KB",
        "heartbeat = 0",
        "channel_max = 2047",
        "connection_max = infinity",
        "tcp_listen_options.linger.timeout = 0",
        "log.default.level = none",
        # What nobody knows here may be anything.
        "log.file.level = debug",
        "some.plugin.of.mine = lots",
        "listeners.tcp.other = 127.0.0.1:5673",
        "default_vhost = '''\nheartbeat = lots\n'''",
    ],
)
def test_a_value_that_a_broker_reads_is_taken(line: str) -> None:
    assert configuration.conf_problem(f"{line}\n") == ""


def test_our_own_lines_are_taken() -> None:
    own = files(RabbitMqSpec())["rabbitmq.conf"][1]
    assert configuration.conf_problem(own) == ""
    assert sum(line.partition(" = ")[0] in FORMS for line in own.splitlines()) > 10
