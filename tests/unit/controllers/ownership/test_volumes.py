"""Volumes that StatefulSets create belong to the resource whose pods have them."""

import msgspec
import pytest

from stackwright.controllers.ownership import Around, check, claims, keeper_of, taken
from stackwright.kube.builtin import PersistentVolumeClaim, StatefulSet
from stackwright.kube.resource import OwnerReference
from tests.surroundings import listing
from tests.unit.controllers.ownership.making import made, said, seen, there

VOLUME = "data-openstack-galera-0"
LABELS = {
    "app.kubernetes.io/name": "mariadb",
    "app.kubernetes.io/instance": "openstack",
    "app.kubernetes.io/component": "galera",
}


def test_volumes_of_pods_that_keep_data_have_an_owner() -> None:
    galera, glance = made("Galera", "openstack"), made("Glance", "data-openstack-galera", {"glanceAPIs": {"0": {}}})
    for one, other in ((galera, glance), (glance, galera)):
        first, second = seen(one), made(other.kind.name, other.metadata.name, creationTimestamp="2026-11-16T00:00:00Z")
        second = msgspec.structs.replace(other, metadata=second.metadata)
        assert taken(first, listing(first, second)) == ()
        assert said(taken(second, listing(first, second))) == [
            f"metadata.name: PersistentVolumeClaim {VOLUME} belongs to {one.kind.name} {one.metadata.name}; "
            "give this resource another name"
        ]
        assert check(None, second, listing(first)).errors


def test_a_volume_that_the_pods_of_another_release_left_is_not_taken_over() -> None:
    glance = made("Glance", "data-openstack-galera", {"glanceAPIs": {"0": {}}})
    left = there(PersistentVolumeClaim, VOLUME, labels=LABELS)
    assert said(taken(glance, listing(glance, left))) == [
        f"metadata.name: PersistentVolumeClaim {VOLUME} was created for release openstack and is kept for it; give "
        "this resource another name, or take the label app.kubernetes.io/instance off it to hand it over"
    ]
    assert check(None, glance, listing(left)).errors
    # A database of the same name finds its own, and one that runs keeps what it has, as after a restored backup.
    galera = made("Galera", "openstack")
    assert taken(galera, listing(galera, left)) == ()
    assert check(None, galera, listing(left)).errors == ()
    assert taken(seen(glance), listing(seen(glance), left)) == ()
    # What a user prepared says nothing.
    assert taken(glance, listing(glance, there(PersistentVolumeClaim, VOLUME))) == ()


def test_a_resource_whose_pods_have_a_volume_keeps_it_after_a_refusal() -> None:
    """It was refused for another reason, such as a port, which is gone since."""
    glance = made("Glance", "data-openstack-galera", {"glanceAPIs": {"0": {}}})
    left = there(PersistentVolumeClaim, VOLUME, labels=LABELS)
    refused = seen(glance, refused=True)
    owner = OwnerReference(
        apiVersion="glance.openstack.org/v1beta1",
        kind="Glance",
        name=glance.metadata.name,
        uid=glance.metadata.uid,
        controller=True,
    )
    spec = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
    pods = there(StatefulSet, "openstack-galera", spec=spec, ownerReferences=(owner,))
    assert taken(refused, listing(refused, left, pods)) == ()
    # Pods of others, and of its own without this volume, do not count.
    others = there(StatefulSet, "openstack-galera", spec=spec)
    another = there(StatefulSet, "galera", spec=spec, ownerReferences=(owner,))
    assert taken(refused, listing(refused, left, others, another))


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({"app.kubernetes.io/instance": "cloud"}, id="the-label-of-a-tool-that-deploys"),
        pytest.param({**LABELS, "app.kubernetes.io/component": ""}, id="without-a-component"),
        pytest.param({**LABELS, "app.kubernetes.io/name": "volumes"}, id="of-another-program"),
    ],
)
def test_a_volume_that_a_user_prepared_may_have_any_labels(labels: dict[str, str]) -> None:
    glance = made("Glance", "glance", {"glanceAPIs": {"default": {}}})
    prepared = there(PersistentVolumeClaim, "glance-default", labels=labels)
    mine = map(str, claims(glance, Around(listing(glance), "cloud")))
    assert "PersistentVolumeClaim glance-default" in mine
    assert taken(glance, listing(glance, prepared)) == ()
    assert check(None, glance, listing(prepared)).errors == ()
    # The pods of a StatefulSet would take it without asking, so that the release which it names is believed there.
    owner = labels["app.kubernetes.io/instance"]
    assert keeper_of(prepared, glance) == f"release {owner}"
    assert keeper_of(prepared, made("Memcached", owner)) == ""
