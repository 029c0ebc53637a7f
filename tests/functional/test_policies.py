"""NetworkPolicies on a real API server: they are made with a service, and switched off they go and no pod restarts."""

from dataclasses import replace
from pathlib import Path

from stackwright.blueprint.policies import Surroundings
from stackwright.kube.builtin import NetworkPolicy, StatefulSet
from stackwright.kube.client import Client
from stackwright.kube.conditions import is_true
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.services.rabbitmq.service import SERVICE as RABBITMQ
from tests.functional.cloud import cloud, environment
from tests.functional.definitions import defined
from tests.functional.watching import eventually, some


async def test_policies_come_with_a_service_and_go_when_they_are_switched_off(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await defined(client)
    around = replace(environment(kubernetes), around=Surroundings(operators="system"))
    await client.apply(RabbitMq, {"metadata": {"name": "rabbitmq", "namespace": namespace}, "spec": {}})
    async with cloud(client, namespace, (RABBITMQ,), around):
        await eventually(
            client, RabbitMq, "rabbitmq", namespace, lambda seen: is_true(seen.status.conditions, "CreateServiceReady")
        )
        policies = await some(client, NetworkPolicy, namespace, lambda found: len(found) == 2)
        before = await client.get(StatefulSet, "rabbitmq-server", namespace)
    by_name = {each.metadata.name: each.spec for each in policies}
    assert by_name["rabbitmq"]["policyTypes"] == ["Ingress", "Egress"]
    (clients, *_) = by_name["rabbitmq-server"]["ingress"]
    assert [each["port"] for each in clients["ports"]] == [5672]
    assert clients["from"][0] == {"podSelector": {"matchLabels": {"broker.needs.openstack.org/rabbitmq": "true"}}}
    assert clients["from"][1]["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "system"}}

    async with cloud(client, namespace, (RABBITMQ,), replace(around, around=None)):
        await some(client, NetworkPolicy, namespace, lambda found: not found)
    after = await client.get(StatefulSet, "rabbitmq-server", namespace)
    assert after.metadata.generation == before.metadata.generation
