"""What a service would refuse later is refused at the door, in the resource itself and in the umbrella's template."""

from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint import name_lengths
from stackwright.blueprint.service import Service as Blueprint
from stackwright.controllers import doors
from stackwright.services.glance.kinds import Glance
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.functional.crds.samples import LEAST
from tests.surroundings import nothing_known

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
