"""`stackwright take` for the umbrella: fields that a user set on a service's resource go back to what it says."""

from typing import Any

from stackwright.local.apiserver.server import Shared
from tests.functional.commands import command
from tests.functional.controlplane.clouds import KINDS, Umbrella


async def test_a_field_of_a_service_is_shown_and_taken_back(cloud: Umbrella, apiserver: Shared) -> None:
    await cloud.ask({"keystone": {"template": {"replicas": 2}}})
    await cloud.there("KeystoneAPI", "keystone")
    body: dict[str, Any] = {"metadata": {"name": "keystone", "namespace": cloud.namespace}, "spec": {"replicas": 5}}
    await cloud.client.apply(KINDS["KeystoneAPI"], body, field_manager="user")
    await cloud.until(lambda umbrella: umbrella.status.overridden)

    done = await command(apiserver.kubeconfig, cloud.namespace, "take", "cloud", "--yes")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [
        "OpenStackControlPlane cloud: what others set, and what it becomes when the operator takes it back:",
        "  KeystoneAPI/keystone .spec.replicas, by user",
        "    now:   5",
        "    after: 2",
    ]
    assert (await cloud.client.get(KINDS["KeystoneAPI"], "keystone", cloud.namespace)).spec.replicas == 2
