"""What a service would refuse later is refused at the door, in the resource itself and in the umbrella's template."""

from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint import name_lengths
from stackwright.blueprint.service import Service as Blueprint
from stackwright.controllers import doors
from stackwright.controllers.surroundings import Known
from stackwright.kube.builtin import PersistentVolumeClaim, StatefulSet, StorageClass
from stackwright.kube.resource import ObjectMeta
from stackwright.services.glance.kinds import Glance
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.mariadb.kinds import Galera
from tests.functional.crds.samples import LEAST
from tests.surroundings import listing, nothing_known

NEEDED = {"secret": "s", "databaseInstance": "db"}


def made(kind: type[CustomResource], spec: JsonObject, name: str = "one") -> CustomResource:
    return msgspec.convert({"metadata": {"name": name, "namespace": "here"}, "spec": spec}, kind)


def refused(kind: type[CustomResource], spec: JsonObject, name: str = "one") -> dict[str, str]:
    found = doors.check(None, made(kind, spec, name), nothing_known)
    return {error.field: error.cause.message for error in found.errors}


def umbrella(**sections: JsonObject) -> dict[str, str]:
    return refused(services.control_plane(), {"secret": "s", "storageClass": "local", **sections})


def test_a_ring_that_loses_keys_of_living_tokens_is_refused() -> None:
    spec = {"fernetMaxActiveKeys": 3, "fernetRotationDays": 1}
    assert "would lose the key" in refused(KeystoneAPI, {**NEEDED, **spec})["spec.fernetMaxActiveKeys"]
    there = umbrella(keystone={"template": spec})
    assert "would lose the key" in there["spec.keystone.template.fernetMaxActiveKeys"]


def test_two_nodes_of_a_database_are_refused_in_the_umbrella_too() -> None:
    there = umbrella(galera={"templates": {"openstack": {"storageRequest": "5G", "replicas": 2}}})
    assert list(there) == ["spec.galera.templates[openstack].replicas"]


def test_a_storage_class_may_come_later() -> None:
    assert umbrella(galera={"templates": {"openstack": {"storageRequest": "5G"}}}) == {}


def there(size: str, volume: str = "", *, grows: bool) -> Known:
    """Return what knows a database whose node has a claim of a size, and a volume."""
    claim = {"spec": {"resources": {"requests": {"storage": size}}}}
    capacity = {"capacity": {"storage": volume or size}}
    return listing(
        StorageClass(metadata=ObjectMeta(name="local"), allowVolumeExpansion=grows),
        StatefulSet(metadata=ObjectMeta(name="one-galera", namespace="here"), spec={"volumeClaimTemplates": [claim]}),
        PersistentVolumeClaim(
            metadata=ObjectMeta(name="data-one-galera-0", namespace="here"),
            spec={**claim["spec"], "storageClassName": "local"},
            status=capacity,
        ),
    )


@pytest.mark.parametrize(
    ("size", "grows", "refused"),
    [
        pytest.param("10G", False, False, id="it-stays"),
        pytest.param("10Gi", False, True, id="it-would-grow"),
        pytest.param("10Gi", True, False, id="it-grows"),
        pytest.param("9G", False, False, id="it-does-not-shrink"),
    ],
)
def test_a_volume_grows_only_where_its_class_lets_it(size: str, grows: bool, refused: bool) -> None:
    resource = made(Galera, {"storageClass": "local", "storageRequest": size})
    found = [error.cause.message for error in doors.check(None, resource, there("10G", grows=grows)).errors]
    assert bool(found) == refused
    assert not found or "has 10G and cannot grow to 10Gi, because its StorageClass local does not allow" in found[0]
    template = {"galera": {"templates": {"one": {"storageClass": "local", "storageRequest": size}}}}
    cloud = made(services.control_plane(), {"secret": "s", "storageClass": "local", **template})
    stated = [error.field for error in doors.check(None, cloud, there("10G", grows=grows)).errors]
    assert stated == (["spec.galera.templates[one].storageRequest"] if refused else [])
    # What was accepted before does not keep anything else from being changed.
    for before in (resource, cloud):
        assert doors.check(before, before, there("10G", grows=grows)).errors == ()
    larger = made(Galera, {"storageClass": "local", "storageRequest": "20G"})
    assert len(doors.check(resource, larger, there("10G", grows=grows)).errors) == (not grows)


