"""The operators' chart and our kinds, installed in a cluster by the real helm. A second time nothing changes."""

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackwright.kube import documents
from stackwright.kube.builtin import Deployment, Namespace, Pod, Role, RoleBinding
from stackwright.kube.client import Client, Conflicts
from stackwright.kube.crd import install as definitions
from stackwright.kube.resource import JsonObject, Resource
from stackwright.kube.shapes.states import state_of
from stackwright.local import proxies, reach
from stackwright.local.errors import OperatorsFailed
from stackwright.local.progress import Progress

NAMESPACE = "stackwright-system"
RELEASE = "stackwright"
# The values that are always ours.
OURS = {"image", "images", "operatorMode", reach.NAMESPACES}
PROFILE = "pod-security.kubernetes.io/enforce"
RESTRICTED = "restricted"
STRICTER = {"baseline": (RESTRICTED,), "privileged": (RESTRICTED, "baseline")}
PATIENCE = 180.0
# Kubernetes looks at a namespace that still has pods only after half of their longest grace period: five minutes with
# Glance's.
LEAVING = 480.0


@dataclass(frozen=True)
class Helm:
    """The helm program, and the cluster that it works on."""

    program: Path
    kubeconfig: Path | None = None
    context: str = ""

    def run(self, *arguments: str | Path, given: str = "") -> "subprocess.CompletedProcess[str]":
        """Run helm and return how it ended."""
        environment = alike(os.environ)
        if self.kubeconfig is not None:
            environment["KUBECONFIG"] = str(self.kubeconfig)
        chosen = [f"--kube-context={self.context}"] if self.context else []
        return subprocess.run(  # noqa: S603  the helm that we found, and no shell
            [self.program, *arguments, f"--namespace={NAMESPACE}", *chosen],
            env=environment,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )

    def must(self, *arguments: str | Path, given: str = "", told: JsonObject | None = None) -> str:
        """Run helm and return what it printed; raise OperatorsFailed with its own message if it failed.

        `told` are the values that somebody else gave to helm, which may be the reason.
        """
        done = self.run(*arguments, given=given)
        if done.returncode != 0:
            kept = (
                f" Some values were set by helm before, and are kept: look at `helm get values {RELEASE} --namespace "
                f"{NAMESPACE}`, and fix them with `helm upgrade`."
            )
            raise OperatorsFailed(
                f"The operators could not be installed: {done.stderr.strip()}{kept if set(told or ()) - OURS else ''}"
            )
        return done.stdout


