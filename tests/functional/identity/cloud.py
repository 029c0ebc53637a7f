"""A namespace with a KeystoneAPI in it that stands for the fake, and what a user writes there."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import aiohttp

from stackwright.adapters.identity import Credentials, Endpoint, Keystone, Service, Session
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.identity import controllers
from stackwright.controllers.identity.registration import LABEL
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject, Key
from stackwright.kube.runtime import Runtime
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.functional import cloud
from tests.functional.running import forgotten, running
from tests.functional.watching import until

ADMIN = Credentials("admin", "admin-password", "admin")
FIRST, SECOND = "first-password", "second-password"
# How often a test's operator looks at Keystone, in seconds.
EVERY = 1.0
# For how long what is shared is remembered.
REMEMBERED = EVERY / 4


@dataclass
class Cloud(cloud.Cloud):
    """What a user writes, what the operator of Keystone would do, and what Keystone has."""

    url: str

    @property
    def usual(self) -> str:
        """The name of all resources of Glance."""
        return "glance"

    @property
    def keystone(self) -> Keystone:
        """The administrator's own client, which remembers nothing."""
        return Keystone(Session(self.url, ADMIN))

    async def counts(self) -> dict[str, int]:
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/counts") as reply:
            found: dict[str, int] = await reply.json()
            return found

    async def lock(self, user: str, *, locked: bool = True) -> None:
        """Let a user in no more, whatever its password, or again."""
        method = "PUT" if locked else "DELETE"
        async with aiohttp.ClientSession() as session, session.request(method, f"{self.url}/locks/{user}") as reply:
            reply.raise_for_status()

    async def unmark(self, plural: str, identity: str, attribute: str) -> None:
        """Take off a thing what says for whom it was made, as if an older operator had made it."""
        async with (
            aiohttp.ClientSession() as session,
            session.delete(f"{self.url}/attributes/{plural}/{identity}/{attribute}") as reply,
        ):
            reply.raise_for_status()

    async def passwords(self, glance: str = FIRST) -> None:
        await self.secret("osp-secret", AdminPassword=ADMIN.password, GlancePassword=glance)

    async def api(self, name: str = "keystone", *, external: bool = False, **status: Any) -> None:
        """Make a KeystoneAPI and do what its own operator does in the end."""
        spec: JsonObject = {"secret": "osp-secret", "databaseInstance": "openstack"}
        if external:
            urls = {endpoint: {"endpointURL": self.url} for endpoint in ("public", "internal")}
            spec |= {"externalKeystoneAPI": True, "override": {"service": urls}}
        await self.put(KeystoneAPI, name, spec=spec)
        await self.serves(name, **status)

    async def serves(
        self, name: str = "keystone", *, ready: bool = True, region: str = "regionOne", bootstrapped: bool = True
    ) -> None:
        since = "2026-01-01T00:00:00Z"
        conditions = {"Ready": ready and bootstrapped, "BootstrapReady": bootstrapped}
        status = {
            "conditions": [
                {"type": name, "status": str(holds), "lastTransitionTime": since} for name, holds in conditions.items()
            ],
            "apiEndpoints": {"public": f"{self.url}/v3", "internal": f"{self.url}/v3"},
            "region": region,
        }
        body = {"metadata": {"name": name, "namespace": self.namespace}, "status": status}
        await self.client.apply(KeystoneAPI, body, subresource="status", field_manager="keystone")

    async def service(self, name: str = "glance", **spec: Any) -> None:
        said = {
            "serviceType": "image",
            "serviceName": name,
            "serviceDescription": "Images",
            "serviceUser": name,
            "secret": "osp-secret",
            "passwordSelector": "GlancePassword",
        }
        await self.put(KeystoneService, name, spec={**said, **spec})

    async def endpoint(self, name: str = "glance", *, service: str = "glance", **urls: str) -> None:
        urls = urls or {"public": "http://public.example:9292", "internal": "http://internal.example:9292"}
        await self.put(KeystoneEndpoint, name, spec={"serviceName": service, "endpoints": urls})

    async def whole(self) -> None:
        """Write all of it, and wait until all of it is there."""
        for write in (self.passwords, self.api, self.service, self.endpoint):
            await write()
        await self.ready(KeystoneService)
        await self.ready(KeystoneEndpoint)

    async def delete(self, kind: type[Any], name: str = "glance") -> None:
        """Delete a resource, which is gone at once, whoever is there."""
        await self.client.delete(kind, name, self.namespace)
        assert await self.client.find(kind, name, self.namespace) is None

    def operator(self, client: Client | None = None) -> AbstractAsyncContextManager[None]:
        """Run the controllers for the time of a block; they look at Keystone again often enough for a test."""
        client = client or self.client
        made = controllers(Dialler(client, inside=True), every=EVERY, remembered=REMEMBERED)
        self.runtime = Runtime(client, made, namespace=self.namespace)
        return running(self.runtime)

    async def forgotten(self, kind: type[Any], name: str = "glance") -> None:
        """Wait until the operator knows that a resource is gone, and has done what comes of that."""
        assert self.runtime is not None
        await forgotten(self.runtime, kind, Key(self.namespace, name))

    async def notes(self) -> list[str]:
        """Return the names of all notes of what was made."""
        found = await self.client.list(ConfigMap, self.namespace, labels=LABEL)
        return sorted(note.metadata.name for note in found)

    async def catalog(self) -> list[str]:
        """Return what Keystone has that a service could have: services, users and interfaces."""
        services = [f"service {service.name}" for service in await self.services()]
        users = [f"user {name}" for name in ("glance", "other") if await self.keystone.find_user(name)]
        endpoints = [f"endpoint {endpoint.interface}" for endpoint in await self.endpoints()]
        return sorted((*services, *users, *endpoints))

    async def services(self) -> list[Service]:
        """Return the catalog without Keystone's own entry, which bootstrap made."""
        return [service for service in await self.keystone.services() if service.type != "identity"]

    async def endpoints(self) -> list[Endpoint]:
        """Return the endpoints of these."""
        there = {service.id for service in await self.services()}
        return [endpoint for endpoint in await self.keystone.endpoints() if endpoint.service_id in there]

    async def own(self) -> dict[str, str]:
        """Return Keystone's own endpoints by interface, of an entry that the catalog shows."""
        shown = [one.id for one in await self.keystone.services() if one.type == "identity" and one.enabled]
        found = [endpoint for endpoint in await self.keystone.endpoints() if endpoint.service_id in shown]
        return {endpoint.interface: endpoint.url for endpoint in found}

    async def swept(self) -> None:
        """Wait until Keystone has nothing of a service, and nothing is noted any more."""
        await until(self.catalog, lambda found: not found)
        await until(self.notes, lambda found: not found)

    async def can_log_in(self, password: str, user: str = "glance", project: str = "service") -> bool:
        return await self.keystone.login(Credentials(user, password, project)) is not None

    async def urls(self) -> dict[str, str]:
        """Return what the catalog has of endpoints, by interface; one that is there twice shows both."""
        found: dict[str, list[str]] = {}
        for endpoint in await self.endpoints():
            found.setdefault(endpoint.interface, []).append(endpoint.url)
        return {interface: " ".join(urls) for interface, urls in sorted(found.items())}
