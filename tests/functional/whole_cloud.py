"""A cloud with a Keystone in it, whole: the umbrella, its services, and a database server that outlives operators."""

import contextlib
import dataclasses
import itertools
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

from stackwright import services
from stackwright.adapters.mariadb import MariaDB, ServerLogin
from stackwright.blueprint.service import Service
from stackwright.controllers import database
from stackwright.controllers.controlplane import controller as umbrella
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.service import Environment, controllers
from stackwright.kube.builtin import StorageClass
from stackwright.kube.client import Client
from stackwright.kube.controller import Controller
from stackwright.services.keystone.service import SERVICE as KEYSTONE
from stackwright.services.mariadb.service import SERVICE as MARIADB
from stackwright.services.memcached.service import SERVICE as MEMCACHED
from stackwright.simulator import Script, simulated, storage_class
from tests.fakes.mariadb import FakeMariaDB
from tests.functional import neighbours
from tests.functional.cloud import environment
from tests.functional.conftest import fresh_namespace
from tests.functional.watching import PATIENCE, eventually, is_ready

NAME = "cloud"
CLASS = "played"
ROOT_SECRET = "openstack-mariadb-root"
SUCCEEDS = Script()
# What a cloud with a Keystone and nothing else is made of.
PARTS = (KEYSTONE, MARIADB, MEMCACHED)


class World:
    """What outlives an operator: the database server. Operators run the controllers of some services."""

    def __init__(self, kubernetes: dict[str, Path], blueprints: Iterable[Service[Any, Any]] = PARTS) -> None:
        self._kubernetes = kubernetes
        self._blueprints = tuple(blueprints)
        self._password = environment(kubernetes).source(ROOT_SECRET).password()
        self.server = FakeMariaDB(password=self._password)
        self._servers: dict[str, FakeMariaDB] = {}

    def connect(self, login: ServerLogin) -> MariaDB:
        """Return a way to the server of a host: each cloud has its own, and the first one is `server`."""
        if login.host not in self._servers:
            self._servers[login.host] = FakeMariaDB(password=self._password) if self._servers else self.server
        return self._servers[login.host].connect(login)

    def controllers(self, client: Client, life: int) -> tuple[Controller, ...]:
        """Return the controllers of an operator, which in another life makes up other passwords."""
        numbers = itertools.count()
        return (
            umbrella(lambda length: f"life-{life}-password-{next(numbers)}-".ljust(length, "p")),
            *controllers(self._blueprints, self._environment(life)),
            *database.controllers(Dialler(client, inside=True), self.connect),
        )

    def _environment(self, life: int) -> Environment:
        ours, first = environment(self._kubernetes, seed=life), environment(self._kubernetes)

        def chance(purpose: str) -> Callable[[int], bytes]:
            # The server in memory was set up with what its Secret will be.
            return (first if purpose == ROOT_SECRET else ours).random(purpose)

        return dataclasses.replace(ours, random=chance)


async def ask_for_cloud(client: Client, namespace: str) -> None:
    spec = {"secret": "osp-secret", "passwordPolicy": "Generate", "storageClass": CLASS, "keystone": {}}
    body = {"metadata": {"name": NAME, "namespace": namespace}, "spec": spec}
    await client.apply(services.control_plane(), body, field_manager="user")


async def until_ready(client: Client, namespace: str, *, patience: float = PATIENCE) -> None:
    await eventually(client, services.control_plane(), NAME, namespace, is_ready, patience=patience)


@contextlib.asynccontextmanager
async def place(client: Client, name: str, script: Script = SUCCEEDS) -> AsyncIterator[str]:
    await client.apply(StorageClass, storage_class(CLASS))
    namespace = await fresh_namespace(client, name)
    async with simulated(client, namespace, script), neighbours.nodes_agree(client, namespace):
        yield namespace
