"""The kinds of Nova: the whole, a cell, and each service, which also works alone."""

from stackwright.api.base import CustomResource
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.services import SERVICE_KINDS

KINDS: tuple[type[CustomResource], ...] = (Nova, NovaCell, *SERVICE_KINDS, NovaExternalCompute)
