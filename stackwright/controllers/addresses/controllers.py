"""The controllers of networks, addresses and names."""

from stackwright.controllers.addresses import dns_data, ip_sets, net_configs
from stackwright.kube.controller import Controller


def controllers() -> tuple[Controller, ...]:
    """Return the controllers of this folder."""
    return (net_configs.controller(), ip_sets.controller(), dns_data.controller())
