"""A small cloud in the functional ring: service controllers with the real helm, and workloads that are played."""

import base64
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackwright import services
from stackwright.adapters.helm import Renderer
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.service import Service
from stackwright.controllers.service import Environment, controllers
from stackwright.kube.builtin import Pod, Secret
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject, R, Resource
from stackwright.kube.runtime import Runtime
from stackwright.simulator import Script, simulated
from tests.functional.running import running, worked_through
from tests.functional.watching import eventually, is_false, is_ready

ROOT = Path(__file__).parents[2]
IMAGES = {
    name: ComponentImage(f"registry.example/{name}:1", sudo=False, ours=True)
    for service in services.blueprints()
    # Several services of a folder may share an image.
    for name in (service.name, service.image_name)
}


@dataclass
class Cloud:
    """A namespace, what a user writes there, and what is waited for.

    `runtime` is the operator that was started last.
    """

    client: Client
    namespace: str
    runtime: Runtime | None = field(default=None, kw_only=True, repr=False)

    @property
    def usual(self) -> str:
        """The name of a resource that is not named."""
        return ""

    async def put(self, kind: type[R], name: str, labels: dict[str, str] | None = None, **parts: JsonObject) -> R:
        """Write an object as a user does."""
        metadata = {"name": name, "namespace": self.namespace, "labels": labels or {}}
        return await self.client.apply(kind, {"metadata": metadata, **parts}, field_manager="user")

    async def secret(self, name: str, **values: str) -> None:
        """Write a Secret."""
        await self.put(Secret, name, stringData=values)

    async def decoded(self, name: str) -> dict[str, str]:
        """Return the content of a Secret."""
        return decoded(await self.client.get(Secret, name, self.namespace))

    async def ready(self, kind: type[Any], name: str = "") -> Any:
        """Return a resource as soon as it is ready."""
        return await eventually(self.client, kind, name or self.usual, self.namespace, is_ready)

    async def says(self, kind: type[Any], condition: str, words: str, name: str = "") -> Any:
        """Return a resource as soon as a condition, or any where none is named, is false with these words."""
        return await eventually(self.client, kind, name or self.usual, self.namespace, is_false(words, condition))

    async def worked_through(self, written: Resource) -> None:
        """Wait until the operator knows what was written, and has done all of it."""
        assert self.runtime is not None
        await worked_through(self.runtime, written)


def decoded(secret: Secret) -> dict[str, str]:
    """Return the content of a Secret as texts."""
    return {key: base64.b64decode(value).decode() for key, value in secret.data.items()}


async def configured(
    client: Client, name: str, namespace: str, holds: Callable[[dict[str, str]], object]
) -> dict[str, str]:
    """Return the content of the Secret with a configuration, as soon as no former pod reads anything else there."""
    return decoded(await eventually(client, Secret, name, namespace, lambda secret: holds(decoded(secret))))


async def everybody_holds(client: Client, pod: Pod, path: str, digests: Mapping[str, str]) -> bool:
    """Say of every pod that it holds the keys: pods that are played have no files."""
    return True


def environment(kubernetes: Mapping[str, Path], *, seed: int = 0) -> Environment:
    """Return an environment whose passwords depend on the seed alone."""

    def chance(purpose: str) -> Callable[[int], bytes]:
        return random.Random(f"{seed} {purpose}").randbytes  # noqa: S311  the same passwords in every run

    charts = ROOT / "charts"
    renderer = Renderer(kubernetes["helm"], trusted=charts, compared=True)
    return Environment(IMAGES, charts, chance, everybody_holds, renderer)


@contextlib.asynccontextmanager
async def cloud(
    client: Client, namespace: str, blueprints: Iterable[Service[Any, Any]], surroundings: Environment
) -> AsyncIterator[Any]:
    """Run the controllers of these services in a namespace whose workloads are played."""
    async with operated(client, namespace, blueprints, surroundings) as (play, _):
        yield play


@contextlib.asynccontextmanager
async def operated(
    client: Client, namespace: str, blueprints: Iterable[Service[Any, Any]], surroundings: Environment
) -> AsyncIterator[tuple[Any, Runtime]]:
    """Do the same, and give the runtime too, for those who wait for what it must not do."""
    runtime = Runtime(client, controllers(blueprints, surroundings), namespace=namespace)
    async with simulated(client, namespace, Script()) as play, running(runtime):
        yield play, runtime
