"""Plays what a service needs, for tests of the service alone: a database server, a schema, a cache, a broker."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.kube import finalizers
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject, R
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.neutron.kinds import NeutronAPI
from stackwright.services.ovn.kinds import OVNController, OVNDBCluster, OVNNorthd

HELD = "neighbour.example.org/account"


async def database_server(client: Client, namespace: str, name: str = "openstack") -> None:
    """Make a Galera that is ready."""
    spec = {"storageClass": "local", "storageRequest": "1G"}
    metadata = {"name": name, "namespace": namespace}
    made = await client.apply(Galera, {"metadata": metadata, "spec": spec}, field_manager="user")
    status: JsonObject = {"hostname": f"{name}.{namespace}.svc", "port": 3306, "bootstrapped": True}
    status["rootDatabaseSecret"] = f"{name}-mariadb-root"
    await tell(client, made, status)
    root = {"metadata": {"name": f"{name}-mariadb-root", "namespace": namespace}}
    await client.apply(Secret, {**root, "stringData": {"DatabasePassword": "root"}}, field_manager="user")


async def cache(client: Client, namespace: str, name: str = "memcached") -> None:
    """Make a Memcached that is ready."""
    metadata = {"name": name, "namespace": namespace}
    made = await client.apply(Memcached, {"metadata": metadata, "spec": {}}, field_manager="user")
    await tell(client, made, {"serverList": [f"{name}-0.{name}.{namespace}.svc:11211"]})


async def network_databases(client: Client, namespace: str, outside: str = "") -> None:
    """Make both databases of OVN, ready; with `outside`, machines reach them at that address."""
    for role, port in (("nb", 6641), ("sb", 6642)):
        metadata = {"name": f"ovndbcluster-{role}", "namespace": namespace}
        spec = {"dbType": role.upper(), "storageRequest": "1G"}
        made = await client.apply(OVNDBCluster, {"metadata": metadata, "spec": spec}, field_manager="user")
        reached = {"dbAddress": f"tcp:{outside}:{port}"} if outside else {}
        await tell(client, made, {"internalDbAddress": f"tcp:192.0.2.1:{port}", **reached})


async def tell(client: Client, resource: Any, status: JsonObject, *, ready: bool = True) -> None:
    """Write a status as the resource's own operator would."""
    condition = {
        "type": "Ready",
        "status": "True" if ready else "False",
        "reason": "Ready" if ready else "Away",
        "message": "played",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    body = {
        "metadata": {"name": resource.metadata.name, "namespace": resource.metadata.namespace},
        "status": {**status, "conditions": [condition], "observedGeneration": resource.metadata.generation},
    }
    await client.apply(type(resource), body, subresource="status", field_manager="neighbour")


@contextlib.asynccontextmanager
async def nodes_agree(client: Client, namespace: str, name: str = "openstack") -> AsyncIterator[None]:
    """Play the nodes of a Galera whose pods are played: they agree on one that clients talk to."""

    async def agree() -> None:
        state = f"{name}-galera-state"
        async for event in client.watch(ConfigMap, namespace, fields=f"metadata.name={state}", initial=True):
            if event.type in {"ADDED", "MODIFIED"} and "active" not in event.object.data:
                await client.patch(ConfigMap, state, namespace, {"data": {"active": f"{name}-galera-0"}})

    playing = asyncio.create_task(agree())
    try:
        yield
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


@contextlib.asynccontextmanager
async def broker(client: Client, namespace: str) -> AsyncIterator[None]:
    """Play the controller of logins to a broker: whatever is asked for is there."""

    async def log_in() -> None:
        async for event in client.watch(TransportURL, namespace, initial=True):
            if event.type == "ADDED":
                name = f"rabbitmq-transport-url-{event.object.metadata.name}"
                host = f"{event.object.spec.rabbitmqClusterName}.{namespace}.svc"
                content = {"transport_url": f"rabbit://user:hop@{host}:5672/", "quorumqueues": "true"}
                body = {"metadata": {"name": name, "namespace": namespace}, "stringData": content}
                await client.apply(Secret, body, field_manager="neighbour")
                await tell(client, event.object, {"secretName": name})

    playing = asyncio.create_task(log_in())
    try:
        yield
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


@contextlib.asynccontextmanager
async def schemas(client: Client, namespace: str) -> AsyncIterator[None]:
    """Play the controllers of schemas and accounts: whatever is asked for is there."""
    said: dict[type[Any], Any] = {
        MariaDBDatabase: lambda _: {"completed": True},
        MariaDBAccount: lambda account: {"currentSecret": account.spec.secret},
    }
    async with _played(client, namespace, said):
        yield


@contextlib.asynccontextmanager
async def servers(client: Client, namespace: str) -> AsyncIterator[None]:
    """Play the operators of database servers and caches that somebody else asks for."""

    def database(galera: Galera) -> JsonObject:
        name = galera.metadata.name
        return {"hostname": f"{name}.{namespace}.svc", "port": 3306, "bootstrapped": True}

    def cached(memcached: Memcached) -> JsonObject:
        name = memcached.metadata.name
        return {"serverList": [f"{name}-0.{name}.{namespace}.svc:11211"]}

    async with _played(client, namespace, {Galera: database, Memcached: cached}):
        yield


@contextlib.asynccontextmanager
async def networks(client: Client, namespace: str) -> AsyncIterator[None]:
    """Play the operators of Neutron and of what it needs of OVN."""

    def database(cluster: OVNDBCluster) -> JsonObject:
        return {"internalDbAddress": f"tcp:192.0.2.1:{6641 if cluster.spec.dbType == 'NB' else 6642}"}

    def served(neutron: NeutronAPI) -> JsonObject:
        return {"apiEndpoints": {"internal": f"http://neutron-internal.{namespace}.svc:9696"}}

    def nothing(_: OVNNorthd | OVNController) -> JsonObject:
        return {}

    said: dict[type[Any], Any] = {
        OVNDBCluster: database,
        OVNNorthd: nothing,
        OVNController: nothing,
        NeutronAPI: served,
    }
    async with _played(client, namespace, said):
        yield


@contextlib.asynccontextmanager
async def catalog(client: Client, namespace: str) -> AsyncIterator[None]:
    """Play the controllers of Keystone's catalog: whatever is registered is there."""
    said: dict[type[Any], Any] = {
        KeystoneService: lambda _: {"serviceID": "1", "userID": "1"},
        KeystoneEndpoint: lambda _: {"serviceID": "1"},
    }
    async with _played(client, namespace, said):
        yield


@contextlib.asynccontextmanager
async def _played(client: Client, namespace: str, said: Mapping[type[Any], Any]) -> AsyncIterator[None]:
    """Play the controllers of some kinds; of each, `said` returns the status of a resource."""
    async with asyncio.TaskGroup() as group:
        playing = [group.create_task(_play(client, kind, namespace, status)) for kind, status in said.items()]
        try:
            yield
        finally:
            for task in playing:
                task.cancel()


async def _play(client: Client, kind: type[R], namespace: str, status: Any) -> None:
    told: dict[str, int] = {}
    async for event in client.watch(kind, namespace, initial=True):
        if event.type not in {"ADDED", "MODIFIED"}:
            continue
        resource: Any = event.object
        if resource.kind is MariaDBAccount.kind and resource.spec.deletionPolicy == "Delete":
            await _hold(client, resource)
        if told.get(resource.metadata.uid) != resource.metadata.generation and not resource.deleting:
            told[resource.metadata.uid] = resource.metadata.generation
            await tell(client, resource, status(resource))


async def _hold(client: Client, account: MariaDBAccount) -> None:
    """Hold an account whose user is to be dropped, and let it go when it is asked to."""
    if account.deleting:
        await finalizers.remove(client, account, HELD)
    else:
        await finalizers.add(client, account, HELD)
