"""An operator for each service: with its own rights, started and stopped by the umbrella, never two for one kind."""

import asyncio
import contextlib
import dataclasses
from pathlib import Path

from stackwright import services
from stackwright.api.sections import Section
from stackwright.controllers.controlplane import read_prepared
from stackwright.controllers.operator_process import Operation
from stackwright.controllers.teams import lease_of, team_of_kind
from stackwright.kube.builtin import ConfigMap, Deployment, Lease
from stackwright.kube.client import Client
from stackwright.kube.conditions import find, is_true
from stackwright.kube.config import Connection
from stackwright.kube.resource import CustomResource, JsonObject
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.simulator import Script, simulated
from tests.functional.cloud import ROOT
from tests.functional.definitions import defined
from tests.functional.operating import RELEASE, Helm, as_operator, helm, operating, operation
from tests.functional.watching import eventually, some

__all__ = ["helm", "operation"]

UMBRELLA = services.control_plane()
FINALIZER = "example.org/held"


async def deploy(client: Client, helm: Helm, namespace: str, mode: str) -> None:
    """Install the chart for one namespace, which is its own too."""
    await defined(client)
    options = ["--set", "image=registry.example/operator:1", "--set", f"namespaces={{{namespace}}}"]
    chart = ROOT / "charts" / "stackwright"
    helm("upgrade", "--install", RELEASE, chart, "--skip-crds", *options, "--set", f"operatorMode={mode}")


async def core(client: Client, namespace: str, operation: Operation, folder: Path) -> Operation:
    """The operator of control planes, with what the chart mounts into its pod."""
    found = await client.get(ConfigMap, f"{RELEASE}-operators", namespace)
    for name, content in found.data.items():
        (folder / name).write_text(content)
    return dataclasses.replace(operation, services=("core",), operators=read_prepared(folder, namespace))


async def ask(client: Client, namespace: str, spec: JsonObject) -> None:
    said = {"secret": "osp-secret", "storageClass": "", "passwordPolicy": "Generate", **spec}
    await client.apply(UMBRELLA, {"metadata": {"name": "cloud", "namespace": namespace}, "spec": said})


async def gone(client: Client, name: str, namespace: str) -> None:
    """Return when a Deployment is not there any more."""
    await some(client, Deployment, namespace, lambda found: name not in {each.metadata.name for each in found})


async def make(client: Client, kind: type[Memcached | RabbitMq], name: str, namespace: str) -> None:
    await client.apply(kind, {"metadata": {"name": name, "namespace": namespace}, "spec": {}})


async def test_an_operator_of_all_services_and_one_of_a_single_service_divide_the_work(
    client: Client, connection: Connection, namespace: str, operation: Operation, helm: Helm
) -> None:
    await deploy(client, helm, namespace, "shared")
    name = lease_of("memcached")
    rights = as_operator(connection, namespace)
    single = dataclasses.replace(operation, services=("memcached",))
    async with simulated(client, namespace, Script()):
        async with operating(rights, single):
            first = await eventually(client, Lease, name, namespace, lambda lease: lease.spec.holderIdentity)
            async with operating(rights, operation):
                # The rest of the work is the other's; the broker is not ready before the single one would be asked.
                await make(client, RabbitMq, "broker", namespace)
                await eventually(
                    client,
                    RabbitMq,
                    "broker",
                    namespace,
                    lambda seen: is_true(seen.status.conditions, "CreateServiceReady"),
                )
                await make(client, Memcached, "one", namespace)
                await eventually(client, Memcached, "one", namespace, lambda seen: is_true(seen.status.conditions))
                lease = await client.get(Lease, name, namespace)
                assert lease.spec.holderIdentity == first.spec.holderIdentity
        async with operating(rights, operation):
            # The single one is gone: the lease is free, and the work goes on.
            await make(client, Memcached, "two", namespace)
            await eventually(client, Memcached, "two", namespace, lambda seen: is_true(seen.status.conditions))
            lease = await client.get(Lease, name, namespace)
            assert lease.spec.holderIdentity != first.spec.holderIdentity


