"""The kind with which a service gets a user, a virtual host and a URL on a message broker."""

from typing import Annotated, ClassVar, Literal

from stackwright.api.base import (
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Status,
    Value,
    describe,
    max_length,
    rule,
    shown,
)
from stackwright.api.forms import ObjectName

GROUP = "rabbitmq.openstack.org"
# Where a broker listens, and where its management API does.
PORT, MANAGEMENT_PORT = 5672, 15672


class TransportURLSpec(Value, frozen=True, kw_only=True):
    """Which broker, user and virtual host a service uses for its messages."""

    rabbitmqClusterName: Annotated[ObjectName, describe("The name of the RabbitMq resource.")]
    username: Annotated[
        str,
        max_length(255),
        describe(
            "The user of the service, which is created if it does not exist; empty for the broker's default "
            "user. If you change the name, a second user is created, and the first one is deleted when "
            "nothing uses it any more."
        ),
    ] = ""
    vhost: Annotated[
        str,
        max_length(255),
        describe("The virtual host, which is created if it does not exist; empty for the broker's default."),
    ] = ""
    deletionPolicy: Annotated[
        Literal["Retain", "Delete"],
        describe(
            "What happens to the user when this resource is deleted. Retain: it stays. Delete: it is "
            "deleted; one that another TransportURL names loses its rights in this virtual host. The "
            "virtual host always stays."
        ),
    ] = "Retain"
    userRef: Annotated[
        str,
        rule(
            "size(self) == 0",
            message="userRef is not supported yet; name the user in username",
            reason="FieldValueForbidden",
        ),
        max_length(253),
        describe("A RabbitMQUser resource to take the user from, instead of username."),
    ] = ""


class TransportURLStatus(Status, frozen=True, kw_only=True):
    """Where the URL is, and what it contains."""

    secretName: Annotated[str, describe("The Secret with the URL, under the key transport_url.")] = ""
    secretHash: Annotated[str, describe("A hash of that Secret's content.")] = ""
    previousSecretName: Annotated[str, describe("The Secret before a rotation, while it may still be in use.")] = ""
    rabbitmqUsername: Annotated[str, describe("The user that the URL names.")] = ""
    rabbitmqVhost: Annotated[str, describe("The virtual host that the URL names.")] = ""
    previousRabbitmqUsername: Annotated[str, describe("The user before a rotation, while it may still be in use.")] = ""
    rabbitmqUserRef: Annotated[str, describe("The RabbitMQUser resource behind that user, if there is one.")] = ""
    previousRabbitmqUserRef: Annotated[
        str, describe("The RabbitMQUser before a rotation, while it may still be in use.")
    ] = ""
    queueType: Annotated[str, describe("The type of queues that the broker creates.")] = ""


class TransportURL(CustomResource, frozen=True, kw_only=True):
    """A user and a virtual host on a message broker, and the Secret with the URL for oslo.messaging."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "TransportURL", "transporturls")
    definition: ClassVar[Definition] = shown(
        Column("Broker", ".spec.rabbitmqClusterName", description="The RabbitMq that it belongs to"),
        Column("Secret", ".status.secretName", priority=1, description="The Secret with the URL"),
    )
    conditions: ClassVar[tuple[str, ...]] = ("TransportURLReady",)

    spec: TransportURLSpec
    status: TransportURLStatus = TransportURLStatus()


KINDS: tuple[type[CustomResource], ...] = (TransportURL,)
