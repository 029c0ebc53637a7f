"""RabbitMQ carries the services' messages, on one node or on several that form a cluster."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from stackwright.api.base import JsonObject
from stackwright.api.rabbitmq import MANAGEMENT_PORT, PORT
from stackwright.blueprint import storage_classes, volume_sizes
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.generated import Generated
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs.broker import BROKER, BrokerServer
from stackwright.blueprint.network import BY_OPERATORS, Listen, Network
from stackwright.blueprint.outside_addresses import is_inside
from stackwright.blueprint.places import is_url
from stackwright.blueprint.providers import Provides, Sight
from stackwright.blueprint.secret_values import text_of
from stackwright.blueprint.service import Component, ConfigFile, Service, Told
from stackwright.blueprint.value_types import client_service, closed, described
from stackwright.blueprint.workloads import Port
from stackwright.kube.builtin import Secret
from stackwright.services.rabbitmq import configuration
from stackwright.services.rabbitmq.kinds import DefaultUser, RabbitMq, SecretReference, ServiceReference

# Erlang listens here from the start, even while the broker boots, waits for other nodes or has paused itself.
ALIVE: JsonObject = {"tcpSocket": {"port": "distribution"}, "timeoutSeconds": 5}
SCRIPTS = "/var/lib/stackwright/scripts"
READY = ["python3", f"{SCRIPTS}/ready.py"]
# It becomes the server; a node without data joins its cluster first.
SERVE = f"python3 {SCRIPTS}/serve.py"
DEFAULT_USER_FILE = "default_user.conf"
OWN_VALUES = {
    "tolerations": described("Taints of nodes that the pods tolerate.", {"type": "array", "items": {"type": "object"}}),
    "terminationGracePeriodSeconds": described(
        "Seconds that a node has to hand over its queues before it is killed.", {"type": "integer", "minimum": 1}
    ),
}
SECRETS = {
    "defaultUser": described(
        "The Secret with default_user.conf: the user that the broker creates at its first start.", {"type": "string"}
    ),
    "erlangCookie": described(
        "The Secret with .erlang.cookie, by which the nodes recognize each other.", {"type": "string"}
    ),
}


def default_user(resource: RabbitMq) -> str:
    """Return the name of the Secret with the user that the broker creates at its first start."""
    return f"{resource.metadata.name}-default-user"


def files(resource: RabbitMq, facts: Facts) -> tuple[ConfigFile, ...]:
    """Return the files that each node reads."""
    return tuple(configuration.files(resource, facts.renewed.get(default_user(resource))))


def storage(resource: RabbitMq, facts: Facts) -> JsonObject:
    """Return the values of the chart for each node, in addition to the usual ones."""
    spec = resource.spec
    said: JsonObject = {
        "storage": {"class": spec.persistence.storageClassName or "", "request": str(spec.persistence.storage)},
        "terminationGracePeriodSeconds": spec.terminationGracePeriodSeconds,
    }
    further = {"affinity": spec.affinity, "tolerations": list(spec.tolerations)}
    return said | {name: value for name, value in further.items() if value}


def values(resource: RabbitMq, facts: Facts) -> JsonObject:
    """Return how the broker's Service is reached, if the user overrides it."""
    override = resource.spec.override.service
    if override is None:
        return {}
    spec = dict(override.spec)
    kind = spec.pop("type", None)
    metadata = msgspec.to_builtins(override.metadata) if override.metadata is not None else {}
    said = {**metadata, **({"type": kind} if kind else {}), **({"spec": spec} if spec else {})}
    return {"services": {"internal": said}} if said else {}


def exposed(resource: RabbitMq) -> bool:
    """Return whether clients that are not pods may reach the broker, such as machines outside the cluster."""
    override = resource.spec.override.service
    return override is not None and override.spec.get("type", "ClusterIP") != "ClusterIP"