async def test_operators_come_and_go_with_their_services_and_have_their_own_rights(
    client: Client, connection: Connection, namespace: str, operation: Operation, helm: Helm, tmp_path: Path
) -> None:
    await deploy(client, helm, namespace, "perService")
    umbrella = await core(client, namespace, operation, tmp_path)
    assert umbrella.operators is not None
    memcached = umbrella.operators.key("memcached").name
    async with (
        simulated(client, namespace, Script()),
        operating(as_operator(connection, namespace, "core"), umbrella),
    ):
        await ask(client, namespace, {"operatorMode": "perService", "memcached": {}})
        deployment = await eventually(client, Deployment, memcached, namespace, bool)
        owner = await client.get(Deployment, umbrella.operators.owner, namespace)
        assert [each.uid for each in deployment.metadata.ownerReferences] == [owner.metadata.uid]
        told = await eventually(
            client, UMBRELLA, "cloud", namespace, lambda seen: seen.status.operators and seen.status.operators[0].ready
        )
        assert [each.service for each in told.status.operators] == ["memcached"]
        # What the Deployment's pod would run, with the rights of the account that it names.
        alone = dataclasses.replace(operation, services=("memcached",))
        async with operating(as_operator(connection, namespace, "memcached"), alone):
            await eventually(client, UMBRELLA, "cloud", namespace, lambda seen: is_true(seen.status.conditions))
        # Something holds the resource: its operator stays until it is gone.
        await client.patch(Memcached, "memcached", namespace, {"metadata": {"finalizers": [FINALIZER]}})
        await ask(client, namespace, {"operatorMode": "perService", "memcached": {"enabled": False}, "rabbitmq": {}})
        await eventually(client, Memcached, "memcached", namespace, lambda seen: seen.deleting)
        # It is there after the umbrella has done all the rest.
        rabbitmq = umbrella.operators.key("rabbitmq").name
        await eventually(client, Deployment, rabbitmq, namespace, bool)
        assert not (await client.get(Deployment, memcached, namespace)).deleting
        await client.patch(Memcached, "memcached", namespace, {"metadata": {"finalizers": None}})
        await gone(client, memcached, namespace)
    # With the chart go the operators that were started, and nothing of the cloud.
    helm("uninstall", RELEASE)
    await gone(client, rabbitmq, namespace)
    assert await client.find(RabbitMq, "rabbitmq", namespace) is not None


async def test_another_mode_than_the_installed_one_is_told_and_heals(
    client: Client, connection: Connection, namespace: str, operation: Operation, helm: Helm, tmp_path: Path
) -> None:
    await deploy(client, helm, namespace, "shared")
    await ask(client, namespace, {"operatorMode": "perService", "memcached": {}})
    alone = dataclasses.replace(operation, services=("core",))
    async with operating(as_operator(connection, namespace), alone):
        seen = await eventually(
            client, UMBRELLA, "cloud", namespace, lambda seen: find(seen.status.conditions, "InputReady")
        )
        said = find(seen.status.conditions, "InputReady")
        assert said is not None
        assert said.reason == "OperatorModeMismatch"
        assert "install their chart with --set operatorMode=perService" in said.message
        assert await client.find(Memcached, "memcached", namespace) is None
    await deploy(client, helm, namespace, "perService")
    umbrella = await core(client, namespace, operation, tmp_path)
    async with operating(as_operator(connection, namespace, "core"), umbrella):
        await eventually(client, Memcached, "memcached", namespace, bool)


async def test_operators_of_single_services_work_with_the_rights_of_these_alone(
    client: Client, connection: Connection, namespace: str, operation: Operation, helm: Helm, tmp_path: Path
) -> None:
    """All at once: to install the chart for each of them would take most of the time."""
    await deploy(client, helm, namespace, "perService")
    umbrella = await core(client, namespace, operation, tmp_path)
    words = sorted({team_of_kind(section.parts[0].kind) for section in services.sections()})
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(operating(as_operator(connection, namespace, "core"), umbrella))
        for word in words:
            alone = dataclasses.replace(operation, services=(word,))
            await stack.enter_async_context(operating(as_operator(connection, namespace, word), alone))
        sections: JsonObject = {section.name: {} for section in services.sections()}
        await ask(client, namespace, {"operatorMode": "perService", **sections})
        async with asyncio.TaskGroup() as group:
            for section in services.sections():
                group.create_task(worked(client, namespace, section))


async def worked(client: Client, namespace: str, section: Section) -> None:
    """Wait until an operator has done all for a section that needs no other service; it may not be forbidden any."""
    part = section.parts[0]
    # It begins when all that it may see is in its caches. What needs no other service is deployed.
    wanted = "CreateServiceReady" if section.infrastructure else ""

    def has_worked(seen: CustomResource) -> bool:
        said = seen.status.conditions
        assert "Forbidden" not in {condition.reason for condition in said}, (seen.key, said)
        return is_true(said, wanted) if wanted in part.kind.conditions else bool(said)

    await eventually(client, part.kind, part.name_of(part.usual_keys[0]), namespace, has_worked)
