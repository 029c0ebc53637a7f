"""Which broker a TransportURL is of, and how its operator logs in there."""

from dataclasses import dataclass, field

from stackwright.adapters.errors import AdapterError
from stackwright.api.rabbitmq import MANAGEMENT_PORT, PORT
from stackwright.blueprint.secret_values import read_value
from stackwright.controllers.absent_servers import Absent, explained
from stackwright.controllers.looks import Looker
from stackwright.kube import conditions
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait
from stackwright.services.rabbitmq import configuration
from stackwright.services.rabbitmq.kinds import RabbitMq

URL_READY = "TransportURLReady"
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
    # Tells an external broker's resource from one of the same name in another cluster.
    uid: str = ""

    def explain(self, error: AdapterError) -> Exception:
        """Return an adapter's error as a reconcile raises it."""
        source = f"RabbitMq {self.name} takes them from Secret {self.source}"
        return explained(error, URL_READY, login=URL_READY, source=source, again=TRY_AGAIN)


def find_broker(name: str, look: Looker) -> Broker | Absent:
    """Return the broker of a RabbitMq in the namespace of the pass, or why there is none."""
    resource = look(RabbitMq, name)
    if resource is None:
        message = f"RabbitMq {name} does not exist; create it, or correct spec.rabbitmqClusterName"
        return Absent(Wait("RabbitMqMissing", message, URL_READY, ends=Ends.BY_AUTHOR), gone=True)
    if resource.deleting:
        return Absent(Wait("RabbitMqGoing", f"RabbitMq {name} is being deleted", URL_READY), gone=True)
    external = resource.spec.external
    source = external.secret if external is not None else f"{name}-default-user"
    secret = look(Secret, source)
    # The Secret of a broker of ours is made with it.
    ends = Ends.BY_AUTHOR if external is not None else Ends.BY_ITSELF
    user, password = (read_value(secret, source, key, URL_READY, ends=ends) for key in ("username", "password"))
    if isinstance(user, Wait) or isinstance(password, Wait):
        return Absent(user if isinstance(user, Wait) else password)  # type: ignore[arg-type]  # one of them is
    inside = f"http://{name}.{resource.metadata.namespace}.svc:{MANAGEMENT_PORT}"
    return Broker(
        name=name,
        namespace=resource.metadata.namespace,
        hosts=hosts_of(resource),
        port=external.port if external is not None else PORT,
        management=external.managementURL if external is not None else inside,
        user=user,
        password=password,
        source=source,
        queue_type=configuration.queue_type(resource),
        external=external is not None,
        ready=is_ready(resource),
        uid=resource.metadata.uid if external is not None else "",
    )


def is_ready(resource: RabbitMq) -> bool:
    """Return whether a broker says that it is ready, and says so of its present spec."""
    current = resource.status.observedGeneration >= resource.metadata.generation
    return current and conditions.is_true(resource.status.conditions)


def hosts_of(resource: RabbitMq) -> tuple[str, ...]:
    """Return the hosts that a URL names: those that the status tells, else what they are called."""
    told = resource.status.serviceHostnames or resource.status.hostnames
    return told or configuration.hostnames(resource)
