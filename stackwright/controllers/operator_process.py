"""A process that is an operator: its controllers under a lease, its webhooks, and the server that answers probes."""

import contextlib
import errno
import socket
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import structlog

from stackwright.controllers import roster
from stackwright.controllers.controlplane import ServiceOperator, ServiceOperators
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.service import Environment
from stackwright.controllers.teams import lease_of
from stackwright.kube.admission import serving
from stackwright.kube.admission.certificate_sources import SecretSettings
from stackwright.kube.admission.checks import Webhook
from stackwright.kube.admission.registration import ServiceTarget, Settings, UrlTarget
from stackwright.kube.admission.serving import Serving
from stackwright.kube.builtin import MutatingWebhookConfiguration, Namespace, ValidatingWebhookConfiguration
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.controller import Controller
from stackwright.kube.crd import served
from stackwright.kube.errors import ConfigError, Denied, KindNotInstalled, KubeError
from stackwright.kube.health import HealthServer
from stackwright.kube.leader import Election
from stackwright.kube.resource import CustomResource, JsonObject, R
from stackwright.kube.runtime import Runtime, serve
from stackwright.kube.runtime import Settings as RuntimeSettings

_log = structlog.get_logger()

# How many fields that a definition lacks are named.
NAMED = 5
# How the webhooks of an operator outside of the cluster are called.
OUTSIDE = "stackwright-outside"
# What ends the name of each webhook.
SUFFIX = "openstack.org"
# How often each lease is renewed or tried for: one process may hold a dozen.
RETRY_SECONDS = 3.0
ELECTOR_CONNECTIONS = 8
# The API server's patience with a webhook that does not answer: whoever writes a resource waits as long.
WEBHOOK_SECONDS = 5
EVERYWHERE, LOOPBACK = "0.0.0.0", "127.0.0.1"  # noqa: S104  the kubelet comes from outside of the pod


@dataclass(frozen=True)
class Webhooks:
    """Where admission webhooks are served. `service` is the Service in front of them, "" outside of the cluster."""

    service: str = ""
    port: int = 9443


@dataclass(frozen=True)
class Operation:
    """What an operator does: which services, in which namespaces (all when empty), and how it is known to the cluster.

    `system` is the namespace of the operator itself: of its leases, and of the certificates of its webhooks.
    `operators` are those of single services, where this one starts them.
    """

    environment: Environment
    system: str
    oldest: tuple[int, int]
    inside: bool = True
    services: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    election: bool = True
    health_port: int = 8080
    webhooks: Webhooks | None = None
    operators: ServiceOperators | None = None
    # Seconds in which the server has to answer the first question.
    patience: float = 20.0


async def operate(connection: Connection, operation: Operation) -> None:
    """Run until a signal says that it is enough."""
    async with Client(connection, timeout=operation.patience, patience=operation.patience) as first:
        # A missing server is reported at once; the operator's own requests are more patient.
        await first.require_version(operation.oldest)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(connection))
        # A renewal of a lease must never wait behind other requests.
        elector = await stack.enter_async_context(Client(connection, limit=ELECTOR_CONNECTIONS))
        dialler = Dialler(client, inside=operation.inside)
        known = roster.assemble(dialler, operation.environment, operation.operators)
        controllers = roster.choose(known, operation.services)
        await require_kinds(client, controllers, operation.namespaces)
        note = await outdated_definitions(client, controllers)
        if not operation.inside:
            await _make_namespace(client, operation.system)
            stack.push_async_callback(_unregister, client, registration_name(operation))
        await _serve(_runtime(client, elector, controllers, operation, note), operation)


async def _make_namespace(client: Client, name: str) -> None:
    if await client.find(Namespace, name) is None:
        await client.apply(Namespace, {"metadata": {"name": name}})


async def require_kinds(client: Client, controllers: Iterable[Controller], namespaces: tuple[str, ...]) -> None:
    """Raise a ConfigError if the cluster lacks one of the kinds that the controllers keep or read."""
    missing = []
    for kind in _kinds(controllers):
        try:
            await _look(client, kind, namespaces or ("",))
        except KindNotInstalled:
            missing.append(kind.kind.crd_name)
    if missing:
        raise ConfigError(
            f"The cluster at {client.connection.server} does not know {', '.join(missing)}; "
            "install the definitions first: stackwright crds --install"
        )


async def outdated_definitions(client: Client, controllers: Iterable[Controller]) -> str:
    """Return a sentence where the cluster's definitions do not know fields of ours, and log it; empty where they do.

    The server drops such a field whenever it is written: what a user says there has no effect, and what a status says
    there is written again at each pass.
    """
    found = await served.unknown_fields(client, _kinds(controllers))
    if not found:
        return ""
    listed = "; ".join(f"{name} lacks {', '.join(paths[:NAMED])}{_more(paths)}" for name, paths in found.items())
    sentence = (
        f"The definitions in the cluster are older than this operator, and the server drops what they do not know: "
        f"{listed}. Install those of this version: stackwright crds --install"
    )
    _log.warning(sentence)
    return sentence


def _more(paths: tuple[str, ...]) -> str:
    return f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""


