"""A Nova with cells: what it needs around it is played, and what a user asks for."""

import contextlib
from collections.abc import AsyncIterator

from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.rabbitmq.kinds import RabbitMq
from tests.functional import neighbours

NAME = "nova"
SECRET = "osp-secret"
PASSWORDS = ("NovaPassword", "MetadataSecret", "MetadataCellsSecret", "AdminPassword")


async def prepare(client: Client, namespace: str) -> None:
    """Make a database server, a broker, a cache and a Keystone that are ready, and the passwords."""
    metadata = {"name": SECRET, "namespace": namespace}
    content = dict.fromkeys(PASSWORDS, "the-word-of-nova")
    await client.create(Secret, {"metadata": metadata, "stringData": content})
    await neighbours.database_server(client, namespace)
    await neighbours.cache(client, namespace)
    broker = {"metadata": {"name": "rabbitmq", "namespace": namespace}, "spec": {}}
    await neighbours.tell(client, await client.create(RabbitMq, broker), {})
    keystone = {"name": "keystone", "namespace": namespace}
    spec = {"databaseInstance": "openstack", "secret": SECRET}
    made = await client.create(KeystoneAPI, {"metadata": keystone, "spec": spec})
    urls = {interface: f"http://keystone-{interface}.{namespace}.svc:5000" for interface in ("public", "internal")}
    await neighbours.tell(client, made, {"apiEndpoints": urls, "region": "regionOne"})


@contextlib.asynccontextmanager
async def played(client: Client, namespace: str) -> AsyncIterator[None]:
    """Play the operators that Nova needs: of databases, of logins to the broker, and of Keystone's catalog."""
    async with (
        neighbours.schemas(client, namespace),
        neighbours.broker(client, namespace),
        neighbours.catalog(client, namespace),
    ):
        yield


async def ask(client: Client, namespace: str, cells: int) -> None:
    """Ask for a Nova with cell0 and so many cells more; each has a database and a virtual host of its own."""
    templates: JsonObject = {"cell0": {"cellDatabaseInstance": "openstack"}}
    for number in range(1, cells + 1):
        bus = {"cluster": "rabbitmq", "vhost": f"cell{number}"}
        templates[f"cell{number}"] = {"cellDatabaseInstance": "openstack", "messagingBus": bus}
    spec = {"secret": SECRET, "apiDatabaseInstance": "openstack", "cellTemplates": templates}
    await client.create(Nova, {"metadata": {"name": NAME, "namespace": namespace}, "spec": spec})
