"""Volumes of StatefulSets grow by their claims; the templates of claims stay as they were created."""

from typing import Any

import msgspec
import pytest

from stackwright.blueprint.service import Volume
from stackwright.controllers.service import growth, volumes
from stackwright.controllers.service.growth import Create, Grow
from stackwright.kube.builtin import PersistentVolumeClaim, StatefulSet, StorageClass
from stackwright.kube.resource import JsonObject, ObjectMeta, R, Resource
from stackwright.services.glance.kinds import Glance, GlanceSpec

LABELS = {"app.kubernetes.io/instance": "db"}


def template(size: str) -> JsonObject:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": "data", "labels": {"part": "data"}}, "spec": spec}


def rendered(size: str, replicas: int = 1) -> JsonObject:
    """Return a StatefulSet of a release, whose pods have volumes of a size."""
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "volumeClaimTemplates": [template(size)]}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}


def present(size: str) -> StatefulSet:
    return StatefulSet(metadata=ObjectMeta(name="db"), spec=rendered(size)["spec"])


def claim(size: str, volume: str = "", **status: Any) -> PersistentVolumeClaim:
    found = {"capacity": {"storage": volume}} if volume else {}
    return PersistentVolumeClaim(
        metadata=ObjectMeta(name="data-db-0"), spec=template(size)["spec"], status={**found, **status}
    )


def look(*there: Resource, grows: bool = True) -> Any:
    known = (*there, StorageClass(metadata=ObjectMeta(name="fast"), allowVolumeExpansion=grows))

    def find(kind: type[R], name: str, *, namespace: str = "") -> R | None:
        return next((item for item in known if isinstance(item, kind) and item.metadata.name == name), None)

    return find


def plan(size: str, *there: Resource, replicas: int = 1, grows: bool = True) -> growth.Growth:
    return growth.plan([rendered(size, replicas)], look(*there, grows=grows))


def test_a_stateful_set_keeps_the_size_of_its_templates() -> None:
    (kept,) = growth.keep_templates([rendered("20G", 3)], look(present("10G")))
    assert kept == rendered("10G", 3)


def test_a_stateful_set_that_is_not_there_gets_the_new_size() -> None:
    assert growth.keep_templates([rendered("20G")], look()) == (rendered("20G"),)


@pytest.mark.parametrize(
    ("asked", "there", "grows", "size"),
    [
        pytest.param("20G", claim("10G", "10G"), True, "20G", id="it-grows"),
        pytest.param("20G", claim("20G", "10G"), True, "", id="it-is-asked-already"),
        pytest.param("20G", claim("20G", "20G"), True, "", id="it-has-grown"),
        pytest.param("20G", claim("10G", "10G"), False, "", id="its-class-lets-nothing-grow"),
        pytest.param("20G", claim("10G"), True, "", id="it-has-no-volume-yet"),
        pytest.param("15G", claim("20G", "10G"), True, "15G", id="less-than-the-storage-could-not-give"),
        pytest.param("10G", claim("20G", "10G"), True, "", id="what-it-has-cannot-be-asked-for-again"),
        pytest.param("5G", claim("10G", "10G"), True, "", id="nothing-shrinks"),
    ],
)
def test_a_claim_asks_for_what_its_volume_lacks(
    asked: str, there: PersistentVolumeClaim, grows: bool, size: str
) -> None:
    found = plan(asked, there, present("10G"), grows=grows)
    assert found.steps == ((Grow(there, size),) if size else ())


def test_further_pods_find_claims_of_the_new_size() -> None:
    (step,) = plan("20G", claim("20G", "20G"), present("10G"), replicas=2).steps
    labels = {"part": "data", **LABELS}
    assert step == Create({"metadata": {"name": "data-db-1", "labels": labels}, "spec": template("20G")["spec"]})


def test_claims_that_the_stateful_set_creates_itself_are_left_to_it() -> None:
    assert plan("10G", present("10G"), replicas=3).steps == ()
    assert plan("10G", replicas=3).steps == ()


