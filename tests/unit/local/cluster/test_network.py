"""What a node's cables are given, without laying any."""

import re

from stackwright.local.cluster.network import hardware_address


def test_a_hardware_address_is_the_same_every_time_and_each_ones_own() -> None:
    names = [f"sw-{name} eth0" for name in ("default", "trial", "a")]
    given = [hardware_address(name) for name in names]
    assert given == [hardware_address(name) for name in names]
    assert len(set(given)) == len(names)
    # 02 is an address that was given by hand, to a single card.
    assert all(re.fullmatch(r"02(:[0-9a-f]{2}){5}", address) for address in given)
