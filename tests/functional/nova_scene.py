"""A Nova as what operators bring up that are killed on the way (`dying`)."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path

from stackwright.controllers.service import Environment, controllers
from stackwright.kube.builtin import Deployment
from stackwright.kube.client import Client
from stackwright.kube.controller import Controller
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.service import SERVICES as NOVA
from stackwright.simulator import simulated
from tests.functional import novas
from tests.functional.cloud import environment
from tests.functional.conftest import fresh_namespace
from tests.functional.dying import PATIENCE
from tests.functional.watching import eventually, is_ready


class NovaWithCells:
    """A Nova with cells beside cell0."""

    def __init__(self, kubernetes: dict[str, Path], cells: int) -> None:
        self._cells = cells
        self._kubernetes = kubernetes
        # What a chart renders to is the same in each life; only the first one has to wait for it.
        self._renderer = environment(kubernetes).renderer

    @contextlib.asynccontextmanager
    async def place(self, client: Client, name: str) -> AsyncIterator[str]:
        namespace = await fresh_namespace(client, name)
        async with simulated(client, namespace), novas.played(client, namespace):
            await novas.prepare(client, namespace)
            yield namespace

    async def ask(self, client: Client, namespace: str) -> None:
        await novas.ask(client, namespace, self._cells)

    async def ready(self, client: Client, namespace: str) -> None:
        await eventually(client, Nova, novas.NAME, namespace, is_ready, patience=PATIENCE)

    def controllers(self, _client: Client, life: int) -> tuple[Controller, ...]:
        surroundings: Environment = environment(self._kubernetes, seed=life)
        return controllers(NOVA, dataclasses.replace(surroundings, renderer=self._renderer))

    async def check(self, client: Client, namespace: str) -> None:
        """See that all cells are mapped, and that the API, which needs them all, was started once."""
        nova = await client.get(Nova, novas.NAME, namespace)
        assert set(nova.status.registeredCells) == {f"nova-cell{number}" for number in range(self._cells + 1)}
        api = await client.get(Deployment, f"{novas.NAME}-api", namespace)
        assert api.metadata.annotations["deployment.kubernetes.io/revision"] == "1"
