"""Renders charts with the real helm, remembers the results, and starts helm once for all who ask at once."""

import asyncio
import json
import os
import shutil
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stackwright.adapters.errors import Rejected, Unavailable
from stackwright.adapters.helm import charts
from stackwright.adapters.helm.charts import Chart, JsonObject

# Names the program where it is not on the PATH.
PROGRAM = "STACKWRIGHT_HELM"
# A chart renders in a twentieth of a second; a machine that is this slow has other troubles.
DEADLINE = 60.0
# How many results are remembered: more than one cloud has services, and some KB each.
REMEMBERED = 128
# A value shorter than this says nothing, and hiding it would make holes in the words around it.
_SHORTEST_HIDDEN = 8
_NOWHERE = "/nonexistent"


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
        program = find(self._program)
        arguments = ("template", asked.name, directory, "--namespace", asked.namespace, "--values", "-", "--no-hooks")
        process = await _started(program, *map(str, arguments))
        try:
            async with asyncio.timeout(DEADLINE):
                printed, complaint = await process.communicate(asked.values.encode())
        except TimeoutError:
            raise Unavailable(f"helm did not render chart {chart.name} within {DEADLINE:g} s") from None
        finally:
            # A process that was not waited for, because we were cancelled or it took too long.
            if process.returncode is None:
                process.kill()
                await process.wait()
        code = process.returncode or 0
        if code < 0:
            raise Unavailable(f"helm was ended by signal {-code} while it rendered chart {chart.name}")
        if code:
            raise Rejected(f"chart {chart.name}: {complaint_of(complaint.decode(errors='replace'), asked.values)}")
        return printed.decode()


_renderer = Renderer()


async def render(chart: Path, name: str, namespace: str, values: Mapping[str, Any]) -> Rendered:
    """Return what the chart renders to, by the helm of this process."""
    return await _renderer.render(chart, name, namespace, values)


def find(program: Path | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """Return where helm is; raise Unavailable where it is not."""
    named = str(program) if program is not None else environment.get(PROGRAM, "")
    found = shutil.which(named or "helm", path=environment.get("PATH"))
    if found is None:
        where = f"{named} is not a program" if named else "helm is not on the PATH"
        raise Unavailable(f"Charts cannot be rendered: {where}; install helm 4, or name it in {PROGRAM}")
    return Path(found)


def complaint_of(printed: str, values: str = "{}") -> str:
    """Return what helm complains about in one line, without the values that it was given."""
    _, _, text = printed.rpartition("Error: ")
    lines = [line.strip() for line in text.splitlines() if not line.startswith("Use --debug")]
    complaint = " ".join(line for line in lines if line) or "helm failed and did not say why"
    for value in sorted(_texts(json.loads(values)), key=len, reverse=True):
        complaint = complaint.replace(value, "<value>")
    return complaint


async def _started(program: Path, *arguments: str) -> asyncio.subprocess.Process:
    # What a chart renders to depends on its values alone: not on the user's plugins, settings or cluster.
    environment = {f"HELM_{folder}_HOME": _NOWHERE for folder in ("CACHE", "CONFIG", "DATA")}
    environment |= {"HOME": _NOWHERE, "KUBECONFIG": _NOWHERE}
    pipe = asyncio.subprocess.PIPE
    try:
        return await asyncio.create_subprocess_exec(
            program, *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
        )
    except OSError as error:
        raise Unavailable(f"{program} does not start: {error.strerror}; install helm 4, or name it in {PROGRAM}") from (
            error
        )


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


def _texts(value: Any) -> Iterator[str]:
    """Yield every text among the values that is long enough to say something."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str) and len(value) >= _SHORTEST_HIDDEN:
        yield value
