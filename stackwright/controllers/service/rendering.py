"""Renders the chart of a service, ours or the user's, for as long as its resource asks for it."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from stackwright import tasks
from stackwright.adapters.helm import Rendered
from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.look import Look
from stackwright.blueprint.service import Service
from stackwright.controllers.service import charts
from stackwright.controllers.service.environment import Environment
from stackwright.controllers.translation import translated
from stackwright.kube.controller import Context

T = TypeVar("T")

# How soon a render that takes long notices that nobody wants it any more. Nearly all of them take less.
LOOK_SECONDS = 1.0


class Outdated(Exception):
    """The resource went, or asks for something else, while its chart was being rendered."""


@dataclass(frozen=True)
class Place:
    """Of which service a chart is rendered, for which resource, and where; `condition` tells what goes wrong."""

    service: Service[Any, Any]
    resource: CustomResource
    environment: Environment
    look: Look
    context: Context
    condition: str


async def render(place: Place, values: JsonObject) -> Rendered:
    """Return what the chart of a resource renders to; raise Blocked for what a user's own chart may not hold."""
    metadata, renderer = place.resource.metadata, place.environment.renderer

    async def rendered() -> tuple[Rendered, Rendered]:
        folder = await charts.folder(place.service, place.resource, place.look, place.environment)
        theirs = await renderer.render(folder, metadata.name, metadata.namespace, values)
        if charts.source(place.resource) is None:
            return theirs, theirs
        own = place.environment.charts / place.service.chart_name
        return theirs, await renderer.render(own, metadata.name, metadata.namespace, values)

    with translated(place.condition):
        theirs, ours = await _while_wanted(rendered(), place)
    if theirs is not ours:
        charts.refuse_foreign(place.resource, theirs, ours, place.context, place.condition)
    return theirs


async def _while_wanted(work: Coroutine[Any, Any, T], place: Place) -> T:
    task = tasks.start(work)
    try:
        while not (await asyncio.wait((task,), timeout=LOOK_SECONDS))[0]:
            if not _is_wanted(place):
                raise Outdated
        return task.result()
    finally:
        await tasks.end(task)


def _is_wanted(place: Place) -> bool:
    before = place.resource
    now = place.context.store(type(before)).get(before.key)
    if now is None or now.deleting:
        return False
    return (now.metadata.uid, now.metadata.generation) == (before.metadata.uid, before.metadata.generation)
