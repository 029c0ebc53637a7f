"""A small cloud in the functional ring: service controllers with the real helm, and workloads that are played."""

import contextlib
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from stackwright import services
from stackwright.adapters.helm import Renderer
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.service import Service
from stackwright.controllers.service import Environment, controllers
from stackwright.kube.builtin import Pod
from stackwright.kube.client import Client
from stackwright.kube.runtime import Runtime
from stackwright.simulator import Script, simulated
from tests.functional.running import running

ROOT = Path(__file__).parents[2]
IMAGES = {
    service.name: ComponentImage(f"registry.example/{service.name}:1", sudo=False, ours=True)
    for service in services.blueprints()
}


async def everybody_holds(client: Client, pod: Pod, path: str, digests: Mapping[str, str]) -> bool:
    """Say of every pod that it holds the keys: pods that are played have no files."""
    return True


def environment(kubernetes: Mapping[str, Path], *, seed: int = 0) -> Environment:
    """Return an environment whose passwords depend on the seed alone."""

    def chance(purpose: str) -> Callable[[int], bytes]:
        return random.Random(f"{seed} {purpose}").randbytes  # noqa: S311  the same passwords in every run

    return Environment(IMAGES, ROOT / "charts", chance, everybody_holds, Renderer(kubernetes["helm"]))


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
