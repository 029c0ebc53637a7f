"""A password of an account is changed in its Secret: a service says when nothing works with the former one any more."""

from typing import Any

import pytest

from stackwright.api.annotations import CONFIGURED_WITH
from stackwright.api.mariadb import MariaDBAccount
from stackwright.kube.builtin import Deployment, Pod, Secret, StatefulSet
from stackwright.services.nova.kinds.services import NovaConductor
from stackwright.simulator.annotations import PREFIX
from tests.functional import neighbours
from tests.functional.cloud import decoded
from tests.functional.services.case import ServiceCase
from tests.functional.services.cases import keystone, nova
from tests.functional.services.place import Place
from tests.functional.watching import eventually, is_false, is_ready

CASES = (keystone.CASES[0], nova.CASES[0])
SHARED = {"cellDatabaseInstance": "openstack", "messagingBus": {"cluster": "rabbitmq", "vhost": "cell1"}}
KEYSTONE, NOVA = ([pytest.param(case, id=case.name)] for case in CASES)


async def change_password(place: Place, name: str) -> str:
    """Write another password into the Secret of an account, and do what the account's controller does then.

    Return the version of the Secret.
    """
    client, namespace = place.client, place.namespace
    account = await client.get(MariaDBAccount, name, namespace)
    secret = {"metadata": {"name": account.spec.secret, "namespace": namespace}}
    body = {**secret, "stringData": {"DatabasePassword": "second-password"}}
    written = await client.apply(Secret, body, field_manager="user")
    status = {"currentSecret": account.spec.secret, "formerPasswordUsers": [f"{place.case.kind.kind.name}/{name}"]}
    await neighbours.tell(client, account, status)
    return written.metadata.resourceVersion


async def fault(place: Place, kind: type[Any], name: str, value: str | None) -> None:
    body = {"metadata": {"annotations": {f"{PREFIX}fault": value}}}
    await place.client.patch(kind, name, place.namespace, body)


async def assert_silent(place: Place, name: str) -> None:
    account = await place.client.get(MariaDBAccount, name, place.namespace)
    assert CONFIGURED_WITH not in account.metadata.annotations


def says(version: str) -> Any:
    return lambda account: account.metadata.annotations.get(CONFIGURED_WITH) == version


@pytest.mark.parametrize("case", KEYSTONE)
async def test_a_rollout_that_is_stuck_keeps_the_former_password(standing: Place, case: ServiceCase) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask()
    await standing.up()
    await assert_silent(standing, "keystone")
    selector = "app.kubernetes.io/instance=keystone,pod-template-hash"
    (serving,) = await client.list(Pod, namespace, labels=selector)
    await fault(standing, Pod, serving.metadata.name, "None")
    await fault(standing, Deployment, "keystone", "ProbeFailing")

    version = await change_password(standing, "keystone")
    await eventually(client, case.kind, "keystone", namespace, is_false("a new one is not ready yet"))
    assert {pod.metadata.name for pod in await client.list(Pod, namespace, labels=selector)} > {serving.metadata.name}
    await assert_silent(standing, "keystone")

    await fault(standing, Deployment, "keystone", None)
    await eventually(client, MariaDBAccount, "keystone", namespace, says(version))
    left = await client.list(Pod, namespace, labels=selector)
    assert serving.metadata.name not in {pod.metadata.name for pod in left}


@pytest.mark.parametrize("case", NOVA)
async def test_those_to_whom_a_login_is_handed_down_are_waited_for(standing: Place, case: ServiceCase) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask(cellTemplates={"cell0": {}, "cell1": SHARED})
    await standing.up()
    conductor = await client.get(StatefulSet, "nova-cell1-conductor", namespace)
    await fault(standing, StatefulSet, "nova-cell1-conductor", "ProbeFailing")

    version = await change_password(standing, "nova-cell1")
    await eventually(
        client,
        Secret,
        "nova-cell1-database",
        namespace,
        lambda secret: "second-password" in "".join(decoded(secret).values()),
    )
    await eventually(
        client,
        StatefulSet,
        "nova-cell1-conductor",
        namespace,
        lambda seen: seen.metadata.generation > conductor.metadata.generation,
    )
    await eventually(client, NovaConductor, "nova-cell1-conductor", namespace, lambda seen: not is_ready(seen))
    await assert_silent(standing, "nova-cell1")

    await fault(standing, StatefulSet, "nova-cell1-conductor", None)
    await eventually(client, MariaDBAccount, "nova-cell1", namespace, says(version))
    assert is_ready(await client.get(NovaConductor, "nova-cell1-conductor", namespace))
    # The other accounts of the service have no former password, so that nothing is written on them.
    await assert_silent(standing, "nova-api")
