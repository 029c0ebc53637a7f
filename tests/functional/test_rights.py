"""Operators of named namespaces: they work there with the rights of their chart, and may do nothing anywhere else."""

import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from stackwright import services
from stackwright.controllers.operator_process import Operation, Webhooks, operate
from stackwright.kube.admission import registration
from stackwright.kube.admission.registration import Settings, UrlTarget
from stackwright.kube.builtin import StorageClass, ValidatingWebhookConfiguration
from stackwright.kube.client import Client
from stackwright.kube.conditions import is_true
from stackwright.kube.config import Connection
from stackwright.kube.errors import Denied
from stackwright.kube.resource import JsonObject
from stackwright.kube.runtime import Runtime
from stackwright.kube.transport import Call
from stackwright.services.memcached.kinds import Memcached
from stackwright.simulator import Script, simulated, storage_class
from tests.functional import neighbours
from tests.functional.cloud import ROOT
from tests.functional.conftest import fresh_namespace
from tests.functional.definitions import defined
from tests.functional.operating import RELEASE, Helm, as_operator, helm, operating, operation
from tests.functional.running import running
from tests.functional.watching import eventually
from tests.functional.whole_cloud import CLASS, World, ask_for_cloud, until_ready

__all__ = ["helm", "operation"]

CHART = ROOT / "charts" / "stackwright"


@pytest.fixture
async def clouds(client: Client, helm: Helm, request: pytest.FixtureRequest) -> tuple[str, str]:
    """Two namespaces for clouds, which the operators of a third are installed for."""
    await defined(client)
    names = (await fresh_namespace(client, f"{request.node.name[:20]}-a"), await fresh_namespace(client, "second"))
    options = ["--set", "image=registry.example/operator:1", "--set", f"namespaces={{{','.join(names)}}}"]
    helm("install", RELEASE, CHART, "--skip-crds", *options)
    return names


def refusals() -> float:
    """How many requests of this process an API server has refused so far."""
    found = (sample for metric in REGISTRY.collect() for sample in metric.samples)
    return sum(
        sample.value
        for sample in found
        if sample.name == "rest_client_requests_total" and sample.labels.get("code") in ("401", "403")
    )


async def may(client: Client, verb: str, resource: str, namespace: str = "", **further: str) -> bool:
    """Ask the server whether this account may do something, as `kubectl auth can-i` does."""
    group, _, name = resource.rpartition("/")
    subresource = further.pop("subresource", "")
    attributes = {"verb": verb, "group": group, "resource": name, "subresource": subresource, "namespace": namespace}
    body: JsonObject = {"spec": {"resourceAttributes": {**attributes, **further}}}
    head = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    reply = await client.transport.request(Call("POST", path, {}, body=json.dumps({**head, **body}).encode()))
    answer: Any = json.loads(reply.body)
    return bool(answer["status"]["allowed"])


@contextlib.asynccontextmanager
async def played(client: Client, *namespaces: str) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(simulated(client, namespaces, Script()))
        for namespace in namespaces:
            await stack.enter_async_context(neighbours.nodes_agree(client, namespace))
        yield


async def test_clouds_in_two_namespaces_become_ready_and_no_request_is_refused(
    client: Client, connection: Connection, namespace: str, clouds: tuple[str, str], kubernetes: dict[str, Path]
) -> None:
    await client.apply(StorageClass, storage_class(CLASS))
    world, before = World(kubernetes, services.blueprints()), refusals()
    for name in clouds:
        await ask_for_cloud(client, name)
    async with (
        Client(as_operator(connection, namespace)) as own,
        played(client, *clouds),
        running(Runtime(own, world.controllers(own, life=1), namespace=clouds)),
    ):
        for name in clouds:
            await until_ready(client, name)
    assert refusals() == before


