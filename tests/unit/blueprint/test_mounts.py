"""Further volumes that no pod could have are refused by the path of what is wrong."""

from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.blueprint import mounts
from stackwright.controllers import admission
from stackwright.kube.resource import CustomResource
from stackwright.services.glance.kinds import Glance
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.known import nothing_known

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
        pytest.param(
            [{"emptyDir": {}}], [], [(f"spec.{AT}.volumes[0].name", "needs a name")], id="a-volume-without-a-name"
        ),
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


def test_volumes_of_a_run_are_checked_too() -> None:
    spec = {"extraMounts": [{"volumes": [VOLUME], "mounts": [{**MOUNT, "name": "kyes"}]}]}
    run = msgspec.convert({"metadata": {"name": "run", "namespace": "n"}, "spec": spec}, OpenStackAnsibleEE)
    sentence = "there is no volume kyes beside it (there is: keys); add it, or correct the name"
    assert mounts.problems(run) == (("spec.extraMounts[0].mounts[0].name", sentence),)
