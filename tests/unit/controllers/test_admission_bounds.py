"""Reviews that no API server sends: what is longer than a kind allows is refused before anything else is looked at."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from stackwright import services
from stackwright.controllers import admission
from stackwright.kube.admission import reviews
from stackwright.kube.admission.bounds import Bounds, find_excess, of_kind, of_schema
from stackwright.kube.crd import generate
from stackwright.kube.resource import CustomResource, JsonObject
from tests.functional.crds.samples import LEAST
from tests.surroundings import nothing_known

# How much longer than allowed a list is.
TIMES = 100
SCHEMA = {
    "properties": {
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "cells": {"maxProperties": 2, "additionalProperties": {"properties": {"name": {"maxLength": 3}}}},
        "hosts": {"maxItems": 2, "items": {"type": "string", "maxLength": 3}},
    }
}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        pytest.param({"free": {"a": list(range(99))}, "hosts": ["abc", "d"]}, None, id="within"),
        pytest.param({"hosts": ["a", "b", "c"]}, "hosts", id="items"),
        pytest.param({"hosts": ["a", "long"]}, "hosts[1]", id="a-text-in-a-list"),
        pytest.param({"cells": {"a": {}, "b": {}, "c": {}}}, "cells", id="a-map"),
        pytest.param({"cells": {"a": {"name": "long"}}}, "cells[a].name", id="a-text-in-a-map"),
        pytest.param({"hosts": {"a": 1}, "cells": ["x", "y"]}, None, id="other-types-are-told-by-others"),
    ],
)
def test_what_holds_too_much_is_found(value: Any, path: str | None) -> None:
    found = find_excess(of_schema(SCHEMA), value)
    assert (found.path if found is not None else None) == path


def excessive(schema: JsonObject, bounds: Bounds | None) -> Iterator[Any]:
    """Yield a value for each list and map of a schema, and it has far more in it than allowed."""
    if bounds is None:
        return
    if bounds.most is not None and "maxItems" in schema:
        item = {"string": "x", "integer": 1, "object": {}}.get(schema["items"].get("type", ""), "x")
        yield [item] * (bounds.most * TIMES)
    if bounds.most is not None and "maxProperties" in schema:
        inner = schema.get("additionalProperties", {})
        item = {"string": "x", "integer": 1, "array": []}.get(inner.get("type", ""), {})
        yield {f"n{number}": item for number in range(bounds.most * TIMES)}
    for name, part in bounds.parts.items():
        yield from ({name: value} for value in excessive(schema["properties"][name], part))
    if bounds.each is not None and "items" in schema:
        yield from ([value] for value in excessive(schema["items"], bounds.each))
    elif bounds.each is not None:
        yield from ({"x": value} for value in excessive(schema["additionalProperties"], bounds.each))


def by_length() -> list[type[CustomResource]]:
    return [kind for kind in services.kinds() if of_kind(kind) is not None]


@pytest.mark.parametrize("kind", by_length(), ids=lambda kind: kind.kind.name)
def test_far_more_than_a_kind_allows_takes_no_time(kind: type[CustomResource]) -> None:
    (webhook,) = admission.webhooks((kind,), nothing_known)
    (version,) = generate.manifest(kind)["spec"]["versions"]
    spec, whole = version["schema"]["openAPIV3Schema"]["properties"]["spec"], of_kind(kind)
    assert whole is not None
    for value in excessive(spec, whole.parts.get("spec")):
        body = {
            "apiVersion": kind.kind.api_version,
            "kind": kind.kind.name,
            "metadata": {"name": "a", "namespace": "n"},
            "spec": {**LEAST.get(kind.kind.name, {}), **value},
        }
        request = {"uid": "u", "name": "a", "operation": "CREATE", "object": body, "oldObject": None}
        review = reviews.decode(json.dumps({"request": request}).encode())
        began = time.process_time()
        response = reviews.validation(webhook, review)
        assert time.process_time() - began < 0.5, value.keys()
        # Where one field makes others necessary, that is told first.
        assert response.status is not None
