"""Keystone's API, version 3, over HTTP: the catalog, users, projects and roles, and whether a password works.

    values.py       what Keystone has, as plain values
    connections.py  HTTP connections to the address that the caller chooses
    session.py      requests as one user: token, renewal, remembered answers, errors
    keystone.py     what we ask of Keystone
    other_api.py    what is read from other APIs of the same cloud

No secret stands in an error, a `repr` or a log line of this package.
"""

from stackwright.adapters.identity.keystone import Keystone
from stackwright.adapters.identity.other_api import OtherApi
from stackwright.adapters.identity.session import Session
from stackwright.adapters.identity.values import Credentials, Endpoint, Project, RoleAssignment, Service, Token, User

__all__ = [
    "Credentials",
    "Endpoint",
    "Keystone",
    "OtherApi",
    "Project",
    "RoleAssignment",
    "Service",
    "Session",
    "Token",
    "User",
]
