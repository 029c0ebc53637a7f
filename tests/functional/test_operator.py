"""The operators' chart and the operator together: it works with the rights of the chart, and leaves nothing."""

import dataclasses

import pytest

from stackwright.controllers.operator_process import Operation, Webhooks, operate, own_address
from stackwright.controllers.teams import lease_of
from stackwright.kube.builtin import Lease, Secret, StatefulSet, ValidatingWebhookConfiguration
from stackwright.kube.client import Client
from stackwright.kube.conditions import is_true
from stackwright.kube.config import Connection
from stackwright.kube.errors import ConfigError
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.simulator import Script, simulated
from tests.functional.cloud import ROOT
from tests.functional.definitions import defined, undefined
from tests.functional.operating import RELEASE, Helm, as_operator, helm, operating, operation
from tests.functional.watching import eventually

__all__ = ["helm", "operation"]


@pytest.fixture
async def installed(client: Client, helm: Helm, namespace: str) -> None:
    """The chart, for one namespace, which is its own too."""
    await defined(client)
    options = ["--set", "image=registry.example/operator:1", "--set", f"namespaces={{{namespace}}}"]
    helm("install", RELEASE, ROOT / "charts" / "stackwright", "--skip-crds", *options)


@pytest.mark.usefixtures("installed")
async def test_an_operator_deploys_with_the_rights_of_its_chart_and_all_runs_on_without_it(
    client: Client, connection: Connection, namespace: str, operation: Operation, helm: Helm
) -> None:
    await client.apply(Memcached, {"metadata": {"name": "cache", "namespace": namespace}, "spec": {}})
    # Its chart has a Role, which only an account with the same rights can apply.
    await client.apply(RabbitMq, {"metadata": {"name": "broker", "namespace": namespace}, "spec": {}})
    async with simulated(client, namespace, Script()), operating(as_operator(connection, namespace), operation):
        await eventually(client, Memcached, "cache", namespace, lambda seen: is_true(seen.status.conditions))
        # Its volume is another's matter; what its chart renders is all there.
        await eventually(
            client, RabbitMq, "broker", namespace, lambda seen: is_true(seen.status.conditions, "CreateServiceReady")
        )
        for word in ("memcached", "rabbitmq"):
            lease = await client.get(Lease, lease_of(word), namespace)
            assert lease.spec.holderIdentity
        before = await client.get(StatefulSet, "broker-server", namespace)
    helm("uninstall", RELEASE)
    after = await client.get(StatefulSet, "broker-server", namespace)
    assert (after.metadata.uid, after.metadata.generation) == (before.metadata.uid, before.metadata.generation)
    assert await client.find(Lease, lease_of("memcached"), namespace) is None


@pytest.mark.usefixtures("installed")
async def test_webhooks_are_registered_and_go_with_the_chart(
    client: Client, connection: Connection, namespace: str, operation: Operation, helm: Helm
) -> None:
    service = f"{RELEASE}-webhook"
    served = dataclasses.replace(operation, webhooks=Webhooks(service, port=0))
    name = f"{service}.{namespace}"
    async with operating(as_operator(connection, namespace), served):
        found = await eventually(client, ValidatingWebhookConfiguration, name, "", lambda seen: seen.webhooks)
    for webhook in found.webhooks:
        assert webhook["failurePolicy"] == "Ignore"
        assert webhook["clientConfig"]["service"]["name"] == service
        assert webhook["clientConfig"]["caBundle"]
        (rule,) = webhook["namespaceSelector"]["matchExpressions"]
        assert rule == {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]}
    assert "tls.crt" in (await client.get(Secret, service, namespace)).data
    # An upgrade does not take away what the operators filled in.
    values = ["--reuse-values", "--set", "replicas=0"]
    helm("upgrade", RELEASE, ROOT / "charts" / "stackwright", "--skip-crds", *values)
    assert (await client.get(ValidatingWebhookConfiguration, name)).webhooks == found.webhooks
    assert "tls.crt" in (await client.get(Secret, service, namespace)).data
    helm("uninstall", RELEASE)
    assert await client.find(ValidatingWebhookConfiguration, name) is None
    assert await client.find(Secret, service, namespace) is None


async def test_a_cluster_without_our_kinds_is_one_sentence(
    private_client: Client, private_namespace: str, operation: Operation
) -> None:
    await undefined(private_client)
    with pytest.raises(ConfigError, match="install the definitions first: stackwright crds --install"):
        await operate(private_client.connection, operation)


def test_the_address_that_a_server_sees_is_one_of_ours(connection: Connection) -> None:
    assert own_address(connection.server) == "127.0.0.1"
