"""Renders charts with the real helm, within limits; caches the results, and runs once for callers that ask at once."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from stackwright import tasks
from stackwright.adapters.errors import AdapterError, Rejected, Unavailable
from stackwright.adapters.helm import charts, manifests, programs
from stackwright.adapters.helm.charts import Chart
from stackwright.adapters.helm.failures import Failures
from stackwright.adapters.helm.keeping import Kept
from stackwright.adapters.helm.manifests import JsonObject
from stackwright.adapters.helm.packages import KEPT, Packages, staying
from stackwright.adapters.helm.standing import Answer, StandingHelm

# How many helm processes render at once: each may use all of its limits, and the operator has a memory limit.
AT_ONCE = 2
# How many results are cached: more than a cloud has services, at some KB each.
REMEMBERED = 128
# How much memory these take at most, and the charts that they were rendered from: a user's may be large.
REMEMBERED_BYTES = 32 * 2**20
# How much a value of an object takes.
_BYTES = 100
_NOWHERE = "/nonexistent"
# What a chart renders to depends only on its values, not on the user's plugins, settings or cluster.
_ENVIRONMENT = dict.fromkeys(("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HOME", "KUBECONFIG"), _NOWHERE)


@dataclass(frozen=True)
class Rendered:
    """What a chart renders to: the text as helm records it, and the objects as helm would apply them, in its order.

    Everybody who asked for the same render shares the objects, so copy one before you change it.
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
    trusted: bool


class Renderer:
    """Runs one helm program: the one given, the one that STACKWRIGHT_HELM names, or the one on the PATH.

    A render that failed is not tried again at once; until then every caller gets the same error. The charts in the
    folder `trusted` are ours: one helm that stays renders them, one after another. Their values are not compared with
    the chart's schema unless `compared` says so, for that takes helm longer than everything else, and no person has
    written them.
    """

    def __init__(
        self,
        program: Path | None = None,
        *,
        remembered: int = REMEMBERED,
        bounds: programs.Bounds | None = None,
        trusted: Path | None = None,
        compared: bool = False,
    ) -> None:
        self.runs = 0
        """How often helm rendered."""
        self.packages = Packages(program)
        """Users' own charts, rendered by the same helm."""
        self._helm = programs.Helm(program, bounds, at_once=AT_ONCE)
        # One chart at a time is in memory as a whole.
        self._reading = asyncio.Semaphore(1)
        self._standing = StandingHelm(_ENVIRONMENT, self._helm.bounds)
        self._trusted = trusted
        self._compared = compared
        self._charts = Kept[Path, Chart](lambda chart: chart.weight, most=REMEMBERED_BYTES, number=KEPT)
        self._done = Kept[_Asked, Rendered](_weigh, most=REMEMBERED_BYTES, number=remembered)
        self._failed = Failures[_Asked]()
        self._running = tasks.Shared[_Asked, Rendered]()

    async def render(self, chart: Path, name: str, namespace: str, values: Mapping[str, Any]) -> Rendered:
        """Return what the chart renders to; raise Rejected with helm's own word where it does not.

        Helm is ended when the last caller has given up.
        """
        known = await self._chart(chart)
        asked = _Asked(known.digest, name, namespace, charts.values_text(values), self._trusts(chart))
        if (found := self._done.get(asked)) is not None:
            return found
        self._failed.refuse(asked)
        return await self._running.once(asked, lambda: self._render(asked, chart, known))

    def _trusts(self, chart: Path) -> bool:
        return self._trusted is not None and chart.is_relative_to(self._trusted)

    async def _chart(self, directory: Path) -> Chart:
        """Return a chart; it is read once, because a folder never changes while this program runs."""
        if (found := self._charts.get(directory)) is not None:
            return found
        async with self._reading:
            if (found := self._charts.get(directory)) is not None:
                return found
            with staying(directory):
                chart = await tasks.to_the_end(asyncio.to_thread(charts.read, directory))
            # Ours are few and small, and stay in memory in any case.
            return self._charts.put(directory, replace(chart, weight=0) if self._trusts(directory) else chart)

    async def _render(self, asked: _Asked, directory: Path, chart: Chart) -> Rendered:
        try:
            with staying(directory):
                manifest, found = await self._template(asked, directory, chart)
            try:
                objects = found if found is not None else await asyncio.to_thread(manifests.bounded, manifest)
                labelled = tuple(_labelled(body, asked) for body in objects)
            except Rejected as error:
                raise Rejected(f"chart {chart.name}: {error}") from error
        except AdapterError as error:
            seconds = self._failed.note(asked, error)
            if isinstance(error, Unavailable):
                error.after = seconds
            raise
        self._failed.forget(asked)
        return self._done.put(asked, Rendered(asked.name, asked.namespace, manifest, labelled, chart))

    async def _template(
        self, asked: _Asked, directory: Path, chart: Chart
    ) -> tuple[str, tuple[JsonObject, ...] | None]:
        """Return a manifest, and the objects in it if helm has read them; they are bounded by what it may print."""
        self.runs += 1
        words = ["template", asked.name, str(directory), "--namespace", asked.namespace, "--values", "-", "--no-hooks"]
        if asked.trusted and not self._compared:
            words.append("--skip-schema-validation")
        answer = await self._standing.run(self._helm.find(), words, asked.values) if asked.trusted else None
        if answer is None:
            answer = Answer(await self._helm.run(words, _ENVIRONMENT, asked.values.encode()))
        done = answer.done
        if done.late:
            raise Unavailable(f"helm did not render chart {chart.name} within {done.exceeded}")
        if done.exceeded:
            raise Rejected(f"chart {chart.name} takes more than {done.exceeded} to render; make it take less")
        if done.code < 0:
            seconds = self._helm.bounds.processor_seconds
            raise Unavailable(
                f"helm was ended by signal {-done.code} while it rendered chart {chart.name}: it took more than "
                f"{seconds} s of processor time, or the machine has no memory left"
            )
        if done.code:
            raise Rejected(f"chart {chart.name}: {programs.complaint_of(done.complaint, asked.values)}")
        return done.printed.decode(errors="replace"), answer.objects


def _weigh(rendered: Rendered) -> int:
    # A chart that is forgotten elsewhere is still kept by what was rendered from it.
    return rendered.chart.weight + len(rendered.manifest) + _BYTES * manifests.count_values(rendered.objects)


_renderer = Renderer()


async def render(chart: Path, name: str, namespace: str, values: Mapping[str, Any]) -> Rendered:
    """Return what the chart renders to, using the helm of this process."""
    return await _renderer.render(chart, name, namespace, values)


def _labelled(body: JsonObject, asked: _Asked) -> JsonObject:
    """Return an object with the labels and annotations that helm adds to each object, to recognise its own."""
    metadata = body.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), "app.kubernetes.io/managed-by": "Helm"}
    release = {"meta.helm.sh/release-name": asked.name, "meta.helm.sh/release-namespace": asked.namespace}
    annotations = {**(metadata.get("annotations") or {}), **release}
    return {**body, "metadata": {**metadata, "labels": labels, "annotations": annotations}}
