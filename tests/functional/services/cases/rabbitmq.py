"""RabbitMQ."""

from stackwright.services.rabbitmq.service import SERVICE
from tests.functional.services.case import CLASS, Refusal, ServiceCase

CASES = (
    ServiceCase(
        blueprint=SERVICE,
        name="rabbitmq",
        least={},
        further={"persistence": {"storageClassName": CLASS}},
        ports={"": 5672},
        stays=frozenset(
            {
                "Secret rabbitmq-default-user",
                "Secret rabbitmq-erlang-cookie",
                "PersistentVolumeClaim data-rabbitmq-server-0",
            }
        ),
        refused=(Refusal({"tls": {"secretName": "certificate"}}, "TLS is not supported yet"),),
    ),
)
