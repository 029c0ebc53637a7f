"""The names of the things that a service creates for itself. Pure.

All such names are made here, so that the code that creates a thing and the code that asks for its owner agree.
"""

import hashlib

from stackwright.api.base import CustomResource

# The longest names that the server allows.
LONGEST_SCHEMA = 64
LONGEST_USER = 80
# A Job's name becomes a label of its pods. A CronJob adds a dash and ten digits to its own, and makes Jobs.
LONGEST_JOB = 63
LONGEST_CRON_JOB = 52


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


def job(release: str, part: str, digest: str) -> str:
    """Return the name of a Job: that of its release, of what it does, and a digest of what it is done with.

    The library chart makes the same name (`stackwright.jobName`).
    """
    return f"{before_digest(release, part, len(digest))}-{digest}"


def before_digest(release: str, part: str, digest: int = 10) -> str:
    """Return how the name of a Job begins, whose digest has so many characters."""
    return shorten(f"{release}-{part}", LONGEST_JOB - digest - 1)


def cron_job(release: str, part: str) -> str:
    """Return the name of a CronJob, as the library chart makes it."""
    return shorten(f"{release}-{part}", LONGEST_CRON_JOB)


def shorten(name: str, most: int) -> str:
    """Return a name that is not longer than that; one that was too long ends in a digest of the whole."""
    if len(name) <= most:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: most - len(digest) - 1].removesuffix('-')}-{digest}"
