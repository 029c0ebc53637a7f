"""Each service of Nova in upstream's form, from host names and accounts: no Galera, RabbitMq or Memcached is there."""

import asyncio

import pytest

from stackwright.api.mariadb import DATABASE_LABEL, SERVER_LABEL, MariaDBAccount, MariaDBDatabase
from stackwright.kube.builtin import Secret
from tests.functional import neighbours
from tests.functional.crds.samples import KINDS
from tests.functional.services.case import ServiceCase
from tests.functional.services.cases.nova import CASES
from tests.functional.services.place import Place
from tests.functional.watching import eventually, is_ready
from tests.nova_admission import LEAST

LEAVES = ("NovaAPI", "NovaScheduler", "NovaMetadata", "NovaConductor", "NovaNoVNCProxy", "NovaCompute")
# Which databases upstream's tests name an account of, by the account.
ACCOUNTS = {
    "nova-api": "nova-api",
    "nova": "nova-cell0",
    "test-nova-api-account": "nova-api",
    "test-nova-cell0-account": "nova-cell0",
    "test-nova-cell1-account": "nova-cell1",
}


@pytest.fixture
def case() -> ServiceCase:
    return CASES[0]


async def account(place: Place, name: str, database: str) -> None:
    """Make an account as somebody else's operator left it."""
    schema = {"name": database.replace("-", "_")}
    made = await place.put(MariaDBDatabase, database, spec=schema, labels={SERVER_LABEL: "elsewhere"})
    await neighbours.tell(place.client, made, {"completed": True})
    spec = {"userName": name.replace("-", "_"), "secret": f"{name}-db-secret"}
    login = await place.put(MariaDBAccount, name, spec=spec, labels={DATABASE_LABEL: database})
    body = {"metadata": {"name": f"{name}-db-secret", "namespace": place.namespace}}
    await place.client.apply(Secret, {**body, "stringData": {"DatabasePassword": "hush"}}, field_manager="user")
    await neighbours.tell(place.client, login, {"currentSecret": f"{name}-db-secret"})


async def test_each_service_becomes_ready_in_upstreams_form(place: Place) -> None:
    client, namespace = place.client, place.namespace
    content = {
        "ServicePassword": "service-password",
        "MetadataSecret": "metadata-secret",
        "transport_url": "rabbit://nova:hop@bus.example.org:5672/",
        "notification_transport_url": "",
        "quorum_queues": "true",
    }
    body = {"metadata": {"name": "nova", "namespace": namespace}, "stringData": content}
    await client.apply(Secret, body, field_manager="user")
    for name, database in ACCOUNTS.items():
        await account(place, name, database)
    async with place.operated():
        for kind in LEAVES:
            # A cache is optional, and one that is named has to be there, as upstream.
            spec = {field: value for field, value in LEAST[kind].items() if field != "memcachedInstance"}
            asked = {"metadata": {"name": kind.lower(), "namespace": namespace}, "spec": spec}
            await client.apply(KINDS[kind], asked, field_manager="user")
        waiting = (eventually(client, KINDS[kind], kind.lower(), namespace, is_ready) for kind in LEAVES)
        await asyncio.gather(*waiting)