def problems(resource: RabbitMq, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that a broker cannot work with, and why."""
    spec = resource.spec
    if spec.external is not None:
        if not is_url(spec.external.managementURL):
            yield "spec.external.managementURL", "is not a URL; write it as http://rabbit.example.org:15672"
        return
    if problem := configuration.conf_problem(spec.rabbitmq.additionalConfig):
        yield "spec.rabbitmq.additionalConfig", problem
    if problem := configuration.terms_problem(spec.rabbitmq.advancedConfig):
        yield "spec.rabbitmq.advancedConfig", problem
    name = default_user(resource)
    user = look(Secret, name)
    if user is not None and (problem := configuration.user_problem(text_of(user, DEFAULT_USER_FILE))):
        yield "metadata.name", f"correct {DEFAULT_USER_FILE} in Secret {name}, which follows from it: {problem}"
    path = "spec.persistence.storageClassName"
    yield from storage_classes.problems(resource, path, spec.persistence.storageClassName, look)


def limits(resource: RabbitMq, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that the volumes that are there cannot follow, and why."""
    if resource.spec.external is None:
        yield from volume_sizes.limits(*_volumes(resource), look)


def _volumes(resource: RabbitMq) -> tuple[str, str, str, int]:
    """Return which field says the size of whose volumes, that size, and how many there are."""
    spec = resource.spec
    return "spec.persistence.storage", f"{resource.metadata.name}-server", str(spec.persistence.storage), spec.replicas


def advice(resource: RabbitMq, sight: Sight) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that is accepted with a warning, and the warning."""
    spec = resource.spec
    if spec.external is None and spec.queueType == configuration.MIRRORED:
        yield (
            "spec.queueType",
            "RabbitMQ 4 has no mirrored queues; queues are replicated as with Quorum",
        )
    if spec.external is None and spec.replicas and spec.replicas % 2 == 0:
        fewer = spec.replicas - 1
        yield "spec.replicas", f"{spec.replicas} nodes survive the loss of no more nodes than {fewer}; use {fewer}"
    if spec.external is None:
        yield from volume_sizes.advice(*_volumes(resource), sight.look)


def tell(resource: RabbitMq, facts: Facts | None, look: Look) -> Told[RabbitMq]:
    """Return where the nodes are, and how to log in."""
    external = resource.spec.external
    name, namespace = resource.metadata.name, resource.metadata.namespace
    if external is not None:
        host, port = external.hostname, external.port
        outside = "" if is_inside(host) else f"{host}:{port}"
        return Told(msgspec.structs.replace(resource.status, hostnames=(host,), port=port, outsideAddress=outside))
    secret = SecretReference(
        name=default_user(resource), namespace=namespace, keys={"username": "username", "password": "password"}
    )
    status = msgspec.structs.replace(
        resource.status,
        hostnames=configuration.hostnames(resource),
        port=PORT,
        queueType=configuration.QUORUM,
        # Until all inputs are known, it is where it was.
        outsideAddress=facts.outside if facts is not None else resource.status.outsideAddress,
        defaultUser=DefaultUser(
            secretReference=secret, serviceReference=ServiceReference(name=name, namespace=namespace)
        ),
    )
    return Told(status)


def offer(resource: RabbitMq) -> BrokerServer:
    """Return what services learn of a broker; one that runs elsewhere may have users of other clouds."""
    apart = resource.metadata.uid[:8] if resource.spec.external is not None else ""
    return BrokerServer(resource.status.outsideAddress, apart)


def _user(resource: RabbitMq, password: Callable[[int], str]) -> Mapping[str, str]:
    return configuration.default_user(resource, password(32))


def _cookie(resource: RabbitMq, password: Callable[[int], str]) -> Mapping[str, str]:
    return {".erlang.cookie": password(32)}


def _deployed(resource: RabbitMq) -> bool:
    return resource.spec.external is None


SERVICE = Service(
    name="rabbitmq",
    kind=RabbitMq,
    facts=Facts,
    user="rabbitmq",
    components=(
        Component(
            "server",
            command=lambda _: SERVE,
            files=files,
            values=storage,
            description="The servers: a StatefulSet.",
            workload="StatefulSet",
            suffix="server",
            nodes="nodes",
            ports=(
                Port("amqp", PORT),
                Port("management", MANAGEMENT_PORT),
                Port("epmd", 4369),
                Port("distribution", 25672),
            ),
            probes={
                "startup": {**ALIVE, "periodSeconds": 1, "failureThreshold": 300},
                "readiness": {
                    "exec": {"command": READY},
                    "periodSeconds": 5,
                    "timeoutSeconds": 10,
                    "failureThreshold": 3,
                },
                "liveness": {**ALIVE, "periodSeconds": 20, "failureThreshold": 6},
            },
            data="/var/lib/rabbitmq/mnesia",
            own_values=OWN_VALUES,
        ),
    ),
    secrets=(
        Generated(name=default_user, content=_user, wanted=_deployed),
        Generated(name=lambda resource: f"{resource.metadata.name}-erlang-cookie", content=_cookie, wanted=_deployed),
    ),
    provides=Provides(BROKER, offer),
    outside=lambda resource: (resource.metadata.name, PORT),
    # The nodes form a cluster, and ask Kubernetes how many nodes it should have.
    network=Network(
        listens=(Listen(PORT, by=BROKER), Listen(MANAGEMENT_PORT, by=BY_OPERATORS)),
        peers=True,
        kubernetes=True,
        exposed=exposed,
    ),
    values=values,
    own_values={
        "secrets": described(
            "The names of Secrets that must exist before the pods start; if empty, those that the operator uses.",
            closed(SECRETS),
        ),
        **client_service("ClusterIP", "NodePort", "LoadBalancer"),
    },
    problems=problems,
    advice=advice,
    limits=limits,
    elsewhere=lambda resource: resource.spec.external is not None,
    tell=tell,
    unread=(
        "targetVersion",
        "podOverride",
        "service",
        "secretBackend",
        "skipPostDeploySteps",
        "override.statefulSet",
    ),
    objects=("nodes", "scripts"),
)
