"""A service with a DaemonSet: applied, waited for, counted and explained, on simulated nodes that come and go."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from stackwright.controllers.service import controllers
from stackwright.kube.builtin import DaemonSet, Namespace, Pod
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from stackwright.kube.runtime import Runtime
from stackwright.local.apiserver.server import ApiServer
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.memcached.service import SERVICE as MEMCACHED
from stackwright.simulator import SimulatedNode, simulated
from tests.functional.cloud import ROOT, environment
from tests.functional.commands import command
from tests.functional.definitions import defined
from tests.functional.running import running
from tests.functional.watching import eventually, is_ready, some
from tests.functional.workloads import cache

AGENT = """
{{- with .Values.components.server }}
{{- $selector := dict "root" $ "component" "agent" }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ $.Release.Name }}-agent
  labels:
    {{- include "stackwright.labels" $selector | nindent 4 }}
spec:
  revisionHistoryLimit: 5
  selector:
    matchLabels:
      {{- include "stackwright.selectorLabels" $selector | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "stackwright.podLabels" $selector | nindent 8 }}
      {{- with include "stackwright.podAnnotations" (dict "values" .) }}
      annotations:
        {{- . | nindent 8 }}
      {{- end }}
    spec:
      hostNetwork: true
      nodeSelector: {role: compute}
      # Otherwise a node that is lost does not count as one that should have a pod.
      tolerations: [{operator: Exists}]
      containers:
        - name: agent
          image: registry.example/agent:1
{{- end }}
"""
CONTROL = SimulatedNode("control-1")
COMPUTES = tuple(SimulatedNode(f"compute-{number}", labels={"role": "compute"}) for number in (1, 2))
PROFILE = "pod-security.kubernetes.io/enforce"


@pytest.fixture
def charts(tmp_path: Path) -> Path:
    """Our charts, of which memcached's has an agent on each node more."""
    folder = Path(shutil.copytree(ROOT / "charts", tmp_path / "charts", symlinks=True))
    (folder / "memcached" / "templates" / "agent.yaml").write_text(AGENT)
    return folder


def deployed(seen: Memcached) -> tuple[str, str]:
    """Return how the condition of the workloads stands, and what it says."""
    found = find(seen.status.conditions, "DeploymentReady")
    return (found.status, found.message) if found is not None else ("", "")


async def test_a_daemon_set_is_a_workload_like_others(
    private_client: Client,
    private_namespace: str,
    private_apiserver: ApiServer,
    kubernetes: dict[str, Path],
    charts: Path,
) -> None:
    client, namespace = private_client, private_namespace
    await defined(client)

    async def until(text: str, status: str = "False") -> Memcached:
        return await eventually(
            client,
            Memcached,
            "memcached",
            namespace,
            lambda seen: deployed(seen)[0] == status and text in deployed(seen)[1],
        )

    async def said(*words: str) -> str:
        return (await command(private_apiserver.kubeconfig, namespace, *words)).stdout

    surroundings = replace(environment(kubernetes), charts=charts)
    runtime = Runtime(client, controllers((MEMCACHED,), surroundings), namespace=namespace)
    async with simulated(client, namespace, nodes=(CONTROL,)) as play, running(runtime):
        # Without a node that it is for, it holds up nobody, and says so.
        await client.apply(Memcached, cache(namespace), field_manager="user")
        nowhere = "DaemonSet memcached-agent runs on no node: none that has the labels role=compute takes its pods"
        await until(nowhere, "True")
        ready = await eventually(client, Memcached, "memcached", namespace, is_ready)
        assert ready.status.readyCount == 1
        assert "runs on no node" in await said("status")

        # The host's network is against the namespace's profile: only events tell why no pod comes.
        await client.patch(Namespace, namespace, "", {"metadata": {"labels": {PROFILE: "baseline"}}})
        play.set_nodes((CONTROL, COMPUTES[0]))
        refused = await until("DaemonSet memcached-agent cannot create its pods: forbidden")
        assert "host namespaces (hostNetwork=true)" in deployed(refused)[1]
        assert "cannot create its pod" in await said("explain", "memcached")

        await client.patch(Namespace, namespace, "", {"metadata": {"labels": {PROFILE: None}}})
        play.set_nodes((CONTROL, *COMPUTES))
        ready = await eventually(
            client, Memcached, "memcached", namespace, lambda seen: is_ready(seen) and seen.status.readyCount == 3
        )
        assert "runs on no node" not in deployed(ready)[1]
        line = next(line for line in (await said("status")).splitlines() if "memcached-agent" in line)
        assert "2 of 2" in line

        # A node that is lost takes its pod with it, until it is back.
        play.set_nodes((CONTROL, COMPUTES[0], replace(COMPUTES[1], ready=False)))
        await until("DaemonSet memcached-agent has 1 of 2 pods ready")
        assert "its node compute-2 is not ready" in await said("explain", "memcached")
        play.set_nodes((CONTROL, *COMPUTES))
        await eventually(client, Memcached, "memcached", namespace, is_ready)

        # A restart rolls it too, and has succeeded when the last node has the new pod.
        before = {pod.metadata.uid for pod in await client.list(Pod, namespace)}
        asked = [{"name": "restart", "id": "first"}]
        await client.apply(Memcached, cache(namespace, actions=asked), field_manager="user")
        await eventually(
            client,
            Memcached,
            "memcached",
            namespace,
            lambda seen: [entry.state for entry in seen.status.actions] == ["Succeeded"],
        )
        after = await some(client, Pod, namespace, lambda pods: len(pods) == 3 and not any(p.deleting for p in pods))
        assert not before & {pod.metadata.uid for pod in after}

        # What somebody else sets stays, and is listed.
        async with Client(client.connection, field_manager="kubectl-edit") as hand:
            await hand.patch(DaemonSet, "memcached-agent", namespace, {"spec": {"revisionHistoryLimit": 7}})
        changed = await eventually(client, Memcached, "memcached", namespace, lambda seen: seen.status.overridden)
        listed = [(entry.resource, entry.field, entry.manager) for entry in changed.status.overridden]
        assert listed == [("DaemonSet/memcached-agent", ".spec.revisionHistoryLimit", "kubectl-edit")]
