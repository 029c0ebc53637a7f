"""A kind for tests of admission: a CRD, its type, and what its webhooks do."""

from typing import ClassVar

from stackwright.kube.admission.checks import FieldError, Objections, Webhook
from stackwright.kube.resource import JsonObject, Kind, Resource, Value


class WidgetSpec(Value, frozen=True, kw_only=True):
    """A widget has a size and a mode."""

    size: int = 0
    mode: str = ""


class Widget(Resource, frozen=True, kw_only=True):
    """A kind that is nobody's."""

    kind: ClassVar[Kind] = Kind("admission.example.org", "v1", "Widget", "widgets")

    spec: WidgetSpec = WidgetSpec()


def fill_in(body: JsonObject) -> JsonObject:
    """Give a widget a mode, and a note in an annotation whose name needs escaping."""
    spec = body.setdefault("spec", {})
    spec.setdefault("mode", "plain")
    annotations = body["metadata"].setdefault("annotations", {})
    annotations.setdefault("example.org/filled-in", "yes")
    return body


def check(old: Widget | None, new: Widget) -> Objections:
    """Refuse what is too big, what changed and must not, and divide by zero when told to."""
    errors: list[FieldError] = []
    warnings: list[str] = []
    if new.spec.mode == "bug":
        raise ZeroDivisionError("a secret of the inside")
    if new.spec.size > 10:
        errors.append(FieldError("spec.size", "must be at most 10", value=new.spec.size))
    if new.spec.mode == "forbidden":
        errors.append(FieldError("spec.mode", "is not for you", reason="FieldValueForbidden"))
    if old is not None and old.spec.mode != new.spec.mode:
        errors.append(FieldError("spec.mode", "cannot change", value=new.spec.mode))
    if new.spec.size == 0:
        warnings.append("spec.size: a widget of size 0 cannot be seen")
    return Objections(tuple(errors), tuple(warnings))


WEBHOOK = Webhook(Widget, mutate=fill_in, validate=check)

_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer", "default": 1}, "mode": {"type": "string"}},
        }
    },
}

CRD: JsonObject = {
    "metadata": {"name": "widgets.admission.example.org"},
    "spec": {
        "group": "admission.example.org",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}}],
    },
}
