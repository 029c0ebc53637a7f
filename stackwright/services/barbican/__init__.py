"""Barbican, the key manager: it keeps secrets for the users of the cloud and for other services."""