def alike(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which helm reaches the same cluster as our own client, and in the same way. Pure.

    By such variables helm would take another cluster than the one that it is told, or go there through a proxy.
    """
    return {name: value for name, value in proxies.without(environment).items() if not name.startswith("HELM_KUBE")}


async def install(
    client: Client, helm: Helm, chart: Path, values: JsonObject, progress: Progress, *, profile: str = RESTRICTED
) -> bool:
    """Make a cluster run the operators of a chart with these values; return whether there was anything to do.

    What somebody has told helm beside these values stays; to the namespaces that it was told, those of the values are
    added. They are made where they are missing, because the operators get their rights in them; such a namespace
    enforces the pod security `profile`.
    """
    folder = sorted((chart / "crds").glob("*.yaml"))
    manifests = [body for path in folder for body in documents.read(path.read_text(encoding="utf-8"))]
    # Helm would install them once and never upgrade them.
    changes = await definitions.install(client, manifests)
    changed = [change for change in changes if change.action != "unchanged"]
    if changed:
        progress.say(f"Installed {len(changed)} definitions of our kinds.")
    await ensure_namespace(client, NAMESPACE, progress)
    for namespace in values.get(reach.NAMESPACES, ()):
        await ensure_namespace(client, namespace, progress, profile=profile)
    state = _state(helm)
    told: JsonObject = (json.loads(helm.must("get", "values", RELEASE, "--output=json")) if state else None) or {}
    asked = {name: value for name, value in values.items() if name != reach.NAMESPACES}
    asked |= await reach.find(client, {**told, **asked}, values.get(reach.NAMESPACES, ()), manifests)
    released, deployments = await _release(client, helm, chart, Release(state, told, asked), progress)
    for name in deployments:
        await _await_available(client, name, progress)
    return released or bool(changed)


async def ensure_namespace(client: Client, name: str, progress: Progress, *, profile: str = RESTRICTED) -> None:
    """Create a namespace that enforces a pod security profile, unless it exists; if it is being deleted, wait first.

    One that was created for a cloud of which all pods satisfied a stricter profile is opened. If somebody else has set
    its profile, it stays: the resource whose pods it forbids says so.
    """
    found = await client.find(Namespace, name)
    if found is not None and found.deleting:
        await _await_end(client, name, progress)
        found = None
    if found is None:
        await client.apply(Namespace, {"metadata": {"name": name, "labels": {PROFILE: profile}}})
    elif found.metadata.labels.get(PROFILE) in STRICTER.get(profile, ()):
        opened = await client.try_apply(Namespace, {"metadata": {"name": name, "labels": {PROFILE: profile}}})
        if not isinstance(opened, Conflicts):
            progress.say(f"Namespace {name} enforces the {profile} profile now, which pods of this cloud need.")


async def _await_end(client: Client, name: str, progress: Progress) -> None:
    """Wait until a namespace that is being deleted is gone, and say meanwhile what holds it."""
    said, there = "", False
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LEAVING):
            events = client.watch(Namespace, fields=f"metadata.name={name}", initial=True)
            async with contextlib.aclosing(events):
                async for event in events:
                    if event.type == "DELETED" or (event.type == "BOOKMARK" and not there):
                        return
                    if event.type in ("ADDED", "MODIFIED"):
                        there, conditions = True, event.object.status.get("conditions", ())
                        said = " ".join(each["message"] for each in conditions if each["status"] == "True")
                        progress.update(f"Waiting until namespace {name} is gone. {said}".strip())
    raise OperatorsFailed(
        f"Namespace {name} is being deleted, and was not gone within {LEAVING:.0f} s. "
        f"{said or 'Kubernetes does not say what holds it.'} "
        "Wait until it is gone, or choose another namespace."
    )


@dataclass(frozen=True)
class Release:
    """How the release was left ("" where there is none), what helm was told of it before, and what we tell it."""

    state: str
    told: JsonObject
    asked: JsonObject


async def _release(
    client: Client, helm: Helm, chart: Path, release: Release, progress: Progress
) -> tuple[bool, list[str]]:
    """Install or upgrade the release, unless it is what it should be; return whether, and its Deployments."""
    state, told = release.state, release.told
    # Ours are whole: half of what somebody said of an image does not go with half of what we say. As JSON, because helm
    # takes some texts for numbers that PyYAML writes without quotes.
    given = json.dumps({**told, **release.asked})
    wanted = objects(helm.must("template", RELEASE, chart, "--values=-", given=given, told=told))
    deployments = [name for kind, _, name in wanted if kind == Deployment.kind.name]
    if state == "deployed" and not await _is_missing(client, wanted):
        present = helm.run("get", "manifest", RELEASE)
        if present.returncode == 0 and objects(present.stdout) == wanted:
            return False, deployments
    if state.startswith("pending"):
        # Helm was killed in the middle. What the operators have deployed does not go with them; what helm was told
        # stays in the history, should we be killed too.
        helm.must("uninstall", RELEASE, "--keep-history")
    progress.update("Installing the operators")
    # What somebody changed by hand on the operators' own objects is taken back.
    options = ("--install", "--skip-crds", "--history-max=5", "--server-side=true", "--force-conflicts", "--values=-")
    helm.must("upgrade", *options, RELEASE, chart, given=given)
    progress.say(f"Installed the operators in namespace {NAMESPACE}.")
    return True, deployments


# What somebody may have taken away: by hand, or with the namespace that the operators had their rights in.
_WATCHED: dict[str, type[Resource]] = {kind.kind.name: kind for kind in (Deployment, Role, RoleBinding)}


async def _is_missing(client: Client, wanted: Iterable[tuple[str, str, str]]) -> bool:
    """Return whether an object of the release is not there any more that helm would not look for."""
    for name, namespace, called in wanted:
        kind = _WATCHED.get(name)
        if kind is not None and await client.find(kind, called, namespace or NAMESPACE) is None:
            return True
    return False


def _state(helm: Helm) -> str:
    """Return how the release was left; "" where there is none."""
    # `helm status` would also ask the cluster for each object of the release.
    done = helm.run("get", "metadata", RELEASE, "--output=json")
    if done.returncode == 0:
        return str(json.loads(done.stdout)["status"])
    if "release: not found" in done.stderr:
        return ""
    # If we took this for no release, the values that helm has would be lost.
    raise OperatorsFailed(f"Helm cannot say whether the operators are installed: {done.stderr.strip()}")


def objects(manifest: str) -> dict[tuple[str, str, str], Any]:
    """Return the objects of a manifest, by kind, namespace and name: their order says nothing."""
    found = documents.read(manifest)
    return {(body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]): {**body} for body in found}


async def _await_available(client: Client, name: str, progress: Progress) -> None:
    """Wait until a Deployment of the operators is there, and say meanwhile what is missing."""
    said = "their state is not known"
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            events = client.watch(Deployment, NAMESPACE, fields=f"metadata.name={name}", initial=True)
            async with contextlib.aclosing(events):
                async for event in events:
                    if event.type not in ("ADDED", "MODIFIED"):
                        continue
                    state = state_of(event.object)
                    if state.status == "True":
                        return
                    said = state.message
                    progress.update(f"Waiting for the operators: {said}")
    pods = await client.list(Pod, NAMESPACE, labels=f"app.kubernetes.io/instance={RELEASE}")
    why = next(iter(troubles(pods)), said)
    raise OperatorsFailed(
        f"The operators did not become ready within {PATIENCE:.0f} s: {why}. "
        f"Look at `kubectl --namespace {NAMESPACE} describe pods` and `kubectl --namespace {NAMESPACE} logs`."
    )


def troubles(pods: Iterable[Pod]) -> Iterable[str]:
    """Return why containers do not run. Pure."""
    for pod in pods:
        for container in pod.status.get("containerStatuses", ()):
            waiting = container.get("state", {}).get("waiting")
            if waiting and waiting.get("reason") not in ("ContainerCreating", "PodInitializing"):
                yield f"{pod.metadata.name}: {waiting.get('reason')}: {waiting.get('message', '')}".rstrip(": ")
