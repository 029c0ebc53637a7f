"""Further volumes that no pod could have are refused by the path of what is wrong."""

from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.node_sections import OWN_MOUNTS, OWN_VOLUMES
from stackwright.blueprint import mounts
from stackwright.controllers import admission
from stackwright.controllers.dataplane import run_job
from stackwright.kube import fields
from stackwright.kube.resource import CustomResource
from stackwright.services.glance.kinds import Glance
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.surroundings import nothing_known

VOLUME = {"name": "keys", "secret": {"secretName": "keys"}}
MOUNT = {"name": "keys", "mountPath": "/keys"}
AT = "extraMounts[0].extraVol[0]"


def extra(volumes: list[Any], places: list[Any]) -> list[Any]:
    return [{"extraVol": [{"volumes": volumes, "mounts": places}]}]


def keystone(volumes: list[Any], places: list[Any]) -> KeystoneAPI:
    spec = {"secret": "s", "databaseInstance": "db", "extraMounts": extra(volumes, places)}
    return msgspec.convert({"spec": spec}, KeystoneAPI)


@pytest.mark.parametrize(
    ("volumes", "places", "expected"),
    [
        pytest.param([VOLUME], [MOUNT], [], id="a-volume-and-its-mount"),
        pytest.param([VOLUME], [], [], id="a-volume-that-nothing-mounts"),
        pytest.param([], [MOUNT], [(f"spec.{AT}.mounts[0].name", "there is: none")], id="no-volume-at-all"),
        pytest.param(
            [VOLUME],
            [MOUNT, {"name": "kyes", "mountPath": "/b"}],
            [(f"spec.{AT}.mounts[1].name", "there is no volume kyes beside it (there is: keys)")],
            id="a-misspelt-volume",
        ),
        pytest.param([{"emptyDir": {}}, {"name": {}}], [], [], id="volumes-without-a-name-are-told-elsewhere"),
        pytest.param(
            [VOLUME, VOLUME],
            [MOUNT],
            [(f"spec.{AT}.volumes[1].name", "another volume")],
            id="two-volumes-of-one-name",
        ),
        pytest.param(
            [VOLUME],
            [MOUNT, MOUNT],
            [(f"spec.{AT}.mounts[1].mountPath", "/keys has another mount")],
            id="two-mounts-at-one-path",
        ),
    ],
)
def test_a_mount_names_a_volume_beside_it(volumes: list[Any], places: list[Any], expected: list[Any]) -> None:
    found = mounts.problems(keystone(volumes, places))
    assert [path for path, _ in found] == [path for path, _ in expected]
    assert all(words in sentence for (_, sentence), (_, words) in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("resource", "path"),
    [
        pytest.param(keystone([], [MOUNT]), f"spec.{AT}.mounts[0].name", id="a-service"),
        pytest.param(
            msgspec.convert(
                {
                    "spec": {
                        "secret": "s",
                        "databaseInstance": "db",
                        "glanceAPIs": {"default": {"extraMounts": extra([], [MOUNT])}},
                    }
                },
                Glance,
            ),
            f"spec.glanceAPIs[default].{AT}.mounts[0].name",
            id="one-api-of-a-service",
        ),
        pytest.param(
            msgspec.convert(
                {"spec": {"secret": "s", "storageClass": "c", "extraMounts": extra([], [MOUNT])}},
                services.control_plane(),
            ),
            f"spec.{AT}.mounts[0].name",
            id="the-umbrella",
        ),
    ],
)
def test_admission_refuses_it_in_every_kind_that_has_mounts(resource: CustomResource, path: str) -> None:
    (webhook,) = admission.webhooks((type(resource),), nothing_known)
    assert webhook.validate is not None
    assert path in [error.field for error in webhook.validate(None, resource).errors]


@pytest.mark.parametrize(
    ("propagation", "met"),
    [
        pytest.param(((), ()), True, id="both-for-all-pods"),
        pytest.param((("Glance",), ()), True, id="one-for-all-pods"),
        pytest.param((("Glance",), ("glance", "Nova")), True, id="both-for-the-same"),
        pytest.param((("Glance",), ("Nova",)), False, id="for-different-pods"),
    ],
)
def test_two_entries_for_one_pod_do_not_collide(
    propagation: tuple[tuple[str, ...], tuple[str, ...]], met: bool
) -> None:
    entries = [{"volumes": [VOLUME], "mounts": [MOUNT], "propagation": names} for names in propagation]
    spec = {"secret": "s", "databaseInstance": "db", "extraMounts": [{"extraVol": entries}]}
    found = [path for path, _ in mounts.problems(msgspec.convert({"spec": spec}, KeystoneAPI))]
    at = "spec.extraMounts[0].extraVol[1]"
    assert found == ([f"{at}.volumes[0].name", f"{at}.mounts[0].mountPath"] if met else [])


@pytest.mark.parametrize("name", ["config", "data", "wait-token", "fernet-keys"])
def test_the_names_of_a_services_own_volumes_are_taken(name: str) -> None:
    blueprint = services.blueprint_of(KeystoneAPI)
    assert blueprint is not None
    volume = {"name": name, "emptyDir": {}}
    place = {"name": name, "mountPath": "/var/lib/openstack/config"}
    found = [path for path, _ in mounts.of_service(blueprint, keystone([volume], [place]))]
    assert found == [f"spec.{AT}.volumes[0].name", f"spec.{AT}.mounts[0].mountPath"]


def test_the_names_of_a_runs_own_volumes_are_taken() -> None:
    spec = {"playbookContents": "[]", "inventorySecretName": "s", "dataSources": [{"secretRef": {"name": "a"}}]}
    run = msgspec.convert({"metadata": {"name": "run", "namespace": "n"}, "spec": spec}, OpenStackAnsibleEE)
    pod = run_job.describe_job(run, "image:1")["spec"]["template"]["spec"]
    # Of the files of a service, the name or the path ends with a word that nobody writes by chance.
    assert {volume["name"] for volume in pod["volumes"]} - OWN_VOLUMES == {f"hidden-{fields.digest('a')}"}
    places = {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert places >= OWN_MOUNTS
    extra_volume = {"volumes": [{"name": "env", "emptyDir": {}}], "mounts": [{"name": "env", "mountPath": "/tmp"}]}
    run = msgspec.convert({"spec": {**spec, "extraMounts": [extra_volume]}}, OpenStackAnsibleEE)
    at = "spec.extraMounts[0]"
    assert [path for path, _ in mounts.problems(run)] == [f"{at}.volumes[0].name", f"{at}.mounts[0].mountPath"]


def test_volumes_of_a_run_are_checked_too() -> None:
    spec = {"extraMounts": [{"volumes": [VOLUME], "mounts": [{**MOUNT, "name": "kyes"}]}]}
    run = msgspec.convert({"metadata": {"name": "run", "namespace": "n"}, "spec": spec}, OpenStackAnsibleEE)
    sentence = "there is no volume kyes beside it (there is: keys); add it, or correct the name"
    assert mounts.problems(run) == (("spec.extraMounts[0].mounts[0].name", sentence),)