async def test_the_operator_may_do_nothing_in_another_namespace(
    client: Client, connection: Connection, namespace: str, clouds: tuple[str, str]
) -> None:
    stranger = await fresh_namespace(client, "stranger")
    async with Client(as_operator(connection, namespace)) as own:
        for verb, resource in (
            ("get", "secrets"),
            ("list", "secrets"),
            ("watch", "configmaps"),
            ("create", "apps/deployments"),
            ("create", "batch/jobs"),
            ("create", "rbac.authorization.k8s.io/rolebindings"),
            ("list", "pods"),
        ):
            assert await may(own, verb, resource, clouds[0]), f"{verb} {resource} is its work"
            for elsewhere in (stranger, namespace, "kube-system", ""):
                assert not await may(own, verb, resource, elsewhere), f"{verb} {resource} in {elsewhere}"
        for elsewhere in (stranger, namespace, ""):
            for subresource in ("exec", "log", "attach", "portforward"):
                assert not await may(own, "create", "pods", elsewhere, subresource=subresource)
                assert not await may(own, "get", "pods", elsewhere, subresource=subresource)
        # Of namespaces, which pods they allow, and only of those in which it works.
        for verb in ("get", "list", "watch"):
            assert await may(own, verb, "namespaces", name=clouds[0])
            assert not await may(own, verb, "namespaces", name=stranger)
            assert not await may(own, verb, "namespaces")
        assert not await may(own, "patch", "namespaces", name=clouds[0])
        # Of the whole cluster: what there is to run on, and its own webhooks.
        for resource in ("nodes", "storage.k8s.io/storageclasses"):
            assert await may(own, "watch", resource)
            assert not await may(own, "patch", resource)
        for resource in ("persistentvolumes", "apiextensions.k8s.io/customresourcedefinitions"):
            assert not await may(own, "get", resource), resource
        registrations = "admissionregistration.k8s.io/validatingwebhookconfigurations"
        assert await may(own, "patch", registrations, name=f"{RELEASE}-webhook.{namespace}")
        for verb in ("patch", "get", "create", "delete", "list"):
            assert not await may(own, verb, registrations, name="another"), verb
        # What somebody deletes of them is made again by an apply, and nothing of another name is.
        named = Settings(f"{RELEASE}-webhook.{namespace}", "example.org", UrlTarget("https://127.0.0.1:1"))
        await client.delete(ValidatingWebhookConfiguration, named.name)
        assert await client.find(ValidatingWebhookConfiguration, named.name) is None
        await registration.register(own, (), named)
        assert await client.find(ValidatingWebhookConfiguration, named.name) is not None
        with pytest.raises(Denied):
            await registration.register(own, (), dataclasses.replace(named, name="another"))


async def test_a_namespace_without_rights_does_not_keep_the_operator_from_the_others(
    client: Client, connection: Connection, namespace: str, clouds: tuple[str, str], operation: Operation
) -> None:
    stranger = await fresh_namespace(client, "stranger")
    several = dataclasses.replace(
        operation, namespaces=(stranger, *clouds), webhooks=Webhooks(f"{RELEASE}-webhook", port=0)
    )
    for name in several.namespaces:
        await client.apply(Memcached, {"metadata": {"name": "cache", "namespace": name}, "spec": {}})
    async with played(client, *several.namespaces), operating(as_operator(connection, namespace), several):
        for name in clouds:
            await eventually(client, Memcached, "cache", name, lambda seen: is_true(seen.status.conditions))
        registration = f"{RELEASE}-webhook.{namespace}"
        found = await eventually(client, ValidatingWebhookConfiguration, registration, "", lambda seen: seen.webhooks)
    (rule,) = found.webhooks[0]["namespaceSelector"]["matchExpressions"]
    assert rule["values"] == sorted(several.namespaces)
    untouched = await client.get(Memcached, "cache", stranger)
    assert not untouched.status.conditions


async def test_without_rights_in_any_namespace_it_is_one_sentence(
    client: Client, connection: Connection, namespace: str, clouds: tuple[str, str], operation: Operation
) -> None:
    stranger = await fresh_namespace(client, "stranger")
    nowhere = dataclasses.replace(operation, namespaces=(stranger,))
    with pytest.raises(Denied, match=f'in the namespace "{stranger}"'):
        await operate(as_operator(connection, namespace), nowhere)
