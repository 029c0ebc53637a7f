"""Renders charts with the real helm, remembers the results, and starts helm once for all who ask at once."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stackwright.adapters.errors import Rejected, Unavailable
from stackwright.adapters.helm import charts, programs
from stackwright.adapters.helm.charts import Chart, JsonObject
from stackwright.adapters.helm.packages import Packages

# A chart renders in a twentieth of a second; a machine that is this slow has other troubles.
DEADLINE = 60.0
# How many results are remembered: more than one cloud has services, and some KB each.
REMEMBERED = 128
_NOWHERE = "/nonexistent"
# What a chart renders to depends on its values alone: not on the user's plugins, settings or cluster.
_ENVIRONMENT = dict.fromkeys(("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HOME", "KUBECONFIG"), _NOWHERE)


@dataclass(frozen=True)
class Rendered:
    """What a chart renders to: the text as helm records it, and the objects as helm would apply them, in its order.

    The objects are shared by all who asked for the same; who needs to change one changes a copy.
    """

    name: str
    namespace: str
    manifest: str
    objects: tuple[JsonObject, ...]
    chart: Chart


class _Asked(NamedTuple):
    """What makes two renders the same."""

    digest: str
    name: str
    namespace: str
    values: str


class Renderer:
    """Runs one helm program: the one given, the one that STACKWRIGHT_HELM names, or the one on the PATH."""

    def __init__(self, program: Path | None = None, *, remembered: int = REMEMBERED) -> None:
        self.runs = 0
        """How often helm was started."""
        self.packages = Packages(program)
        """The charts that users bring, by the same helm."""
        self._program = program
        self._remembered = remembered
        self._charts: dict[Path, Chart] = {}
        self._done: OrderedDict[_Asked, Rendered] = OrderedDict()
        self._running: dict[_Asked, asyncio.Task[Rendered]] = {}

    async def render(self, chart: Path, name: str, namespace: str, values: Mapping[str, Any]) -> Rendered:
        """Return what the chart renders to; raise Rejected with helm's own word where it does not."""
        known = await self._chart(chart)
        asked = _Asked(known.digest, name, namespace, json.dumps(values, sort_keys=True))
        if asked in self._done:
            self._done.move_to_end(asked)
            return self._done[asked]
        if asked not in self._running:
            self._running[asked] = asyncio.create_task(self._render(asked, chart, known))
        # Who gives up does not take the others' result away.
        return await asyncio.shield(self._running[asked])

    async def _chart(self, directory: Path) -> Chart:
        """Return a chart; it is read once, because a chart belongs to the program that renders it."""
        if directory not in self._charts:
            self._charts[directory] = await asyncio.to_thread(charts.read, directory)
        return self._charts[directory]

    async def _render(self, asked: _Asked, directory: Path, chart: Chart) -> Rendered:
        try:
            manifest = await self._template(asked, directory, chart)
            objects = await asyncio.to_thread(_objects, manifest, asked)
            rendered = Rendered(asked.name, asked.namespace, manifest, objects, chart)
            self._done[asked] = rendered
            while len(self._done) > self._remembered:
                self._done.popitem(last=False)
            return rendered
        finally:
            del self._running[asked]

    async def _template(self, asked: _Asked, directory: Path, chart: Chart) -> str:
        self.runs += 1
        words = ("template", asked.name, str(directory), "--namespace", asked.namespace, "--values", "-", "--no-hooks")
        program = programs.find(self._program)
        done = await programs.run(program, words, _ENVIRONMENT, deadline=DEADLINE, given=asked.values.encode())
        if done is None:
            raise Unavailable(f"helm did not render chart {chart.name} within {DEADLINE:g} s")
        if done.code < 0:
            raise Unavailable(f"helm was ended by signal {-done.code} while it rendered chart {chart.name}")
        if done.code:
            raise Rejected(f"chart {chart.name}: {programs.complaint_of(done.complaint, asked.values)}")
        return done.printed.decode()


_renderer = Renderer()


async def render(chart: Path, name: str, namespace: str, values: Mapping[str, Any]) -> Rendered:
    """Return what the chart renders to, by the helm of this process."""
    return await _renderer.render(chart, name, namespace, values)


def objects_of(manifest: str) -> tuple[JsonObject, ...]:
    """Return the objects of a manifest in their order; raise Rejected where it is none."""
    try:
        return tuple(body for body in yaml.load_all(manifest, charts.Loader) if isinstance(body, dict))
    except yaml.YAMLError as error:
        raise Rejected("the manifest is no YAML") from error


def _objects(manifest: str, asked: _Asked) -> tuple[JsonObject, ...]:
    return tuple(_labelled(body, asked) for body in objects_of(manifest))


def _labelled(body: JsonObject, asked: _Asked) -> JsonObject:
    """Return an object with what helm itself adds to each that it applies, and knows its own by."""
    metadata = body.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), "app.kubernetes.io/managed-by": "Helm"}
    release = {"meta.helm.sh/release-name": asked.name, "meta.helm.sh/release-namespace": asked.namespace}
    annotations = {**(metadata.get("annotations") or {}), **release}
    return {**body, "metadata": {**metadata, "labels": labels, "annotations": annotations}}
