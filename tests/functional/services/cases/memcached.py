"""memcached."""

from stackwright.services.memcached.service import SERVICE
from tests.functional.services.case import ServiceCase

CASES = (ServiceCase(blueprint=SERVICE, name="memcached", least={}, ports={"": 11211}),)
