"""A section with several kinds, and defaults that depend on a key."""

from typing import Annotated, Any, ClassVar

import msgspec
import pytest

from stackwright.api.base import CustomResource, Definition, JsonObject, Kind, Value, describe, shown
from stackwright.api.controlplane import HandedDown, Part, Section, control_plane_type
from stackwright.controllers.controlplane.controller import Facts, resources_of
from stackwright.controllers.controlplane.refusals import list_refusals
from stackwright.controllers.controlplane.resolution import Instance, resolve
from stackwright.kube.crd import generate
from stackwright.kube.shapes.child import Child


class ClusterSpec(Value, frozen=True, kw_only=True):
    """A database of the network."""

    dbType: Annotated[str, describe("Which one.")]
    storageClass: Annotated[str, describe("Where it lies.")]
    tls: Annotated[dict[str, str], describe("Not yet.")] = {}


class Cluster(CustomResource, frozen=True, kw_only=True):
    """A database of the network."""

    kind: ClassVar[Kind] = Kind("net.example.org", "v1", "Cluster", "clusters")
    definition: ClassVar[Definition] = shown()

    spec: ClusterSpec


class Cell(Value, frozen=True, kw_only=True):
    """A cell."""

    database: Annotated[str, describe("The server.")]
    bus: Annotated[str, describe("The broker.")] = ""
    olderBus: Annotated[str, describe("The broker, as it was said before.")] = ""
    tls: Annotated[dict[str, str], describe("Not yet.")] = {}


class NorthdSpec(Value, frozen=True, kw_only=True):
    """What turns the one database into the other."""

    secret: Annotated[str, describe("The passwords.")]
    threads: Annotated[int, describe("How many at once.")] = 1
    cells: Annotated[dict[str, Cell], describe("The cells.")] = {}


class Northd(CustomResource, frozen=True, kw_only=True):
    """What turns the one database into the other."""

    kind: ClassVar[Kind] = Kind("net.example.org", "v1", "Northd", "northds")
    definition: ClassVar[Definition] = shown()

    spec: NorthdSpec


class ControllerSpec(Value, frozen=True, kw_only=True):
    """What runs at nodes."""

    nics: Annotated[dict[str, str], describe("The networks at nodes.")] = {}


class Controller(CustomResource, frozen=True, kw_only=True):
    """What runs at nodes."""

    kind: ClassVar[Kind] = Kind("net.example.org", "v1", "Controller", "controllers")
    definition: ClassVar[Definition] = shown()

    spec: ControllerSpec


NETWORK = Section(
    name="network",
    condition="OpenStackControlPlaneNetworkReady",
    description="The network.",
    parts=(
        Part(
            kind=Cluster,
            field="cluster",
            several=True,
            named="cluster-{key}",
            usual=("nb", "sb"),
            handed_down=(HandedDown("storageClass"), HandedDown("dbType", value=lambda key: key.upper())),
        ),
        Part(
            kind=Northd,
            field="northd",
            instance="northd",
            handed_down=(
                HandedDown("secret"),
                HandedDown("cells.*.database", value=lambda cell: f"openstack-{cell}"),
                HandedDown("cells.*.bus", value=lambda cell: f"rabbitmq-{cell}", unless="cells.*.olderBus"),
            ),
        ),
        Part(kind=Controller, field="controller", instance="controller", when="nics"),
    ),
)
UMBRELLA = control_plane_type((NETWORK,))


def spec_of(network: JsonObject | None) -> Any:
    said = {"secret": "osp-secret", "storageClass": "fast"} | ({"network": network} if network is not None else {})
    return msgspec.convert({"spec": said}, UMBRELLA).spec


def made(network: JsonObject | None) -> dict[str, Instance]:
    return {str(instance): instance for instance in resolve(spec_of(network), (NETWORK,), ())}


