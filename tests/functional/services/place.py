"""A namespace for one service: what it needs is played, and its operator runs for the time of a block."""

import contextlib
import shutil
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stackwright.adapters.identity import Credentials, Keystone, Session
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs.broker import BROKER
from stackwright.blueprint.needs.cache import CACHE
from stackwright.blueprint.needs.database import DATABASE
from stackwright.blueprint.needs.login import IDENTITY
from stackwright.blueprint.needs.network_database import NETWORK_DATABASE
from stackwright.controllers import chart_files
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.identity import controllers as identity_controllers
from stackwright.controllers.service import Environment, controllers
from stackwright.kube.builtin import Job, Secret
from stackwright.kube.client import Client
from stackwright.kube.runtime import Runtime
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE as KEYSTONE
from tests.fakes.running import fake
from tests.functional import neighbours
from tests.functional.clockwork import without_clock
from tests.functional.cloud import ROOT, Cloud, environment
from tests.functional.running import running
from tests.functional.services.case import SECRET, ServiceCase

ADMIN = Credentials("admin", "wonderland", "admin")


@dataclass
class Place(Cloud):
    """Where a service is tried. `keystone` is the one that lists it, while one is played."""

    case: ServiceCase = field(kw_only=True)
    environment: Environment = field(kw_only=True, repr=False)
    keystone: Keystone | None = None

    async def ask(self, **spec: Any) -> Any:
        """Write the resource, with some fields more than the least."""
        return await self.client.apply(self.case.kind, self.case.body(self.namespace, **spec), field_manager="user")

    @property
    def usual(self) -> str:
        """The name of the resource."""
        return self.case.name

    async def up(self) -> Any:
        """Return the resource when it is ready."""
        return await self.ready(self.case.kind)

    async def told(self, words: str, condition: str = "") -> Any:
        """Return the resource when one of its conditions, or the one that is named, is false with these words."""
        return await self.says(self.case.kind, condition, words)

    async def give(self, **values: str) -> None:
        """Write the Secret that the resource names, with nothing but these values."""
        name = self.case.spec.get("secret", SECRET)
        body = {"metadata": {"name": name, "namespace": self.namespace}, "stringData": values}
        await self.client.apply(Secret, body, field_manager="user")

    async def jobs(self) -> dict[str, Job]:
        """Return the Jobs of the release by what they are."""
        found = await self.client.list(Job, self.namespace, labels=f"app.kubernetes.io/instance={self.case.name}")
        return {job.metadata.labels["app.kubernetes.io/component"]: job for job in without_clock(found)}

    @contextlib.asynccontextmanager
    async def provided(self) -> AsyncIterator[None]:
        """Play all that the service needs."""
        async with contextlib.AsyncExitStack() as stack:
            for word, name in self.case.all_providers.items():
                await stack.enter_async_context(PLAYED[word](self, name))
            yield

    @contextlib.asynccontextmanager
    async def operated(self, client: Client | None = None) -> AsyncIterator[Runtime]:
        """Run the operator of the service."""
        client = client or self.client
        blueprints = (self.case.blueprint, *self.case.children)
        self.runtime = Runtime(client, controllers(blueprints, self.environment), namespace=self.namespace)
        async with running(self.runtime):
            yield self.runtime


@contextlib.asynccontextmanager
async def _database(place: Place, name: str) -> AsyncIterator[None]:
    await neighbours.database_server(place.client, place.namespace, name)
    async with neighbours.schemas(place.client, place.namespace):
        yield


@contextlib.asynccontextmanager
async def _cache(place: Place, name: str) -> AsyncIterator[None]:
    await neighbours.cache(place.client, place.namespace, name)
    yield


@contextlib.asynccontextmanager
async def _broker(place: Place, name: str) -> AsyncIterator[None]:
    async with neighbours.broker(place.client, place.namespace):
        yield


@contextlib.asynccontextmanager
async def _network_databases(place: Place, name: str) -> AsyncIterator[None]:
    """Make both: whoever needs one mostly needs the other."""
    await neighbours.network_databases(place.client, place.namespace)
    yield


@contextlib.asynccontextmanager
async def _identity(place: Place, name: str) -> AsyncIterator[None]:
    """Run a Keystone elsewhere, and the operator that keeps users and the catalog in it."""
    client, namespace = place.client, place.namespace
    await place.secret("keystone-admin", AdminPassword=ADMIN.password)
    with fake("tests.fakes.keystone", ADMIN.password) as started:
        urls = {interface: {"endpointURL": started.url} for interface in ("public", "internal")}
        spec = {"databaseInstance": "openstack", "secret": "keystone-admin", "externalKeystoneAPI": True}
        await place.put(KeystoneAPI, name, spec={**spec, "override": {"service": urls}})
        kept = identity_controllers(Dialler(client, inside=True), every=1.0)
        runtime = Runtime(client, (*kept, *controllers((KEYSTONE,), place.environment)), namespace=namespace)
        async with running(runtime):
            await place.ready(KeystoneAPI, name)
            place.keystone = Keystone(Session(started.url, ADMIN))
            yield


# Who plays what can be needed.
PLAYED: dict[str, Callable[[Place, str], AbstractAsyncContextManager[None]]] = {
    DATABASE: _database,
    CACHE: _cache,
    BROKER: _broker,
    IDENTITY: _identity,
    NETWORK_DATABASE: _network_databases,
}


def surroundings(case: ServiceCase, kubernetes: dict[str, Path], folder: Path) -> Environment:
    """Return the environment of a service's operator; one that is not among ours gets its chart and its image."""
    ours = environment(kubernetes)
    if case.folder is None:
        return ours
    image = ComponentImage("registry.example/openstack:1", sudo=False, ours=True)
    images = {**ours.images, case.blueprint.image_name: image}
    return replace(ours, images=images, charts=_charts(case, folder))


def _charts(case: ServiceCase, folder: Path) -> Path:
    """Put the chart of a service that is not among ours into a folder of charts, with the files that are generated."""
    assert case.folder is not None
    name = case.blueprint.chart_name
    chart = folder / "charts" / name
    shutil.copytree(case.folder / "chart", chart)
    (chart / "charts").mkdir()
    (chart / "charts" / "library").symlink_to(ROOT / "charts" / "library")
    uid = tomllib.loads((case.folder / "image.toml").read_text())["uid"]
    for path, text in chart_files.of_chart(name, _deployed(case), uid).items():
        (folder / "charts" / path).write_text(text)
    return folder / "charts"


def _deployed(case: ServiceCase) -> list[Any]:
    """Return all blueprints of the chart."""
    from tests.functional.services.rows import rows

    return [row.blueprint for row in rows() if row.blueprint.chart_name == case.blueprint.chart_name]
