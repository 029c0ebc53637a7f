"""What the things are called that a service asks for in its own name. Pure.

Names are made here and nowhere else, so that whoever makes a thing and whoever asks to whom it belongs agree.
"""

from stackwright.api.base import CustomResource

# As long as the server lets them be.
LONGEST_SCHEMA = 64
LONGEST_USER = 80


def schema(database: str) -> str:
    """Return the name of the schema that a MariaDBDatabase stands for on its server."""
    return database.replace("-", "_").replace(".", "_")[:LONGEST_SCHEMA]


def database_user(account: str) -> str:
    """Return the name of the user on the server that is made for an account."""
    return account.replace("-", "_")[:LONGEST_USER]


def account_secret(account: str) -> str:
    """Return the name of the Secret that is made for an account which names none."""
    return f"{account}-db-secret"


def notifications(resource: CustomResource) -> str:
    """Return the name of the TransportURL for a resource's notifications."""
    return f"{resource.metadata.name}-notifications"


def messaging(resource: CustomResource) -> str:
    """Return the name of the TransportURL by which a resource's parts call each other."""
    return f"{resource.metadata.name}-messaging"
