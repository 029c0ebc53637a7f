"""What Keystone has, as plain values."""

from dataclasses import dataclass, field

# The domain that every Keystone has from the beginning, by its id.
DOMAIN = "default"


@dataclass(frozen=True)
class Credentials:
    """Who logs in, with which password, for which project; the password is never shown."""

    user: str
    password: str = field(repr=False)
    project: str = ""


@dataclass(frozen=True)
class Token:
    """What a login gives, and for how many seconds it is good."""

    text: str = field(repr=False)
    seconds: float = 0.0


@dataclass(frozen=True)
class Service:
    """An entry of the catalog; `made_for` is the resource that it was made for, if it carries that mark."""

    id: str
    type: str
    name: str
    description: str = ""
    enabled: bool = True
    made_for: str = ""


@dataclass(frozen=True)
class Endpoint:
    """Where a service is found, for one sort of clients; `made_for` as of a service."""

    id: str
    service_id: str
    region: str
    interface: str
    url: str
    enabled: bool = True
    made_for: str = ""


@dataclass(frozen=True)
class Project:
    """What roles are held on."""

    id: str
    name: str
    enabled: bool = True


@dataclass(frozen=True)
class User:
    """A user; `made_for` as in a service."""

    id: str
    name: str
    description: str = ""
    enabled: bool = True
    made_for: str = ""


@dataclass(frozen=True)
class RoleAssignment:
    """A role that a user holds on a project."""

    user_id: str
    role_id: str
