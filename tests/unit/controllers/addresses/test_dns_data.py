"""What a DNSData says of its names: those that are wrong, and that a name server has no room for them."""

import msgspec
import pytest

from stackwright.api.network import DNSData
from stackwright.blueprint.providers import NameServer
from stackwright.controllers.addresses import dns_data

NAMES = msgspec.convert(
    {
        "metadata": {"name": "storage", "namespace": "openstack"},
        "spec": {"hosts": [{"ip": "192.0.2.1", "hostnames": ["one"]}]},
    },
    DNSData,
)


@pytest.mark.parametrize(
    ("server", "full"),
    [
        pytest.param(NameServer((), "dnsdata", ("storage",)), True, id="it-has-no-room"),
        pytest.param(NameServer((), "dnsdata", ("other",)), False, id="it-has-no-room-for-others"),
        pytest.param(NameServer((), "edge", ("storage",)), False, id="it-said-so-before-it-served-others"),
    ],
)
def test_names_that_nobody_serves_say_so_themselves(server: NameServer, full: bool) -> None:
    found = dns_data.find_full(NAMES, {"DNSMasq dns": server})
    waits = dns_data.decide(NAMES, found).waits
    assert [(wait.reason, wait.condition) for wait in waits] == ([("TooManyNames", "ServiceConfigReady")] * full)
    assert all("DNSMasq dns has no room for all names with the value 'dnsdata'" in wait.message for wait in waits)
