"""What services are told by us is something that they know and can read."""

from typing import Any

import msgspec
import pytest

from stackwright.blueprint import configuration, options
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.service import Service
from stackwright.services.barbican.service import SERVICE as BARBICAN
from stackwright.services.glance.service import SERVICE as GLANCE
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE as KEYSTONE
from stackwright.services.keystone.settings import KeystoneFacts
from stackwright.services.placement.service import SERVICE as PLACEMENT
from tests.unit.services import barbicans, glances, placements

IDENTITY = KeystoneFacts(
    name="keystone",
    namespace="openstack",
    image="keystone:1",
    database=DatabaseFacts("openstack.svc", 3306, "keystone", "keystone", "secret"),
    cache=CacheFacts(("memcached-0:11211",)),
    notifications=BrokerFacts("rabbit://user:hop@rabbitmq:5672/"),
)
SAID = {"metadata": {"name": "keystone"}, "spec": {"databaseInstance": "db", "secret": "s"}}


@pytest.mark.parametrize(
    ("service", "resource", "facts"),
    [
        pytest.param(KEYSTONE, msgspec.convert(SAID, KeystoneAPI), IDENTITY, id="keystone"),
        pytest.param(PLACEMENT, placements.placement(), placements.FACTS, id="placement"),
        pytest.param(GLANCE, glances.glance(), glances.facts(), id="glance"),
        pytest.param(BARBICAN, barbicans.barbican(), barbicans.FACTS, id="barbican"),
    ],
)
def test_our_own_settings_are_options_with_values_that_they_can_have(
    service: Service[Any, Any], resource: Any, facts: Any
) -> None:
    known = options.of(service)
    assert known is not None
    files = {
        name: text
        for name, text in configuration.secret_data(service, resource, facts).items()
        if name.endswith(f"01-{service.name}.conf")
    }
    assert files
    assert {name: found for name, text in files.items() if (found := options.check(known, text))} == {}
