"""Whatever somebody writes, each webhook has an answer: one that raises is a 500 for the user, or lets all through."""

import random
from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.controllers import admission, controlplane
from stackwright.kube.admission import reviews
from stackwright.kube.admission.checks import Webhook
from stackwright.kube.resource import JsonObject
from tests.chaos.fuzzing.fuzzer import schema_of
from tests.chaos.fuzzing.values import Values
from tests.functional.crds.samples import LEAST
from tests.surroundings import nothing_known

WEBHOOKS = admission.webhooks(services.kinds(), nothing_known, {services.control_plane(): (controlplane.check,)})
DRAWS = 60


def request(body: JsonObject, old: JsonObject | None) -> reviews.AdmissionRequest:
    said = {"uid": "1", "operation": "UPDATE" if old else "CREATE", "name": "x", "namespace": "n"}
    raw = msgspec.json.encode({**said, "object": body, "oldObject": old})
    return msgspec.json.decode(raw, type=reviews.AdmissionRequest)


@pytest.mark.parametrize("webhook", [pytest.param(one, id=one.kind.kind.name) for one in WEBHOOKS])
def test_a_webhook_answers_whatever_is_created_or_changed(webhook: Webhook[Any]) -> None:
    kind, schema = webhook.kind.kind, schema_of(webhook.kind)
    values = Values(random.Random(kind.name))  # noqa: S311  the same in every run
    before: JsonObject | None = None
    allowed = 0
    for number in range(DRAWS):
        spec: Any = {**values.fitting(schema), **LEAST[kind.name]}
        for _ in range(2):
            spec = values.changed(spec, schema, wild=number % 3 == 0)
        metadata = {"name": "x", "namespace": "n"}
        body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": spec}
        reviews.mutation(webhook, request(body, before))
        if reviews.validation(webhook, request(body, before)).allowed:
            allowed += 1
            before = body
    # Both sorts are drawn, or nothing is tried.
    assert 0 < allowed < DRAWS
