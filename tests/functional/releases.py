"""A kind whose release is the small chart, the controller that keeps it, and what tests ask of the two."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import pytest

from stackwright.adapters.helm import Renderer
from stackwright.controllers import release
from stackwright.controllers.translation import translated
from stackwright.kube.builtin import ConfigMap, Deployment, Job, Pod, ReplicaSet, Secret, Service
from stackwright.kube.client import Client
from stackwright.kube.conditions import Finding, find, finding_of
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import Blocked
from stackwright.kube.markers import Definition, describe
from stackwright.kube.plan import Wait
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import CompositeStatus, CustomResource, JsonObject, Key, Kind, Value
from stackwright.kube.runtime import Runtime
from stackwright.kube.shapes.child import Child
from stackwright.kube.shapes.children import Children
from stackwright.kube.shapes.report import report
from stackwright.kube.transport import Call
from stackwright.local.apiserver.server import Shared
from tests.functional.definitions import defined
from tests.functional.running import running
from tests.functional.watching import eventually, some

CHART = Path(__file__).parent / "charts" / "small"
OWNED = (ConfigMap, Deployment, Job, Secret, Service)


class SmallSpec(Value, frozen=True, kw_only=True):
    """What the chart is rendered with."""

    replicas: Annotated[int, describe("How many pods.")] = 1
    greeting: Annotated[str, describe("What the pods say.")] = "hello"


class Small(CustomResource, frozen=True, kw_only=True):
    """A service in small."""

    kind: ClassVar[Kind] = Kind("releases.example.org", "v1", "Small", "smalls")
    definition: ClassVar[Definition] = Definition()
    conditions: ClassVar[tuple[str, ...]] = ("ReleaseReady",)

    spec: SmallSpec = SmallSpec()
    status: CompositeStatus = CompositeStatus()


def values_of(small: Small) -> JsonObject:
    return {"replicas": small.spec.replicas, "greeting": small.spec.greeting}


@dataclass(frozen=True)
class Operator:
    """Does with a release what the docstring of `controllers.release` shows."""

    renderer: Renderer
    children: Children

    async def reconcile(self, key: Key, context: Context) -> Result | None:
        small = context.store(Small).get(key)
        if small is None or small.deleting:
            return None
        try:
            found = await self.approach(small, context)
        except Blocked as error:
            overridden = error.overridden if isinstance(error, release.Contested) else ()
            status = CompositeStatus(conditions=small.status.conditions, overridden=overridden)
            await report(small, (finding_of(error),), status, context)
            raise
        if isinstance(found, Wait):
            finding = Finding("ReleaseReady", "False", found.reason, found.message, "Info")
            await report(small, (finding,), small.status, context)
            return Result(after=found.after)
        status = CompositeStatus(conditions=small.status.conditions)
        await report(small, (Finding("ReleaseReady", "True", "Ready", ""),), status, context)
        return None

    async def approach(self, small: Small, context: Context) -> Wait | None:
        if release.is_given(small):
            await release.settle(small, context)
            return Wait(release.GIVEN, "the release belongs to helm", "ReleaseReady")
        name, namespace, values = small.metadata.name, small.metadata.namespace, values_of(small)
        with translated("ReleaseReady"):
            rendered = await self.renderer.render(CHART, name, namespace, values)
        await release.settle(small, context, rendered.objects, condition="ReleaseReady")
        children = [Child(release.type_of(body), body, "ReleaseReady") for body in rendered.objects]
        outcome = await self.children.keep(small, children, context, prune=True)
        if failure := outcome.failure(waiting=False):
            raise failure
        return await release.record(release.Wanted(small, rendered, values), context, condition="ReleaseReady")


def runtime(client: Client, helm: Path, namespace: str) -> Runtime:
    operator = Operator(Renderer(helm), Children(OWNED))
    controller = Controller(
        name="small",
        kind=Small,
        reconcile=operator.reconcile,
        owns=OWNED,
        watches=(Watch(Secret, release.woken_by),),
        when=asked_differently,
    )
    return Runtime(client, (controller,), namespace=namespace)


@dataclass(frozen=True)
class Hand:
    """Who uses helm by hand, in one namespace."""

    program: Path
    kubeconfig: Path
    home: Path
    namespace: str

    async def __call__(self, *arguments: str | Path, fails: bool = False) -> str:
        """Run helm and return what it printed."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig)}
        process = await asyncio.create_subprocess_exec(
            self.program,
            *map(str, arguments),
            "--namespace",
            self.namespace,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed, _ = await process.communicate()
        text = printed.decode()
        assert bool(process.returncode) is fails, f"helm {' '.join(map(str, arguments))}:\n{text}"
        return text

    async def json(self, *arguments: str) -> Any:
        """Run helm and return what it printed as JSON."""
        return msgspec.json.decode(await self(*arguments, "--output", "json"))

    async def history(self, name: str = "small") -> list[tuple[int, str, str]]:
        """Return number, status and description of each revision."""
        return [
            (entry["revision"], entry["status"], entry["description"]) for entry in await self.json("history", name)
        ]


async def ask(client: Client, namespace: str, *, owner: str | None = None, **spec: Any) -> Small:
    """Ask for a release as a user does; `owner` is the annotation, which is gone when it is left out."""
    metadata: JsonObject = {"name": "small", "namespace": namespace}
    if owner is not None:
        metadata["annotations"] = {release.RELEASE_OWNER: owner}
    return await client.apply(Small, {"metadata": metadata, "spec": spec}, field_manager="user")


async def until(client: Client, namespace: str, reason: str, holds: Callable[[Small], object] | None = None) -> Small:
    """Wait until the release is as the reason says."""

    def there(small: Small) -> bool:
        condition = find(small.status.conditions, "ReleaseReady")
        return condition is not None and condition.reason == reason and (holds is None or bool(holds(small)))

    return await eventually(client, Small, "small", namespace, there)


async def pods(client: Client, namespace: str) -> set[str]:
    """Return the uids of all pods, and of what made them: nothing restarted where these are the same."""
    found = {pod.metadata.uid for pod in await client.list(Pod, namespace)}
    return found | {item.metadata.uid for item in await client.list(ReplicaSet, namespace)}


async def managers(client: Client, of: type[Any], name: str, namespace: str) -> set[str]:
    """Return who manages fields of an object, but for its status."""
    path = f"{of.kind.path}/namespaces/{namespace}/{of.kind.plural}/{name}"
    reply = await client.transport.request(Call("GET", path, {}))
    entries = msgspec.json.decode(reply.body)["metadata"]["managedFields"]
    return {entry["manager"] for entry in entries if not entry.get("subresource")}


@pytest.fixture
async def hand(apiserver: Shared, kubernetes: dict[str, Path], tmp_path: Path, client: Client, namespace: str) -> Hand:
    await defined(client, [Small])
    return Hand(kubernetes["helm"], apiserver.kubeconfig, tmp_path, namespace)


@pytest.fixture
async def operator(client: Client, hand: Hand) -> AsyncIterator[None]:
    async with running(runtime(client, hand.program, hand.namespace)):
        yield


async def revisions(client: Client, namespace: str, *statuses: str) -> list[Secret]:
    """Return the records as soon as they have these statuses, in order."""

    def there(secrets: list[Secret]) -> bool:
        found = sorted(secrets, key=lambda secret: int(secret.metadata.labels["version"]))
        return tuple(secret.metadata.labels["status"] for secret in found) == statuses

    return await some(client, Secret, namespace, there, labels="owner=helm")


async def without_extra(client: Client, namespace: str) -> None:
    """Wait until the second ConfigMap is gone."""
    await some(client, ConfigMap, namespace, lambda maps: "small-extra" not in {item.metadata.name for item in maps})
