"""Stackwright builds and runs OpenStack on Kubernetes."""
