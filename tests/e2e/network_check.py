"""Whether Neutron and OVN say the same, by Neutron's own utility."""

import re

from tests.e2e.cloud import Cloud

# What the utility writes without having compared anything; docs/neutron.md says why.
SAID_ALWAYS = re.compile(
    r"found both in OVN SB DB and Neutron|QoS policy missing|pvlan_pg_drop not found|No relevant dns_servers"
)


def differences(cloud: Cloud) -> list[str]:
    """Return what the utility finds."""
    log = cloud.stackwright("action", "run", "neutron", "check-networks")
    assert "sync completed" in log
    found = [line for line in log.splitlines() if " WARNING " in line or " ERROR " in line]
    return [line for line in found if not SAID_ALWAYS.search(line)]