def test_each_part_has_its_field_in_the_template() -> None:
    root = generate.manifest(UMBRELLA)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    section = root["properties"]["network"]["properties"]

    assert set(section) == {"enabled", "template"}
    template = section["template"]["properties"]
    assert set(template) == {"cluster", "northd", "controller"}
    assert template["cluster"]["maxProperties"] == 32
    # What is handed down need not be said, also within the entries of a map.
    assert "required" not in template["cluster"]["additionalProperties"]
    assert "required" not in template["northd"]["properties"]["cells"]["additionalProperties"]


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        pytest.param(None, set(), id="not-asked-for"),
        pytest.param({"enabled": False}, set(), id="not-wanted"),
        pytest.param({}, {"Cluster cluster-nb", "Cluster cluster-sb", "Northd northd"}, id="the-usual-ones"),
        pytest.param(
            {"template": {"cluster": {"east": {}}}},
            {"Cluster cluster-east", "Northd northd"},
            id="names-are-made-of-the-keys",
        ),
        pytest.param(
            {"template": {"controller": {"nics": {"a": "b"}}}},
            {"Cluster cluster-nb", "Cluster cluster-sb", "Northd northd", "Controller controller"},
            id="one-that-is-made-only-where-something-is-said",
        ),
    ],
)
def test_every_part_makes_its_resources(network: JsonObject | None, expected: set[str]) -> None:
    assert set(made(network)) == expected


def test_the_condition_of_a_section_follows_the_resources_of_all_parts() -> None:
    found = list(resources_of(made({}).values(), Facts()))

    assert {(item.of, item.condition) for item in found if isinstance(item, Child)} == {
        (Cluster, NETWORK.condition),
        (Northd, NETWORK.condition),
    }


def test_a_default_may_depend_on_the_key_of_the_resource() -> None:
    found = made({"template": {"cluster": {"nb": {}, "east": {"dbType": "SB"}}}})

    assert found["Cluster cluster-nb"].spec == {"dbType": "NB", "storageClass": "fast"}
    assert found["Cluster cluster-east"].spec == {"dbType": "SB", "storageClass": "fast"}


def test_a_default_may_depend_on_the_key_of_an_entry() -> None:
    cells = {"cell1": {}, "cell2": {"bus": "own"}, "cell3": {"olderBus": "own"}}
    found = made({"template": {"northd": {"cells": cells}}})

    assert found["Northd northd"].spec == {
        "secret": "osp-secret",
        "cells": {
            "cell1": {"database": "openstack-cell1", "bus": "rabbitmq-cell1"},
            "cell2": {"database": "openstack-cell2", "bus": "own"},
            "cell3": {"database": "openstack-cell3", "olderBus": "own"},
        },
    }
    assert made({})["Northd northd"].spec == {"secret": "osp-secret"}


def test_what_is_not_supported_is_told_where_it_stands() -> None:
    template = {
        "cluster": {"nb": {"tls": {"secretName": "b"}}},
        "northd": {"cells": {"cell1": {"tls": {"secretName": "b"}}, "cell2": {"tls": {"secretName": ""}}}},
    }

    found = list_refusals(spec_of({"template": template}))

    assert [refusal.field for refusal in found] == [
        "spec.network.template.cluster[nb].tls.secretName",
        "spec.network.template.northd.cells[cell1].tls.secretName",
    ]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        pytest.param("cluster-nb", "nb", id="of-a-key"),
        pytest.param("nb", None, id="of-no-key"),
        pytest.param("cluster-", None, id="of-an-empty-key"),
    ],
)
def test_a_name_tells_its_key(name: str, key: str | None) -> None:
    assert NETWORK.parts[0].key_of(name) == key


def test_a_section_with_one_kind_is_a_section_with_one_part() -> None:
    short = Section(name="northd", condition="C", description="D", kind=Northd, instance="northd")
    long = Section(name="northd", condition="C", description="D", parts=(Part(kind=Northd, instance="northd"),))

    assert short == long
    assert generate.manifest(control_plane_type((short,))) == generate.manifest(control_plane_type((long,)))
