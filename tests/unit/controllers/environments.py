"""When and where services are decided on paper."""

from datetime import UTC, datetime
from pathlib import Path

from stackwright.blueprint.images import ComponentImage
from stackwright.controllers.service.environment import Environment

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)

ENVIRONMENT = Environment(
    {
        name: ComponentImage(f"{name}:1", sudo=False, ours=True)
        for name in ("keystone", "mariadb", "memcached", "rabbitmq")
    },
    Path("charts"),
)