def test_what_has_not_grown_says_why() -> None:
    failed = {"type": "ControllerResizeError", "status": "True", "message": "no space"}
    there = claim("20G", "10G", conditions=[failed])
    assert plan("20G", there, present("10G")).growing == ((there, "20G"),)
    found = growth.tell(there, "20G", "DeploymentReady")
    assert (found.status, found.severity) == ("True", "Warning"), "nothing else is held up"
    assert found.message == "PersistentVolumeClaim data-db-0 grows from 10G to 20G: no space"
    assert growth.tell(claim("20G", "10G"), "20G", "DeploymentReady").severity == "", "that is as it should be"


@pytest.mark.parametrize(
    ("there", "made", "why"),
    [
        pytest.param(claim("10G", "10G"), "10G", "has 10G and cannot grow to 20G", id="it-does-not-grow"),
        pytest.param(claim("10G", "15G"), "10G", "set 15G", id="storage-gave-more"),
        pytest.param(claim("10G", "100G"), "10G", "", id="it-is-large-enough"),
        pytest.param(claim("10G", "10G"), "20G", "", id="it-was-there-before"),
    ],
)
def test_a_size_that_was_accepted_before_is_told_where_nothing_grows(
    there: PersistentVolumeClaim, made: str, why: str
) -> None:
    found = plan("20G", there, present(made), grows=False)
    assert (found.steps, found.growing, len(found.fixed)) == ((), (), bool(why))
    assert all(why in sentence for sentence in found.fixed)


def test_a_class_that_is_gone_is_told_as_such() -> None:
    def classless(kind: type[R], name: str, *, namespace: str = "") -> R | None:
        return None if kind is StorageClass else look(claim("10G", "10G"), present("10G"))(kind, name)

    (told,) = growth.plan([rendered("20G")], classless).fixed
    assert told.endswith("its StorageClass fast does not exist; create it with allowVolumeExpansion, or set 10G")


def test_a_restored_claim_that_is_being_filled_is_left_alone() -> None:
    assert plan("10G", claim("10T"), present("10G")) == growth.Growth()


def test_a_template_without_a_size_stays_as_the_chart_has_it() -> None:
    body = rendered("10G")
    del body["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]
    assert growth.keep_templates([body], look(present("10G"))) == (body,)


def test_a_claim_without_a_volume_that_asks_for_too_much_says_the_way_out() -> None:
    ((there, size),) = plan("10G", claim("10T"), present("10T")).growing
    assert "--cascade=orphan" in growth.tell(there, size, "DeploymentReady").message


@pytest.mark.parametrize(
    ("asked", "there", "size"),
    [
        pytest.param("20G", claim("10G", "10G"), "20G", id="it-grows"),
        pytest.param("10G", claim("20G", "10G"), "20G", id="it-has-what-was-set-back"),
        pytest.param("5G", claim("10G", "10G"), "10G", id="it-does-not-shrink"),
        pytest.param("", claim("10G", "10G"), "10G", id="nobody-says-its-size"),
        pytest.param("5G", claim("10G"), "10G", id="it-has-no-volume-yet"),
        pytest.param("20G", None, "20G", id="it-is-new"),
        pytest.param("", None, "3G", id="it-is-new-and-usual"),
    ],
)
def test_a_volume_of_images_never_asks_for_less_than_it_has(
    asked: str, there: PersistentVolumeClaim | None, size: str
) -> None:
    named = [msgspec.structs.replace(there, metadata=ObjectMeta(name="one-a"))] if there else []
    resource = Glance(metadata=ObjectMeta(name="one"), spec=GlanceSpec(secret="s", databaseInstance="db"))
    body = volumes.claim(Volume("a", asked, "3G"), resource, look(*named)).body
    assert body["spec"]["resources"]["requests"]["storage"] == size
