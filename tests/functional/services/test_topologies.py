"""A service whose pods are spread by a Topology, on a real API server: a StatefulSet, and a Deployment."""

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from stackwright.api.topology import Topology
from stackwright.controllers import admission
from stackwright.kube.admission import registration
from stackwright.kube.admission.certificate_sources import SecretCertificates, SecretSettings
from stackwright.kube.admission.registration import Settings, UrlTarget
from stackwright.kube.admission.server import WebhookServer
from stackwright.kube.builtin import (
    Deployment,
    MutatingWebhookConfiguration,
    StatefulSet,
    ValidatingWebhookConfiguration,
)
from stackwright.kube.errors import Conflict
from stackwright.kube.resource import JsonObject, R
from tests.functional.services.cases import memcached, placement
from tests.functional.services.place import Place
from tests.functional.watching import eventually, is_ready, until

REFERENCE: JsonObject = {"topologyRef": {"name": "spread"}}
ZONES: JsonObject = {
    "maxSkew": 1,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "ScheduleAnyway",
}
NODES: JsonObject = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "openstack", "operator": "Exists"}]}}
        ]
    }
}
ROWS = [
    pytest.param(memcached.CASES[0], StatefulSet, "server", id="a-stateful-set"),
    pytest.param(placement.CASES[0], Deployment, "api", id="a-deployment"),
]


@contextlib.asynccontextmanager
async def guarded(place: Place) -> AsyncIterator[None]:
    """Answer for Topologies, with what the operator's caches have."""

    def known(kind: type[R], namespace: str | None) -> list[R]:
        assert place.runtime is not None
        try:
            return place.runtime.informers.store(kind).list(namespace)
        except LookupError:
            return []

    client, name = place.client, place.namespace
    checks = admission.webhooks((Topology,), known)
    async with WebhookServer(checks, host="127.0.0.1", port=0) as server:
        target = UrlTarget(f"https://127.0.0.1:{server.port}")
        only = {"matchLabels": {"kubernetes.io/metadata.name": name}}
        settings = Settings(name, "topologies.example.org", target, failure_policy="Fail", namespaces=only)
        certificates = SecretSettings("webhooks", name, ("127.0.0.1",))
        publish = partial(registration.register, client, checks, settings)
        await SecretCertificates(client, certificates, use=server.use, publish=publish).refresh()
        try:
            yield
        finally:
            for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
                await client.delete(kind, name)


async def refused(place: Place) -> str:
    """Return why the Topology cannot be deleted, once the server asks us; until then it is deleted for nothing."""

    async def attempt() -> str:
        try:
            await place.client.delete(Topology, "spread", place.namespace)
        except Conflict as error:
            return str(error)
        await place.put(Topology, "spread", spec={"affinity": NODES})
        return ""

    return str(await until(attempt, bool))


@pytest.mark.parametrize(("case", "workload", "component"), ROWS)
async def test_pods_follow_a_topology_for_as_long_as_the_service_refers_to_it(
    standing: Place, workload: type[Any], component: str
) -> None:
    client, namespace, case = standing.client, standing.namespace, standing.case
    labels = {
        "app.kubernetes.io/name": case.blueprint.name,
        "app.kubernetes.io/instance": case.name,
        "app.kubernetes.io/component": component,
    }

    async def pod() -> JsonObject:
        spec: JsonObject = (await client.get(workload, case.name, namespace)).spec["template"]["spec"]
        return spec

    async def rolled(generation: int) -> Any:
        found = await eventually(
            client, workload, case.name, namespace, lambda seen: seen.metadata.generation > generation
        )
        await standing.up()
        return found

    # One that is missing is waited for, and named; nothing runs without it.
    await standing.ask(**REFERENCE)
    await standing.told("Topology spread, which spec.topologyRef names, does not exist", "TopologyReady")
    assert await client.find(workload, case.name, namespace) is None

    # It is in the pods, counts the component's own ones, and replaces our rule.
    await standing.put(Topology, "spread", spec={"topologySpreadConstraints": [ZONES]})
    ready = await standing.up()
    assert ready.status.lastAppliedTopology.name == "spread"
    spec = await pod()
    assert spec["topologySpreadConstraints"] == [{**ZONES, "labelSelector": {"matchLabels": labels}}]
    assert spec["affinity"] == {"podAntiAffinity": {}}

    # A change of it rolls the pods.
    before = await client.get(workload, case.name, namespace)
    await standing.put(Topology, "spread", spec={"affinity": NODES})
    await rolled(before.metadata.generation)
    spec = await pod()
    assert spec["affinity"] == NODES
    assert "topologySpreadConstraints" not in spec

    # It stays while somebody refers to it, and the answer says who does.
    async with guarded(standing):
        assert f"it is in use by {case.kind.kind.name} {case.name}" in await refused(standing)
        await standing.up()
        before = await client.get(workload, case.name, namespace)
        await standing.ask()
        await rolled(before.metadata.generation)
        after = await eventually(
            client,
            case.kind,
            case.name,
            namespace,
            lambda seen: is_ready(seen) and seen.status.lastAppliedTopology is None,
        )
        assert "TopologyReady" not in {condition.type for condition in after.status.conditions}
        assert "podAntiAffinity" in (await pod())["affinity"]
        await client.delete(Topology, "spread", namespace)
    assert await client.find(Topology, "spread", namespace) is None
