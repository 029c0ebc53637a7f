"""The controllers of schemas and accounts, and the kinds that they watch."""

from dataclasses import replace

from stackwright.adapters import mariadb
from stackwright.adapters.mariadb import Connect
from stackwright.api.mariadb import MariaDBDatabase
from stackwright.controllers import ownership
from stackwright.controllers.database.account import accounts
from stackwright.controllers.database.schema import databases
from stackwright.controllers.database.server import World
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.looks import Interests
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.controller import Controller
from stackwright.services.mariadb.kinds import Galera

# Seconds after which a server is checked again, because a server does not report changes.
EVERY = 45.0


def controllers(
    dialler: Dialler, connect: Connect = mariadb.connect, *, every: float = EVERY
) -> tuple[Controller, ...]:
    """Return the controllers of MariaDBDatabase and MariaDBAccount."""
    of_databases, of_accounts = Interests(), Interests()
    of_both = (
        replace(databases, every=every).controller(
            lambda context: World(context, dialler, connect, of_databases),
            watches=of_databases.watches((Galera, Secret, ConfigMap)),
        ),
        replace(accounts, every=every).controller(
            lambda context: World(context, dialler, connect, of_accounts),
            watches=of_accounts.watches((Galera, MariaDBDatabase, Secret, ConfigMap)),
        ),
    )
    return tuple(replace(one, reads=ownership.claiming()) for one in of_both)
