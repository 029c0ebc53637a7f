"""Which broker a TransportURL is of, and how its operator logs in there."""

import base64
import binascii
from dataclasses import dataclass, field

from stackwright.adapters.errors import AdapterError, Refused, Unavailable
from stackwright.controllers.looking import Looker
from stackwright.controllers.translation import REFUSED_SECONDS, translate
from stackwright.kube import conditions
from stackwright.kube.builtin import Secret
from stackwright.kube.errors import Retry
from stackwright.kube.plan import Wait
from stackwright.services.rabbitmq import configuration
from stackwright.services.rabbitmq.kinds import RabbitMq

URL_READY = "TransportURLReady"
MANAGEMENT_PORT = 15672
# Seconds after which a broker that did not answer is asked again.
TRY_AGAIN = 5.0


@dataclass(frozen=True)
class Broker:
    """A broker, and its administrator's login.

    `ready` says that all its nodes serve; while they do not, its hosts are not taken over into any URL.
    """

    name: str
    namespace: str
    hosts: tuple[str, ...]
    port: int
    management: str
    user: str
    password: str = field(repr=False)
    source: str = ""
    queue_type: str = "quorum"
    external: bool = False
    ready: bool = True

    def explain(self, error: AdapterError) -> Exception:
        """Return an adapter's error as a reconcile raises it; a refused login says where the password is from."""
        match error:
            case Refused():
                message = f"{error}; RabbitMq {self.name} takes them from Secret {self.source}"
                return Retry(message, reason="Refused", condition=URL_READY, after=REFUSED_SECONDS)
            case Unavailable():
                # A broker that was down for long is found again soon, and not when a grown backoff has passed.
                return Retry(str(error), reason="Unavailable", condition=URL_READY, after=TRY_AGAIN)
        return translate(error, URL_READY)


@dataclass(frozen=True)
class Absent:
    """There is no broker to ask: `wait` says why; `gone` that none will come back under what we know of it."""

    wait: Wait
    gone: bool = False


def find_broker(name: str, look: Looker) -> Broker | Absent:
    """Return the broker of a RabbitMq in the namespace of the pass, or why there is none."""
    resource = look(RabbitMq, name)
    if resource is None:
        message = f"RabbitMq {name} does not exist; create it, or correct spec.rabbitmqClusterName"
        return Absent(Wait("RabbitMqMissing", message, URL_READY), gone=True)
    if resource.deleting:
        return Absent(Wait("RabbitMqGoing", f"RabbitMq {name} is being deleted", URL_READY), gone=True)
    external = resource.spec.external
    source = external.secret if external is not None else f"{name}-default-user"
    secret = look(Secret, source)
    user, password = (read_value(source, secret, key) for key in ("username", "password"))
    if isinstance(user, Wait) or isinstance(password, Wait):
        return Absent(user if isinstance(user, Wait) else password)  # type: ignore[arg-type]  # one of them is
    inside = f"http://{name}.{resource.metadata.namespace}.svc:{MANAGEMENT_PORT}"
    return Broker(
        name=name,
        namespace=resource.metadata.namespace,
        hosts=hosts_of(resource),
        port=external.port if external is not None else configuration.PORT,
        management=external.managementURL if external is not None else inside,
        user=user,
        password=password,
        source=source,
        queue_type=configuration.QUEUE_TYPES[resource.spec.queueType],
        external=external is not None,
        ready=is_ready(resource),
    )


def is_ready(resource: RabbitMq) -> bool:
    """Return whether a broker says that it is ready, and says so of its present spec."""
    current = resource.status.observedGeneration >= resource.metadata.generation
    return current and conditions.is_true(resource.status.conditions)


def hosts_of(resource: RabbitMq) -> tuple[str, ...]:
    """Return the hosts that a URL names: those that the status tells, else what they are called."""
    told = resource.status.serviceHostnames or resource.status.hostnames
    return told or configuration.hostnames(resource)


def read_value(name: str, secret: Secret | None, key: str) -> str | Wait:
    """Return a value of a Secret, or what is to be waited for."""
    if secret is None:
        return Wait("SecretMissing", f"Secret {name} does not exist; create it with the key {key}", URL_READY)
    try:
        value = base64.b64decode(secret.data.get(key, ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return Wait("SecretInvalid", f"Secret {name}: the value of the key {key} is no text; correct it", URL_READY)
    if not value:
        return Wait("SecretIncomplete", f"Secret {name} has no value under the key {key}; add it", URL_READY)
    return value
