"""What OVN is made of."""

from typing import Any

from stackwright.blueprint.service import Service
from stackwright.services.ovn import controller, database, northd

SERVICES: tuple[Service[Any, Any], ...] = (database.SERVICE, northd.SERVICE, controller.SERVICE)
