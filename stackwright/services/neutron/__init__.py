"""Neutron: networks for servers, with OVN below it."""
