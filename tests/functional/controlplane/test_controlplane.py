"""The umbrella on a real API server; the services' operators are played."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.api.annotations import PAUSED
from stackwright.api.controlplane import OpenStackControlPlaneSpec
from stackwright.controllers.controlplane.passwords import Add, carry_out
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.conditions import is_true
from stackwright.kube.errors import Invalid, Retry
from stackwright.kube.resource import ObjectMeta
from stackwright.kube.runtime import Runtime
from tests.functional.controlplane.clouds import KINDS, UMBRELLA, Umbrella
from tests.functional.running import Passes, patches
from tests.functional.watching import eventually

EXAMPLE = Path(__file__).parents[3] / "examples" / "cloud" / "keystone.yaml"

MARIADB = "OpenStackControlPlaneMariaDBReady"
INFRASTRUCTURE = "OpenStackControlPlaneInfrastructureReady"
KEYSTONE = "OpenStackControlPlaneKeystoneAPIReady"


async def test_the_example_becomes_a_cloud_that_is_ready_when_its_services_are(cloud: Umbrella) -> None:
    (example,) = yaml.safe_load_all(EXAMPLE.read_text(encoding="utf-8"))
    await cloud.ask(example["spec"])
    for kind, name in (("Galera", "openstack"), ("Memcached", "memcached"), ("KeystoneAPI", "keystone")):
        await cloud.there(kind, name)
    assert (await cloud.condition("InputReady", "True")).reason == "Ready"
    assert (await cloud.condition(KEYSTONE, "False")).reason == "Requested"

    await cloud.report("Galera", "openstack")
    await cloud.report("Memcached", "memcached")
    await cloud.condition(INFRASTRUCTURE, "True")
    await cloud.report("KeystoneAPI", "keystone")

    umbrella = await cloud.until(lambda umbrella: is_true(umbrella.status.conditions))
    assert {(state.kind, state.name) for state in umbrella.status.services if state.ready} == {
        ("Galera", "openstack"),
        ("KeystoneAPI", "keystone"),
        ("Memcached", "memcached"),
    }
    assert {(one.kind, one.neededBy) for one in umbrella.status.resolved} == {
        ("Galera", ("KeystoneAPI keystone",)),
        ("Memcached", ("KeystoneAPI keystone",)),
    }
    assert umbrella.status.overridden == ()


async def test_a_settled_cloud_is_not_written_to(cloud: Umbrella) -> None:
    await cloud.write_passwords(AdminPassword="mine")
    await cloud.ask({"keystone": {"template": {"resources": {"requests": {"cpu": "0.5"}}}}})
    for kind, name in (("Galera", "openstack"), ("Memcached", "memcached"), ("KeystoneAPI", "keystone")):
        await cloud.report(kind, name)
    umbrella = await cloud.until(lambda umbrella: is_true(umbrella.status.conditions))
    await cloud.worked_through(umbrella)

    before, passes = patches(), Passes("openstackcontrolplane")
    label = {"metadata": {"labels": {"wake": "up"}}}
    await cloud.worked_through(await cloud.client.patch(Secret, "osp-secret", cloud.namespace, label))
    assert passes.ended == 1
    assert patches() - before == 1


async def test_a_section_comes_and_goes(cloud: Umbrella) -> None:
    await cloud.ask({"galera": {"templates": {"openstack": {}, "cell1": {"replicas": 3}}}, "memcached": {}})
    await cloud.there("Galera", "openstack", "cell1")
    await cloud.there("Memcached", "memcached")

    await cloud.ask({"galera": {"templates": {"openstack": {}}}, "memcached": {"enabled": False}})
    await cloud.there("Galera", "openstack")
    await cloud.there("Memcached")
    assert (await cloud.condition("OpenStackControlPlaneMemcachedReady", "True", "Disabled")).message

    await cloud.ask({})
    await cloud.there("Galera")
    await cloud.condition(MARIADB, "True", "NotRequested")


async def test_a_resource_says_what_was_said_and_nothing_of_its_defaults(cloud: Umbrella) -> None:
    await cloud.ask({"keystone": {"template": {"httpdCustomization": {"customConfigSecret": "mine"}}}})
    await cloud.there("KeystoneAPI", "keystone")

    assert await cloud.owned("KeystoneAPI", "keystone") == {
        "f:secret": {},
        "f:databaseInstance": {},
        "f:httpdCustomization": {"f:customConfigSecret": {}},
    }


async def test_a_field_that_a_user_set_on_the_resource_stays_and_is_listed(cloud: Umbrella) -> None:
    await cloud.ask({"keystone": {"template": {"replicas": 2, "region": "north"}}})
    await cloud.there("KeystoneAPI", "keystone")
    body: dict[str, Any] = {"metadata": {"name": "keystone", "namespace": cloud.namespace}, "spec": {"replicas": 5}}
    await cloud.client.apply(KINDS["KeystoneAPI"], body, field_manager="user")
    umbrella = await cloud.until(lambda umbrella: umbrella.status.overridden)

    assert [(one.resource, one.field, one.manager) for one in umbrella.status.overridden] == [
        ("KeystoneAPI/keystone", ".spec.replicas", "user")
    ]
    # What the umbrella says of the other fields goes on being so; what it never said is the user's without a word.
    body["spec"] |= {"apiTimeout": 120}
    await cloud.client.apply(KINDS["KeystoneAPI"], body, field_manager="user")
    await cloud.ask({"keystone": {"template": {"replicas": 2, "region": "south"}}})
    found: Any = await eventually(
        cloud.client, KINDS["KeystoneAPI"], "keystone", cloud.namespace, lambda found: found.spec.region == "south"
    )
    assert (found.spec.replicas, found.spec.apiTimeout) == (5, 120)


async def test_with_refuse_nothing_is_deployed_that_was_not_asked_for(cloud: Umbrella) -> None:
    await cloud.write_passwords(AdminPassword="mine")
    await cloud.ask({"dependencyPolicy": "Refuse", "keystone": {}, "memcached": {}})
    found = await cloud.condition(KEYSTONE, "False", "DependencyMissing")
    assert "add spec.galera.templates.openstack" in found.message
    assert found.severity == "Error"
    await cloud.there("Memcached", "memcached")
    await cloud.there("KeystoneAPI")
    await cloud.there("Galera")

    await cloud.ask({"dependencyPolicy": "Refuse", "keystone": {}, "memcached": {}, "galera": {}})
    await cloud.there("KeystoneAPI", "keystone")
    assert (await cloud.condition(KEYSTONE, "False", "Requested")).severity == "Info"


async def test_a_dependency_that_is_disabled_goes_and_who_needs_it_says_so(cloud: Umbrella) -> None:
    await cloud.ask({"keystone": {}})
    await cloud.there("KeystoneAPI", "keystone")
    await cloud.report("KeystoneAPI", "keystone")

    await cloud.ask({"keystone": {}, "galera": {"enabled": False}})
    await cloud.there("Galera")
    found = await cloud.condition(KEYSTONE, "False", "DependencyMissing")
    assert "spec.galera.enabled is false" in found.message
    await cloud.there("KeystoneAPI", "keystone")


async def test_what_is_there_already_is_used_and_left_alone(cloud: Umbrella) -> None:
    await cloud.write("Galera", "openstack", {"storageClass": "theirs", "storageRequest": "1G"})
    await cloud.ask({"keystone": {}, "galera": {"templates": {"openstack": {"replicas": 3}}}})
    await cloud.there("KeystoneAPI", "keystone")
    await cloud.condition(MARIADB, "False", "Requested")
    await cloud.report("Galera", "openstack")
    await cloud.condition(MARIADB, "True")

    (galera,) = await cloud.there("Galera", "openstack")
    assert (galera.spec.storageClass, galera.spec.replicas) == ("theirs", 1)
    assert galera.metadata.ownerReferences == ()
    # When it goes, there is a place for ours.
    await cloud.client.delete(KINDS["Galera"], "openstack", cloud.namespace)
    ours: Any = await eventually(
        cloud.client, KINDS["Galera"], "openstack", cloud.namespace, lambda found: found.metadata.ownerReferences
    )
    assert ours.spec.replicas == 3


async def test_passwords_are_generated_once_and_outlive_the_cloud(cloud: Umbrella) -> None:
    await cloud.ask({"passwordPolicy": "Generate", "keystone": {}})
    assert await cloud.passwords("AdminPassword") == {"AdminPassword": "generated-1-24"}
    await cloud.condition("InputReady", "True")

    # A key that is wanted later is added; nothing else is touched.
    selected = {"template": {"passwordSelectors": {"admin": "RootPassword"}}}
    await cloud.ask({"passwordPolicy": "Generate", "keystone": selected})
    both = {"AdminPassword": "generated-1-24", "RootPassword": "generated-2-24"}
    assert await cloud.passwords("AdminPassword", "RootPassword") == both

    await cloud.client.delete(UMBRELLA, "cloud", cloud.namespace)
    secret = await cloud.client.get(Secret, "osp-secret", cloud.namespace)
    assert secret.metadata.ownerReferences == ()
    await cloud.ask({"passwordPolicy": "Generate", "keystone": selected})
    await cloud.condition("InputReady", "True")
    assert await cloud.passwords("AdminPassword", "RootPassword") == both


async def test_a_missing_secret_and_a_missing_key_are_named_and_heal(cloud: Umbrella) -> None:
    await cloud.ask({"keystone": {}})
    found = await cloud.condition("InputReady", "False", "SecretMissing")
    assert f"kubectl -n {cloud.namespace} create secret generic osp-secret" in found.message

    await cloud.write_passwords(Other="value")
    found = await cloud.condition("InputReady", "False", "SecretKeyMissing")
    assert "AdminPassword" in found.message
    assert "value" not in found.message

    await cloud.ask({"keystone": {}, "passwordPolicy": "Generate"})
    await cloud.write_passwords(Other="value", AdminPassword="mine")
    await cloud.condition("InputReady", "True")
    assert await cloud.passwords("Other", "AdminPassword") == {"Other": "value", "AdminPassword": "mine"}


async def test_the_second_control_plane_waits_until_the_first_is_gone(cloud: Umbrella) -> None:
    await cloud.ask({"memcached": {}}, name="first")
    await cloud.there("Memcached", "memcached")
    # Two of the same second are told apart by their names.
    await cloud.ask({"memcached": {"templates": {"other": {}}}}, name="second")
    found = await cloud.condition("InputReady", "False", "NotAlone", name="second")
    assert "has OpenStackControlPlane first already" in found.message
    assert [one.metadata.name for one in await cloud.client.list(KINDS["Memcached"], cloud.namespace)] == ["memcached"]

    await cloud.client.delete(UMBRELLA, "first", cloud.namespace)
    await eventually(cloud.client, KINDS["Memcached"], "other", cloud.namespace, bool)
    await cloud.condition("InputReady", "True", name="second")


async def test_what_is_not_supported_yet_is_said_and_changes_nothing(cloud: Umbrella) -> None:
    await cloud.ask({"memcached": {}})
    await cloud.there("Memcached", "memcached")

    await cloud.ask({"tls": {"podLevel": {"enabled": False}}})
    found = await cloud.condition("InputReady", "False", "NotSupported")
    assert found.message == "spec.tls.ingress.enabled: TLS is not supported yet; set it to false"
    await cloud.there("Memcached", "memcached")

    await cloud.ask({})
    await cloud.condition("InputReady", "True")
    await cloud.there("Memcached")


async def test_what_the_service_refuses_is_told_in_its_condition(cloud: Umbrella) -> None:
    await cloud.ask({"keystone": {"template": {"externalKeystoneAPI": True}}})

    found = await cloud.condition(KEYSTONE, "False", "Invalid")
    assert "needs the URLs of both its endpoints" in found.message


async def test_a_paused_control_plane_does_nothing(cloud: Umbrella) -> None:
    body: dict[str, Any] = {
        "metadata": {"name": "cloud", "namespace": cloud.namespace, "annotations": {PAUSED: "true"}},
        "spec": {"secret": "osp-secret", "storageClass": "local", "passwordPolicy": "Generate", "keystone": {}},
    }
    passes = Passes("openstackcontrolplane")
    await cloud.worked_through(await cloud.client.apply(UMBRELLA, body, field_manager="user"))
    await passes.reach(1)
    assert await cloud.client.find(Secret, "osp-secret", cloud.namespace) is None
    assert await cloud.client.list(KINDS["KeystoneAPI"], cloud.namespace) == []

    body["metadata"]["annotations"] = {PAUSED: "false"}
    await cloud.client.apply(UMBRELLA, body, field_manager="user")
    await cloud.there("KeystoneAPI", "keystone")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"keystone": {"template": {"replicas": 99}}}, "spec.keystone.template.replicas", id="a-bound"),
        pytest.param(
            {"keystone": {"apiOverride": {"service": {"admin": {}}}}}, "spec.keystone.apiOverride.service", id="a-key"
        ),
        pytest.param(
            {"galera": {"templates": {"db": {"storageRequest": "big"}}}},
            "spec.galera.templates.db.storageRequest",
            id="a-pattern-in-a-map",
        ),
        pytest.param({"passwordPolicy": "Guess"}, "spec.passwordPolicy", id="a-policy"),
    ],
)
async def test_a_template_is_checked_when_it_is_written(cloud: Umbrella, spec: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        await cloud.ask(spec)

    assert field in {cause.field for cause in refusal.value.causes}


@pytest.mark.parametrize("version", [pytest.param("", id="made"), pytest.param("1", id="changed")])
async def test_a_password_that_came_meanwhile_is_never_written_over(
    client: Client, namespace: str, version: str
) -> None:
    # No controller works here: it would be stopped while it still connects.
    cloud = Umbrella(client, namespace, runtime=Runtime(client, ()))
    await cloud.write_passwords(AdminPassword="theirs")
    metadata = ObjectMeta(name="cloud", namespace=cloud.namespace)
    umbrella = UMBRELLA(metadata=metadata, spec=OpenStackControlPlaneSpec(secret="osp-secret", storageClass="local"))

    with pytest.raises(Retry, match="Secret osp-secret was changed meanwhile"):
        await carry_out(Add(("AdminPassword",), version), umbrella, cloud.client, str)

    assert await cloud.passwords("AdminPassword") == {"AdminPassword": "theirs"}
