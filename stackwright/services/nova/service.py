"""The services of Nova: the whole, a cell, and what runs in both."""

from stackwright.services.nova.api import API
from stackwright.services.nova.cell import CELL
from stackwright.services.nova.compute import COMPUTE
from stackwright.services.nova.conductor import CONDUCTOR
from stackwright.services.nova.metadata import METADATA
from stackwright.services.nova.nova import NOVA
from stackwright.services.nova.novncproxy import NOVNCPROXY
from stackwright.services.nova.scheduler import SCHEDULER

SERVICES = (NOVA, CELL, API, SCHEDULER, CONDUCTOR, METADATA, NOVNCPROXY, COMPUTE)
