"""The broker of the image that was built takes a new password of its default user from its definitions."""

from collections.abc import Iterator

import pytest

from stackwright.kube.resource import ObjectMeta
from stackwright.services.rabbitmq import configuration
from stackwright.services.rabbitmq.kinds import RabbitMq
from tests.images.built import Built, container, why_not_built
from tests.ports import free_ports

BROKER = RabbitMq(metadata=ObjectMeta(name="mq", namespace="openstack"))
HOME = "/tmp/broker"

# Starts a broker on the same data twice, the second time with definitions.
SCRIPT = f"""\
start() {{
  rabbitmq-server > {HOME}/log 2>&1 &
  until rabbitmqctl -q await_startup > /dev/null 2>&1; do kill -0 $! || {{ cat {HOME}/log; exit 1; }}; sleep 0.5; done
}}
stop() {{ rabbitmqctl -q shutdown > /dev/null; wait $!; }}
lets_in() {{ rabbitmqctl -q authenticate_user default_user $1 > /dev/null 2>&1 && echo "$2 $1"; }}
start; lets_in old first; lets_in new first; rabbitmqctl -q add_user another x; stop
cp -f {HOME}/second.conf {HOME}/rabbitmq.conf
start; lets_in old second; lets_in new second; rabbitmqctl -q list_users | grep -o ^another; stop
"""


@pytest.fixture(scope="module")
def rabbitmq() -> Iterator[Built]:
    if reason := why_not_built(["rabbitmq"]):
        pytest.skip(reason)
    with container("rabbitmq") as made:
        yield made


def test_a_broker_gives_its_default_user_the_password_of_its_definitions(rabbitmq: Built) -> None:
    amqp, distribution, epmd = free_ports(3)
    home = rabbitmq.root / HOME[1:]
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    (rabbitmq.root / "etc/hosts").write_text("127.0.0.1 localhost\n")
    definitions = configuration.definitions(configuration.default_user(BROKER, "new"), "quorum")
    (home / "definitions.json").write_text(definitions)
    common = f"listeners.tcp.default = 127.0.0.1:{amqp}\nlog.file = false\n"
    first, second = (configuration.default_user(BROKER, password)["default_user.conf"] for password in ("old", "new"))
    (home / "rabbitmq.conf").write_text(common + first)
    (home / "second.conf").write_text(f"{common}{second}load_definitions = {HOME}/definitions.json\n")
    (home / "enabled_plugins").write_text("[].\n")
    environment = {
        "HOME": HOME,
        "RABBITMQ_NODENAME": "mq@localhost",
        "RABBITMQ_MNESIA_BASE": f"{HOME}/mnesia",
        "RABBITMQ_LOG_BASE": f"{HOME}/logs",
        "RABBITMQ_CONFIG_FILE": f"{HOME}/rabbitmq.conf",
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{HOME}/enabled_plugins",
        "RABBITMQ_DIST_PORT": str(distribution),
        "RABBITMQ_CTL_DIST_PORT_MIN": str(distribution + 1),
        "RABBITMQ_CTL_DIST_PORT_MAX": str(distribution + 20),
        "ERL_EPMD_PORT": str(epmd),
    }
    answer = rabbitmq.run(SCRIPT, environment=environment)
    assert answer.output.splitlines() == ["first old", "second new", "another"], answer.output
