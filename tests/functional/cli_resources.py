"""Resources whose operators are played, for the commands that read them."""

from typing import Any

from stackwright.kube import clock
from stackwright.kube.client import Client

SINCE = "2026-11-15T10:00:00Z"


async def tell(
    client: Client,
    resource: Any,
    status: str,
    severity: str = "",
    message: str = "Setup complete",
    *,
    since: str = SINCE,
) -> None:
    """Write a state as an operator would; without a time it came just now."""
    condition = {"type": "Ready", "status": status, "severity": severity, "reason": "Told", "message": message}
    body = {
        "metadata": {"name": resource.metadata.name, "namespace": resource.metadata.namespace},
        "status": {
            "observedGeneration": resource.metadata.generation,
            "conditions": [{**condition, "lastTransitionTime": since or clock.seconds(clock.now())}],
        },
    }
    await client.apply(type(resource), body, subresource="status", field_manager="operator")