def _kinds(controllers: Iterable[Controller]) -> list[type[CustomResource]]:
    """Return our kinds that are kept or read: one definition that is missing would stop whoever reads it."""
    kinds = {kind for controller in controllers for kind in controller.kinds if issubclass(kind, CustomResource)}
    return sorted(kinds, key=lambda kind: kind.kind.crd_name)


async def _look(client: Client, kind: type[CustomResource], namespaces: tuple[str, ...]) -> None:
    """Ask for one object, in the first namespace that we may look at; the caches leave the others out, and say so."""
    for namespace in namespaces[:-1]:
        try:
            await anext(aiter(client.pages(kind, namespace, page=1)))
        except Denied:
            continue
        return
    await anext(aiter(client.pages(kind, namespaces[-1], page=1)))


def _runtime(
    client: Client, elector: Client, controllers: tuple[Controller, ...], operation: Operation, note: str = ""
) -> Runtime:
    def list_known(kind: type[R], namespace: str | None) -> list[R]:
        try:
            return runtime.informers.store(kind).list(namespace)
        except LookupError:
            return []

    webhooks = roster.webhooks(controllers, list_known, operation.operators, operation.environment.images)
    admitting = _serving(client, operation, webhooks)
    # Outside a cluster only this machine asks; in a pod the kubelet does, and a NetworkPolicy keeps others away.
    health = HealthServer(host=EVERYWHERE if operation.inside else LOOPBACK, port=operation.health_port)
    if note:
        health.note("definitions", note)
    runtime = Runtime(
        client,
        controllers,
        namespace=operation.namespaces,
        places={ServiceOperator: operation.system},
        election=_elections(elector, controllers, operation) if operation.election else None,
        services=[] if admitting is None else [partial(serving.serve, client, admitting)],
        health=health,
        settings=RuntimeSettings(own_process=True),
    )
    return runtime


def _elections(
    elector: Client, controllers: Iterable[Controller], operation: Operation
) -> Callable[[Controller], Election]:
    """Return the election of each controller: one for each service, so that only one works on it, whoever runs it."""
    teams = {roster.team_of(controller) for controller in controllers}
    identity, system = socket.gethostname(), operation.system
    named = () if operation.inside else operation.namespaces
    found = {
        team: Election(elector, lease_of(team, named), system, identity, retry=RETRY_SECONDS) for team in sorted(teams)
    }
    return lambda controller: found[roster.team_of(controller)]


def _serving(client: Client, operation: Operation, webhooks: tuple[Webhook[Any], ...]) -> Serving | None:
    """Return how webhooks are served: behind a Service inside of the cluster, at an address of ours outside."""
    if operation.webhooks is None:
        return None
    service, port = operation.webhooks.service, operation.webhooks.port
    target: ServiceTarget | UrlTarget
    if operation.inside:
        target = ServiceTarget(service, operation.system)
        names = target.names
    else:
        address = own_address(client.connection.server)
        target = UrlTarget(f"https://[{address}]:{port}" if ":" in address else f"https://{address}:{port}")
        names = (address,)
    registration = Settings(
        name=registration_name(operation),
        suffix=SUFFIX,
        target=target,
        timeout=WEBHOOK_SECONDS,
        namespaces=selector(operation.namespaces),
    )
    secret = SecretSettings(service or OUTSIDE, operation.system, names)
    return Serving(webhooks, registration, secret, port=port)


def selector(namespaces: tuple[str, ...]) -> JsonObject:
    """Return what selects these namespaces by their names, and all where there are none."""
    if not namespaces:
        return {}
    named = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": sorted(namespaces)}
    return {"matchExpressions": [named]}


def registration_name(operation: Operation) -> str:
    """Return the name of the webhooks' registration, of which a cluster has one for each operator.

    Inside of the cluster it is part of the operators' chart, and goes with it.
    """
    service = operation.webhooks.service if operation.webhooks is not None else ""
    return f"{service or OUTSIDE}.{operation.system}"


def own_address(server: str) -> str:
    """Return the address of this machine that a server sees; nothing is sent to find out."""
    place = urlsplit(server)
    found = socket.getaddrinfo(place.hostname, place.port or 443, type=socket.SOCK_DGRAM)[0]
    with socket.socket(found[0], socket.SOCK_DGRAM) as probe:
        probe.connect(found[4])
        return str(probe.getsockname()[0])


async def _serve(runtime: Runtime, operation: Operation) -> None:
    try:
        await serve(runtime)
    except BaseExceptionGroup as group:
        taken, others = group.split(_is_taken)
        if taken is None or others is not None:
            raise
        ports = f"{operation.health_port} (--health-port)"
        if operation.webhooks is not None:
            ports += f" or {operation.webhooks.port} (--webhook-port)"
        raise ConfigError(f"Another program listens on port {ports}; choose another one.") from group


def _is_taken(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EADDRINUSE


async def _unregister(client: Client, name: str) -> None:
    """Take the webhooks of an operator outside of the cluster away: nobody answers there any more."""
    with contextlib.suppress(KubeError):
        await client.delete(MutatingWebhookConfiguration, name)
        await client.delete(ValidatingWebhookConfiguration, name)
