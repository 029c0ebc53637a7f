"""Fields that name another object, or a user: what could never exist under that name is refused when it is written."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from stackwright import services
from stackwright.blueprint import ranges
from stackwright.kube.crd import generate
from stackwright.kube.resource import JsonObject
from stackwright.services.nova.kinds.nova import Nova
from tests.unit.foresight.clouds import keystone, kind, made

# How fields end that name another object.
_NAMES = re.compile(r"(Instance|Secret|Secrets|ClusterName|[sS]ecretName|Account|Ref/name|/secret|/cluster)$")
# These are keys of a Secret, or names elsewhere.
_OTHERS = re.compile(r"/passwordSelectors/|/volumes/|/status/|/secretBackend/")


def texts(schema: JsonObject, path: str = "") -> Iterator[tuple[str, JsonObject]]:
    """Yield the fields of a schema that are texts, or lists of them."""
    for name, below in (schema.get("properties") or {}).items():
        yield from texts(below, f"{path}/{name}")
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            yield from texts(schema[part], path if part == "items" else f"{path}/*")
    if schema.get("type") == "string":
        yield path, schema


@pytest.mark.parametrize("of", services.kinds(), ids=lambda of: of.kind.name)
def test_what_names_something_has_a_form(of: Any) -> None:
    schema = generate.manifest(of)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].get("spec", {})
    formless = [
        path
        for path, field in texts(schema)
        if (_NAMES.search(path) or path.endswith("/serviceUser"))
        and not _OTHERS.search(path)
        and "pattern" not in field
        and "enum" not in field
    ]
    assert formless == []


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param({"topologyRef": {"name": "a/b"}}, "spec.topologyRef.name", id="a-path"),
        pytest.param({"apiMessageBusInstance": "A B"}, "spec.apiMessageBusInstance", id="a-space"),
        pytest.param(
            {"cellTemplates": {"cell0": {}, "cell1": {"cellMessageBusInstance": "A B"}}},
            "spec.cellTemplates[cell1].cellMessageBusInstance",
            id="in-a-cell",
        ),
        pytest.param({"serviceUser": "nova\nadmin"}, "spec.serviceUser", id="two-lines"),
        pytest.param({"serviceUser": "nova\n"}, "spec.serviceUser", id="a-line-that-ends"),
    ],
)
def test_a_resource_that_is_older_than_its_schema_is_refused_too(spec: JsonObject, path: str) -> None:
    nova: Nova = made(kind("Nova"), "nova", spec={"secret": "osp-secret", **spec})
    assert path in dict(ranges.problems(nova))


def test_names_that_people_have_are_accepted() -> None:
    user = made(kind("PlacementAPI"), "placement", spec={**_PLACEMENT, "serviceUser": "Jörg Müller@example.org"})
    assert dict(ranges.problems(user)) == {}
    assert dict(ranges.problems(keystone())) == {}


_PLACEMENT = {"databaseInstance": "openstack", "secret": "osp-secret", "topologyRef": {"name": ""}}
