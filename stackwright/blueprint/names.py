"""The names of the things that a service creates for itself. Pure.

All such names are made here, so that the code that creates a thing and the code that asks for its owner agree.
"""

from stackwright.api.base import CustomResource

# The longest names that the server allows.
LONGEST_SCHEMA = 64
LONGEST_USER = 80


def schema(database: str) -> str:
    """Return the name of the schema that a MariaDBDatabase stands for on its server."""
    return database.replace("-", "_").replace(".", "_")[:LONGEST_SCHEMA]


def database_user(account: str) -> str:
    """Return the name of the user on the server that is made for an account."""
    return account.replace("-", "_")[:LONGEST_USER]


def account_secret(account: str) -> str:
    """Return the name of the Secret created for an account that names no Secret."""
    return f"{account}-db-secret"


def notifications(resource: CustomResource) -> str:
    """Return the name of the TransportURL for a resource's notifications."""
    return f"{resource.metadata.name}-notifications"


def messaging(resource: CustomResource) -> str:
    """Return the name of the TransportURL through which a resource's components call each other."""
    return f"{resource.metadata.name}-messaging"
