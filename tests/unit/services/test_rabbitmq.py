"""The configuration of a broker follows from its resource."""

from stackwright.kube.resource import ObjectMeta
from stackwright.services.rabbitmq import configuration
from stackwright.services.rabbitmq.kinds import BrokerExternal, Configuration, RabbitMq, RabbitMqSpec

METADATA = ObjectMeta(name="rabbitmq", namespace="openstack")


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
    assert "default_queue_type = classic\n" in files(RabbitMqSpec(queueType="Mirrored"))["rabbitmq.conf"][1]


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
