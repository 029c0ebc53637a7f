"""Images that a change of a Glance would leave behind on a claim: when it is refused, and when it may go on."""

from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.annotations import NOT_NEEDED
from stackwright.controllers import doors
from stackwright.kube.builtin import Deployment, PersistentVolumeClaim
from stackwright.kube.resource import R, Resource
from stackwright.services.glance.images_left import problems
from stackwright.services.glance.kinds import Glance
from tests.unit.services.glances import glance

STORE = "[DEFAULT]\nenabled_backends = s3:s3\n"
RENAMED: dict[str, Any] = {"glanceAPIs": {"other": {}}}
EXTERNAL: dict[str, Any] = {"storage": {"external": True}, "customServiceConfig": STORE}
MADE = {"stackwright/made-for": "Glance/glance"}
OF_CLAIM = [{"name": "data", "persistentVolumeClaim": {"claimName": "glance-default"}}]


class World:
    """What is there, by kind and name; it can be listed, as caches can."""

    def __init__(self, *there: Resource) -> None:
        self.there = there

    def __call__(self, kind: type[Any], name: str, **_: str) -> Any:
        return next((each for each in self.of_kind(kind) if each.metadata.name == name), None)

    def of_kind(self, kind: type[R]) -> list[R]:
        return [each for each in self.there if isinstance(each, kind)]

    def known(self, kind: type[R], namespace: str | None) -> list[R]:
        return [each for each in self.of_kind(kind) if each.metadata.namespace == namespace]


def claim(annotations: dict[str, str] | None = None, **content: Any) -> PersistentVolumeClaim:
    metadata = {"name": "glance-default", "namespace": "openstack", "annotations": {**MADE, **(annotations or {})}}
    body = {"metadata": metadata, "spec": {"accessModes": ["ReadWriteOnce"]}, "status": {"phase": "Bound"}, **content}
    return msgspec.convert(body, PersistentVolumeClaim)


def deployment(name: str, volumes: list[Any]) -> Deployment:
    pod = {"template": {"spec": {"containers": [], "volumes": volumes}}}
    return msgspec.convert({"metadata": {"name": name, "namespace": "openstack"}, "spec": pod}, Deployment)


RUNNING = (claim(), deployment("glance-default-external", OF_CLAIM), deployment("glance-default-internal", OF_CLAIM))


def running(**spec: Any) -> Glance:
    """Return a Glance whose API `default` ran before."""
    resource = glance(**spec)
    status = msgspec.structs.replace(resource.status, glanceAPIReadyCounts={"default": 2})
    return msgspec.structs.replace(resource, status=status)


def paths(resource: Glance, *there: Resource) -> list[str]:
    return [path for path, _ in problems(resource, World(*there))]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param(RENAMED, "spec.glanceAPIs", id="renamed"),
        pytest.param(EXTERNAL, "spec.glanceAPIs[default].storage.external", id="stored-elsewhere"),
    ],
)
def test_a_change_that_leaves_images_behind_is_refused_and_says_how_to_go_on(spec: dict[str, Any], path: str) -> None:
    ((found, sentence),) = problems(running(**spec), World(*RUNNING))
    assert found == path
    assert "PersistentVolumeClaim glance-default may have images" in sentence
    assert f'{NOT_NEEDED}: "true"' in sentence


@pytest.mark.parametrize("spec", [RENAMED, EXTERNAL], ids=["renamed", "stored-elsewhere"])
def test_a_claim_that_a_user_made_is_minded_too(spec: dict[str, Any]) -> None:
    by_hand = msgspec.structs.replace(claim(), metadata=msgspec.structs.replace(claim().metadata, annotations={}))
    assert len(paths(running(**spec), by_hand, *RUNNING[1:])) == 1


def test_a_new_glance_that_does_not_ask_for_the_claim_of_an_earlier_one_is_refused() -> None:
    assert paths(glance(**RENAMED), claim()) == ["spec.glanceAPIs"]


MOUNTED = [{"extraVol": [{"volumes": OF_CLAIM, "mounts": [{"name": "data", "mountPath": "/former"}]}]}]


@pytest.mark.parametrize(
    ("spec", "there"),
    [
        pytest.param({}, RUNNING, id="nothing-changes"),
        pytest.param(
            {"glanceAPIs": {"default": {}, "other": {}}, "keystoneEndpoint": "other"}, RUNNING, id="one-more-beside"
        ),
        pytest.param(RENAMED, (claim({NOT_NEEDED: "true"}), *RUNNING[1:]), id="nobody-needs-it"),
        pytest.param(
            RENAMED,
            (
                claim(metadata={"name": "glance-default", "deletionTimestamp": "2026-11-15T00:00:00Z"}),
                *RUNNING[1:],
            ),
            id="it-is-being-deleted",
        ),
        pytest.param(RENAMED, (claim(status={"phase": "Pending"}), *RUNNING[1:]), id="it-never-had-a-volume"),
        pytest.param({**EXTERNAL, "extraMounts": MOUNTED}, RUNNING, id="the-user-mounts-it"),
        pytest.param(
            RENAMED, (claim({"stackwright/made-for": "Glance/glance-two"}), *RUNNING[1:]), id="it-is-anothers"
        ),
        pytest.param(EXTERNAL, (claim(), deployment("glance-default-external", [])), id="it-was-left-before"),
    ],
)
def test_a_change_that_leaves_nothing_behind_is_not_refused(spec: dict[str, Any], there: tuple[Resource, ...]) -> None:
    assert paths(running(**spec), *there) == []


@pytest.mark.parametrize(
    ("there", "refused"),
    [
        pytest.param((claim(),), True, id="a-new-one"),
        pytest.param((*RUNNING, running()), True, id="it-is-left-now"),
        pytest.param((claim(), running(**RENAMED)), False, id="it-was-left-before"),
    ],
)
def test_the_door_of_the_umbrella_asks_too(there: tuple[Resource, ...], refused: bool) -> None:
    body = {
        "metadata": {"name": "cloud", "namespace": "openstack"},
        "spec": {"secret": "s", "storageClass": "local", "glance": {"template": RENAMED}},
    }
    found = doors.check(None, msgspec.convert(body, services.control_plane()), World(*there).known)
    assert [error.field for error in found.errors] == ["spec.glance.template.glanceAPIs"] * refused
