"""Trying a cloud with Tempest: the pod that does it, what it tells, and its life from here."""