def test_a_volume_that_is_larger_than_its_claim_need_not_grow() -> None:
    resource = made(Galera, {"storageClass": "local", "storageRequest": "50G"})
    assert doors.check(None, resource, there("10G", "100G", grows=False)).errors == ()


@pytest.mark.parametrize(
    ("size", "volume", "warned"),
    [
        pytest.param("5G", "10G", True, id="it-is-larger"),
        pytest.param("10G", "10Gi", False, id="storage-gave-a-little-more"),
        pytest.param("10G", "20G", False, id="it-is-larger-than-its-claim"),
    ],
)
def test_that_a_volume_does_not_shrink_is_a_warning(size: str, volume: str, warned: bool) -> None:
    resource = made(Galera, {"storageClass": "local", "storageRequest": size})
    found = doors.check(None, resource, there("10G", volume, grows=True))
    assert found.errors == ()
    assert any("does not shrink" in warning for warning in found.warnings) == warned


def test_a_volume_of_images_grows_where_its_class_lets_it() -> None:
    for grows in (True, False):
        known = listing(
            StorageClass(metadata=ObjectMeta(name="local"), allowVolumeExpansion=grows),
            PersistentVolumeClaim(
                metadata=ObjectMeta(name="one-default", namespace="here"),
                spec={"storageClassName": "local", "resources": {"requests": {"storage": "10G"}}},
            ),
        )
        resource = made(Glance, {**NEEDED, "storage": {"storageRequest": "20G", "storageClass": "local"}})
        found = [error.field for error in doors.check(None, resource, known).errors]
        assert found == ([] if grows else ["spec.glanceAPIs[default].storage.storageRequest"])


def test_a_bad_value_is_told_once() -> None:
    assert len(umbrella(keystone={"template": {"replicas": -1}})) == 1


# Names.


@pytest.mark.parametrize("blueprint", services.blueprints(), ids=lambda blueprint: blueprint.name)
def test_the_longest_name_of_a_kind_is_told(blueprint: Blueprint[Any, Any]) -> None:
    spec = LEAST[blueprint.kind.kind.name]
    resource = made(blueprint.kind, spec, "n" * 60)
    ((path, sentence),) = name_lengths.problems(blueprint, resource)
    longest = int(sentence.split()[2])
    assert path == "metadata.name"
    assert longest <= name_lengths.RELEASE
    fits = made(blueprint.kind, spec, "n" * longest)
    assert list(name_lengths.problems(blueprint, fits)) == []


@pytest.mark.parametrize("name", ["a.b", "1a"], ids=["a-dot", "a-digit-first"])
def test_a_name_that_no_service_can_have_is_refused(name: str) -> None:
    assert "beginning with a letter" in refused(KeystoneAPI, NEEDED, name)["metadata.name"]


def test_a_name_is_counted_with_what_is_added() -> None:
    apis: JsonObject = {"glanceAPIs": {"n" * 30: {}}}
    assert "metadata.name" in refused(Glance, {**NEEDED, **apis}, "g" * 28)
    assert "metadata.name" not in refused(Glance, {**NEEDED, **apis}, "g" * 15)


def test_the_names_of_templates_are_those_of_resources() -> None:
    name = "r" * 60
    there = umbrella(rabbitmq={"templates": {name: {}}})
    assert "the StatefulSet <name>-server may have 52" in there[f"spec.rabbitmq.templates[{name}]"]


def test_a_cache_fits_into_its_limit() -> None:
    template = {"cacheSize": 512, "resources": {"limits": {"memory": "256Mi"}}}
    there = umbrella(memcached={"templates": {"memcached": template}})
    assert list(there) == ["spec.memcached.templates[memcached].resources.limits[memory]"]
