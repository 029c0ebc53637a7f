"""Addresses and names of machines outside of the cluster.

    net_configs.py  NetConfig: whether the networks can be as they are, with the addresses that are in use
    ip_sets.py      IPSet: takes an address in each network, and keeps it
    dns_data.py     DNSData: whether its names can be served
    admission.py    what is refused when such a resource is written, and what cannot be deleted

Nothing here polls, and nothing holds a finalizer: Reservations go with their IPSet.
"""

from stackwright.controllers.addresses.admission import checks, hold
from stackwright.controllers.addresses.controllers import controllers

__all__ = ["checks", "controllers", "hold"]
