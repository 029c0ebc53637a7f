"""RabbitMQ in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section
from stackwright.services.rabbitmq.kinds import RabbitMq

SECTION = Section(
    name="rabbitmq",
    kind=RabbitMq,
    instance="rabbitmq",
    condition="OpenStackControlPlaneRabbitMQReady",
    description="The message brokers of the cloud.",
    several=True,
    infrastructure=True,
    handed_down=(
        HandedDown("persistence.storageClassName", of="storageClass"),
        HandedDown("nodeSelector"),
        HandedDown("topologyRef"),
    ),
    external="external",
)
