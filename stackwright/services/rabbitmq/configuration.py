"""The configuration files of a broker, as the chart `rabbitmq` expects them, and the addresses of its nodes. Pure."""

import json
import re
from collections.abc import Iterable, Mapping

from stackwright.api.rabbitmq import MANAGEMENT_PORT, PORT
from stackwright.blueprint.service import ConfigFile
from stackwright.services.rabbitmq.conf_values import value_problem
from stackwright.services.rabbitmq.kinds import RabbitMq

DEFAULT_USER = "default_user"
# The file that a node loads at each start, if its default user was renewed.
DEFINITIONS = "definitions.json"
QUORUM, MIRRORED = "Quorum", "Mirrored"

_PLACE = "/etc/rabbitmq"

# Always enabled: the operator and the readiness probe use the management API.
_PLUGINS = ("rabbitmq_management",)

_LINES = f"""\
listeners.tcp.default = {PORT}
management.tcp.port = {MANAGEMENT_PORT}
# Nobody gets in without a password.
auth_mechanisms.1 = PLAIN
auth_mechanisms.2 = AMQPLAIN
loopback_users = none
# Of a cluster that falls apart, the smaller part stops: it cannot know what the larger one does.
cluster_partition_handling = pause_minority
# A node that was not the last to stop waits for the one that was, as long as it takes.
mnesia_table_loading_retry_timeout = 10000
mnesia_table_loading_retry_limit = 100000
# Replicas of queues follow the nodes: onto new ones, away from those that left.
quorum_queue.continuous_membership_reconciliation.enabled = true
quorum_queue.continuous_membership_reconciliation.auto_remove = true
quorum_queue.continuous_membership_reconciliation.interval = 60000
quorum_queue.continuous_membership_reconciliation.trigger_interval = 3000
quorum_queue.continuous_membership_reconciliation.target_group_size = 3
queue_leader_locator = balanced
# Publishers are held before memory or disk run out. The memory is the container's.
vm_memory_high_watermark.relative = 0.6
disk_free_limit.absolute = 500MB
# The log of the quorum queues is kept in memory, too, until it is this large.
raft.wal_max_size_bytes = 67108864
log.console = true
log.console.level = info
log.file = false
"""


def files(resource: RabbitMq, renewed: Mapping[str, str] | None = None) -> Iterable[ConfigFile]:
    """Yield the files of a broker; those in conf.d are read in the order of their names, so the user's settings win.

    `renewed` is the content of the Secret with the default user, if it was generated again after a loss.
    """
    wanted = resource.spec.rabbitmq
    wanted_type = queue_type(resource)
    own = f"cluster_name = {resource.metadata.name}\ndefault_queue_type = {wanted_type}\n{_LINES}"
    if renewed is not None:
        own += f"load_definitions = {_PLACE}/{DEFINITIONS}\n"
        yield ConfigFile(DEFINITIONS, definitions(renewed, wanted_type), f"{_PLACE}/{DEFINITIONS}")
    plugins = dict.fromkeys((*_PLUGINS, *wanted.additionalPlugins))
    yield ConfigFile("rabbitmq.conf", own, f"{_PLACE}/conf.d/10-rabbitmq.conf")
    yield ConfigFile("enabled_plugins", f"[{','.join(plugins)}].\n", f"{_PLACE}/enabled_plugins")
    given = (
        ("additional.conf", wanted.additionalConfig, "conf.d/90-additional.conf"),
        ("advanced.config", wanted.advancedConfig, "advanced.config"),
        ("rabbitmq-env.conf", wanted.envConfig, "rabbitmq-env.conf"),
        ("erl_inetrc", wanted.erlangInetConfig, "erl_inetrc"),
    )
    for key, text, place in given:
        if text.strip():
            yield ConfigFile(key, text if text.endswith("\n") else f"{text}\n", f"{_PLACE}/{place}")


def definitions(user: Mapping[str, str], kind_of_queue: str) -> str:
    """Return definitions that give the default user the password of its Secret whenever a node starts.

    A broker creates its default user at its first start, and keeps that password from then on. A broker without data
    that has definitions to load creates no default user, so these contain everything that it would create.
    """
    name = user.get("username", DEFAULT_USER)
    metadata = {"description": "Default virtual host", "tags": [], "default_queue_type": kind_of_queue}
    said = {
        "users": [{"name": name, "password": user.get("password", ""), "tags": ["administrator"]}],
        "vhosts": [{"name": "/", "default_queue_type": kind_of_queue, "metadata": metadata}],
        "permissions": [{"user": name, "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}],
    }
    return f"{json.dumps(said, indent=2)}\n"


def queue_type(resource: RabbitMq) -> str:
    """Return the broker's own word for the type of queues that the user asks for.

    RabbitMQ 4 has no mirrored queues, and a queue without mirrors would be lost with its node, so Mirrored becomes
    quorum. An older broker that runs elsewhere still has mirrored queues; it calls them classic.
    """
    spec = resource.spec
    return "classic" if spec.external is not None and spec.queueType == MIRRORED else "quorum"


def conf_problem(text: str) -> str:
    """Return why a broker would not start with these lines in rabbitmq.conf; empty if nothing is wrong."""
    inside = False
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole.strip()
        if inside or not line or line.startswith("#"):
            # A value in triple quotes may span many lines.
            inside ^= line.count("'''") % 2 == 1
            continue
        name, sign, value = (part.strip() for part in line.partition("="))
        inside = value.count("'''") % 2 == 1
        if not sign or not name or not value or len(name.split()) > 1:
            return f"line {number} is not of the form key = value; the broker would not start"
        if not inside and (problem := value_problem(name, value)):
            return f"line {number}: {problem}; the broker would not start"
    return ""


def user_problem(text: str | None) -> str:
    """Return why a broker could not take its first user from these lines; empty if nothing is wrong. Shows no value."""
    if text is None:
        return "it is not text"
    if problem := conf_problem(text):
        return problem
    names = {line.partition("=")[0].strip() for line in text.splitlines()}
    missing = [name for name in ("default_user", "default_pass") if name not in names]
    return f"it has no line {missing[0]} = ...; the broker would make another user" if missing else ""


# A quoted text, or a comment up to the end of its line; a quoted % does not begin a comment.
_COMMENT = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|%.*""")


def terms_problem(text: str) -> str:
    """Return why a text cannot be an advanced.config, which is one Erlang list followed by a full stop."""
    code = _COMMENT.sub(r"\1", text).strip()
    if not code or (code.startswith("[") and code.endswith(".")):
        return ""
    return "must be a list of Erlang terms, with [ at the beginning and ]. at the end; the broker would not start"


def hostnames(resource: RabbitMq) -> tuple[str, ...]:
    """Return the host name of each node, so that clients can switch to another node when one is down."""
    if resource.spec.external is not None:
        return (resource.spec.external.hostname,)
    name, namespace = resource.metadata.name, resource.metadata.namespace
    return tuple(f"{name}-server-{number}.{name}-nodes.{namespace}.svc" for number in range(resource.spec.replicas))


def default_user(resource: RabbitMq, password: str) -> dict[str, str]:
    """Return the content of the Secret `<name>-default-user`: the user that the broker creates at its first start."""
    return {
        "username": DEFAULT_USER,
        "password": password,
        "host": f"{resource.metadata.name}.{resource.metadata.namespace}.svc",
        "port": str(PORT),
        "default_user.conf": f"default_user = {DEFAULT_USER}\ndefault_pass = {password}\n",
    }
