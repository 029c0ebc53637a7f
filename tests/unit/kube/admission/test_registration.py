"""What the API server is told about our webhooks."""

import base64
from typing import ClassVar

from stackwright.kube.admission.checks import Objections, Webhook
from stackwright.kube.admission.registration import (
    ServiceTarget,
    Settings,
    UrlTarget,
    injected_from,
    mutating,
    validating,
)
from stackwright.kube.resource import JsonObject, Kind, Resource


class Widget(Resource, frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind("example.org", "v1", "Widget", "widgets")


class Shelf(Resource, frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind("example.org", "v1beta1", "Shelf", "shelves", namespaced=False)


def same(body: JsonObject) -> JsonObject:
    return body


def fine(_old: Widget | None, _new: Widget) -> Objections:
    return Objections()


WEBHOOKS = (Webhook(Widget, mutate=same, validate=fine), Webhook(Shelf, mutate=same, operations=("CREATE",)))
IN_CLUSTER = Settings("ours", "webhooks.example.org", ServiceTarget("hooks", "system"))
OUTSIDE = Settings(
    "ours", "webhooks.example.org", UrlTarget("https://127.0.0.1:9443/"), failure_policy="Fail", timeout=3
)


def test_a_service_is_named_with_its_path_and_bundle() -> None:
    (widget, shelf) = mutating(WEBHOOKS, IN_CLUSTER, b"PEM")["webhooks"]
    assert widget["name"] == "mwidget-v1.webhooks.example.org"
    assert widget["clientConfig"] == {
        "service": {"name": "hooks", "namespace": "system", "port": 443, "path": "/mutate/example.org/v1/widgets"},
        "caBundle": base64.b64encode(b"PEM").decode(),
    }
    assert (widget["failurePolicy"], widget["matchPolicy"], widget["sideEffects"]) == ("Ignore", "Equivalent", "None")
    assert shelf["rules"] == [
        {
            "apiGroups": ["example.org"],
            "apiVersions": ["v1beta1"],
            "operations": ["CREATE"],
            "resources": ["shelves"],
            "scope": "Cluster",
        }
    ]


def test_only_kinds_with_a_validation_are_validated() -> None:
    configuration = validating(WEBHOOKS, OUTSIDE, b"PEM")
    assert configuration["kind"] == "ValidatingWebhookConfiguration"
    assert [webhook["name"] for webhook in configuration["webhooks"]] == ["vwidget-v1.webhooks.example.org"]
    (webhook,) = configuration["webhooks"]
    assert webhook["clientConfig"]["url"] == "https://127.0.0.1:9443/validate/example.org/v1/widgets"
    assert (webhook["failurePolicy"], webhook["timeoutSeconds"]) == ("Fail", 3)


def test_the_server_asks_of_deletions_only_where_something_is_held() -> None:
    held = Webhook(Widget, mutate=same, validate=fine, hold=lambda _: "")
    (checking,), (changing,) = validating((held,), OUTSIDE)["webhooks"], mutating((held,), OUTSIDE)["webhooks"]
    (plain,) = validating(WEBHOOKS, OUTSIDE)["webhooks"]
    assert checking["rules"][0]["operations"] == ["CREATE", "UPDATE", "DELETE"]
    assert changing["rules"][0]["operations"] == plain["rules"][0]["operations"] == ["CREATE", "UPDATE"]


def test_with_cert_manager_the_bundle_is_left_to_its_injector() -> None:
    settings = Settings("ours", "x.org", ServiceTarget("hooks", "system"), annotations=injected_from("cert", "system"))
    configuration = validating(WEBHOOKS, settings)
    assert configuration["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "system/cert"}
    assert "caBundle" not in configuration["webhooks"][0]["clientConfig"]


def test_the_certificate_of_a_service_is_for_the_name_that_the_api_server_dials() -> None:
    assert "hooks.system.svc" in ServiceTarget("hooks", "system").names
