"""What holds for every kind, found by discovery and not by a list."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.network import Reservation
from stackwright.api.topology import Topology
from stackwright.cli.commands import crds
from stackwright.kube.crd import generate
from stackwright.kube.resource import CustomResource, JsonObject, Value

GOLDEN = Path(__file__).parents[3] / "charts" / "stackwright" / "crds"
# The annotation of a client-side `kubectl apply` holds the whole object; this is its limit in bytes.
APPLICABLE = 262144
# What a server stores of one object is at most 1.5 MiB.
STORABLE = 1_000_000

KINDS = services.kinds()
every_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.kind.name for kind in KINDS])
# These are only read, upstream as here: whoever refers to one reports how that went.
READ = (Topology, OpenStackDataPlaneService, Reservation)
REPORTING = [kind for kind in KINDS if kind not in READ]
every_kind_that_reports = pytest.mark.parametrize("kind", REPORTING, ids=[kind.kind.name for kind in REPORTING])


def schemas(schema: JsonObject, path: str = "") -> Iterator[tuple[str, JsonObject]]:
    """Yield every schema within a schema with its path."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from schemas(inner, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield from schemas(schema[keyword], f"{path}[]")


def root_of(kind: type[CustomResource]) -> JsonObject:
    root: JsonObject = generate.manifest(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return root


def test_the_kinds_of_the_ground_are_found() -> None:
    assert {kind.kind.crd_name for kind in KINDS} >= {
        "openstackcontrolplanes.core.openstack.org",
        "galeras.mariadb.openstack.org",
        "mariadbdatabases.mariadb.openstack.org",
        "mariadbaccounts.mariadb.openstack.org",
        "rabbitmqs.rabbitmq.openstack.org",
        "transporturls.rabbitmq.openstack.org",
        "memcacheds.memcached.openstack.org",
        "keystoneapis.keystone.openstack.org",
        "keystoneservices.keystone.openstack.org",
        "keystoneendpoints.keystone.openstack.org",
    }


def test_the_files_in_the_chart_are_what_the_types_say() -> None:
    kept = {path.name: path.read_text(encoding="utf-8") for path in GOLDEN.glob("*.yaml")}
    said = crds.files()
    stale = sorted(name for name in {*kept, *said} if kept.get(name) != said.get(name))
    assert not stale, f"charts/stackwright/crds differs from the types in {', '.join(stale)}; run `make crds`"


@every_kind
def test_a_definition_can_be_applied_by_plain_kubectl(kind: type[CustomResource]) -> None:
    # The umbrella has all kinds in it; it is applied on the side of the server, as we and helm do.
    most = STORABLE if kind is services.control_plane() else APPLICABLE
    assert len(msgspec.json.encode(generate.manifest(kind))) < most


@every_kind
def test_every_field_says_what_it_means_in_a_sentence(kind: type[CustomResource]) -> None:
    described = [
        (path, inner["description"]) for path, inner in schemas(root_of(kind)) if "description" in inner and path
    ]

    assert described
    assert [path for path, sentence in described if not re.search(r"[.…]$", sentence)] == []


@every_kind
def test_nothing_is_nullable_and_nothing_is_forbidden_that_a_newer_version_may_add(kind: type[CustomResource]) -> None:
    for path, inner in schemas(root_of(kind)):
        assert "nullable" not in inner, path
        assert inner.get("additionalProperties") is not False, path


@every_kind
def test_a_status_has_no_defaults_and_needs_nothing(kind: type[CustomResource]) -> None:
    status = root_of(kind)["properties"]["status"]

    assert "required" not in status
    assert [path for path, inner in schemas(status) if "default" in inner] == []


@every_kind_that_reports
def test_kubectl_shows_state_reason_message_and_age(kind: type[CustomResource]) -> None:
    columns = generate.manifest(kind)["spec"]["versions"][0]["additionalPrinterColumns"]

    assert next(column["name"] for column in columns if not column.get("priority")) == "Ready"
    assert {"Ready", "Reason", "Message", "Age"} <= {column["name"] for column in columns}
    assert generate.manifest(kind)["spec"]["names"]["categories"] == ["openstack", "osp"]


@every_kind_that_reports
def test_conditions_are_named_once_and_ready_is_their_summary(kind: type[CustomResource]) -> None:
    assert kind.conditions
    assert len(set(kind.conditions)) == len(kind.conditions)
    assert "Ready" not in kind.conditions


def structs(kind: Any, seen: set[Any]) -> set[Any]:
    """Return all structs of ours that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, Value) and kind not in seen:
        seen.add(kind)
        for field in msgspec.structs.fields(kind):
            structs(field.type, seen)
    for argument in getattr(kind, "__args__", ()):
        structs(argument, seen)
    return seen


@every_kind
def test_all_parts_of_a_kind_are_frozen_and_leave_out_what_is_default(kind: type[CustomResource]) -> None:
    for struct in structs(kind, set()):
        assert struct.__struct_config__.frozen, struct
        assert struct.__struct_config__.omit_defaults, struct
        # Only a dash, which upstream's external-ids have, cannot stand in a name of Python.
        names = {field.name: field.encode_name for field in msgspec.structs.fields(struct)}
        assert all(name == encoded.replace("-", "_") for name, encoded in names.items()), struct


def test_what_the_server_stored_is_read_whatever_our_bounds_say() -> None:
    kind = next(kind for kind in KINDS if kind.kind.name == "KeystoneAPI")
    spec = {"databaseInstance": "", "secret": "s", "replicas": 99, "fernetMaxActiveKeys": -1, "fromTheFuture": {"a": 1}}

    read: Any = msgspec.json.decode(msgspec.json.encode({"spec": spec, "status": {"alsoNew": True}}), type=kind)

    assert read.spec.replicas == 99
    assert read.spec.fernetMaxActiveKeys == -1
