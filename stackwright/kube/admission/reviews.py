"""The API server's question and our answer: AdmissionReview of admission.k8s.io/v1.

`mutation` and `validation` take a request and a kind's webhook and return the response. They do no I/O; what
a webhook's function raises passes through them, because it is a bug and the server knows how to say so.
"""

import base64

import msgspec
import structlog

from stackwright.kube.admission import bounds, json_patch
from stackwright.kube.admission.bounds import Excess
from stackwright.kube.admission.checks import FieldError, Objections, Webhook, conflict, refusal
from stackwright.kube.resource import JsonObject, R, Value

_log = structlog.get_logger()

# Fields that the server writes by itself; a change of only these does not come from the user.
_BOOKKEEPING = frozenset({"managedFields", "resourceVersion", "generation", "finalizers", "ownerReferences"})

_NOTHING = msgspec.Raw(b"null")


class AdmissionRequest(Value, frozen=True, kw_only=True):
    """The API server's question. The objects stay undecoded until the type of the kind is known."""

    uid: str
    name: str = ""
    namespace: str = ""
    operation: str = ""
    object: msgspec.Raw = _NOTHING
    oldObject: msgspec.Raw = _NOTHING
    dryRun: bool = False


class AdmissionResponse(Value, frozen=True, kw_only=True):
    """Our answer: a refusal has a status, a mutation has a patch in base64."""

    uid: str
    allowed: bool
    status: JsonObject | None = None
    patch: str | None = None
    patchType: str | None = None
    warnings: tuple[str, ...] = ()


class AdmissionReview(Value, frozen=True, kw_only=True):
    """The envelope of both."""

    request: AdmissionRequest


_decoder = msgspec.json.Decoder(AdmissionReview)


def decode(body: bytes) -> AdmissionRequest:
    """Return the question in a request's body; raise msgspec.DecodeError or ValidationError if there is none."""
    return _decoder.decode(body).request


def encode(response: AdmissionResponse) -> bytes:
    """Return the body of the answer."""
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return msgspec.json.encode(review)


def mutation(webhook: Webhook[R], request: AdmissionRequest) -> AdmissionResponse:
    """Return the patch that the kind's `mutate` asks for."""
    if webhook.mutate is None:
        return AdmissionResponse(uid=request.uid, allowed=True)
    # Use two trees, so that a function may also change its argument in place.
    before = msgspec.json.decode(request.object, type=JsonObject)
    try:
        after = webhook.mutate(msgspec.json.decode(request.object, type=JsonObject))
    except Exception:  # the next lines tell a bug from an object that fits no schema, and raise the bug
        if _fits(webhook.kind, request.object):
            raise
        # The schema is checked after us, and its error names the wrong field; an error from us would say less.
        return AdmissionResponse(uid=request.uid, allowed=True)
    operations = json_patch.difference(before, after)
    if not operations:
        return AdmissionResponse(uid=request.uid, allowed=True)
    patch = base64.b64encode(msgspec.json.encode(operations)).decode()
    return AdmissionResponse(uid=request.uid, allowed=True, patch=patch, patchType="JSONPatch")


def validation(webhook: Webhook[R], request: AdmissionRequest) -> AdmissionResponse:
    """Return whether the kind's `validate` accepts the object, with what it found."""
    if request.operation == "DELETE":
        return _deletion(webhook, request)
    if webhook.validate is None or not _said_something(request):
        return AdmissionResponse(uid=request.uid, allowed=True)
    try:
        new = _read(webhook.kind, request.object)
    except msgspec.ValidationError as error:
        objections = Objections(errors=(_misfit(error),))
    else:
        excess = _excess(webhook.kind, request.object)
        objections = _too_many(excess) if excess is not None else webhook.validate(_old(webhook, request), new)
    if not objections.errors:
        return AdmissionResponse(uid=request.uid, allowed=True, warnings=objections.warnings)
    status = refusal(webhook.kind.kind, request.name, objections.errors)
    return AdmissionResponse(uid=request.uid, allowed=False, status=status, warnings=objections.warnings)


def _deletion(webhook: Webhook[R], request: AdmissionRequest) -> AdmissionResponse:
    """Return whether the kind's `hold` lets an object go."""
    present = _old(webhook, request)
    why = webhook.hold(present) if webhook.hold is not None and present is not None else ""
    status = conflict(webhook.kind.kind, request.name, why) if why else None
    return AdmissionResponse(uid=request.uid, allowed=not why, status=status)


def _said_something(request: AdmissionRequest) -> bool:
    """Whether the user asks for something new.

    An object that became invalid (by a newer version of its checks) must still be able to lose its finalizers,
    or it could never be deleted, and a controller must be able to keep its books on it.
    """
    if bytes(request.oldObject) == b"null":
        return True
    new = msgspec.json.decode(request.object)
    if new["metadata"].get("deletionTimestamp"):
        return False
    return _said(msgspec.json.decode(request.oldObject)) != _said(new)


def _said(body: JsonObject) -> JsonObject:
    metadata = {name: value for name, value in body["metadata"].items() if name not in _BOOKKEEPING}
    return {**body, "metadata": metadata, "status": None}


def _old(webhook: Webhook[R], request: AdmissionRequest) -> R | None:
    if bytes(request.oldObject) == b"null":
        return None
    try:
        found = msgspec.json.decode(request.oldObject, type=webhook.kind)
    except msgspec.ValidationError as error:
        # It was written by another version and cannot be compared; the new object is checked like a newly created one.
        _log.warning("the stored object does not fit its type", kind=str(webhook.kind.kind), error=str(error))
        return None
    # The same holds for one that has more than its kind allows by now.
    return found if _excess(webhook.kind, request.oldObject) is None else None


def _excess(kind: type[R], raw: msgspec.Raw) -> Excess | None:
    return bounds.find_excess(bounds.of_kind(kind), msgspec.json.decode(raw))


def _read(kind: type[R], raw: msgspec.Raw) -> R:
    """Return an object as its type.

    The server sends null for annotations and labels of which the last one was taken away.
    """
    body = msgspec.json.decode(raw, type=JsonObject)
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or None not in metadata.values():
        return msgspec.json.decode(raw, type=kind)
    present = {name: value for name, value in metadata.items() if value is not None}
    return msgspec.json.decode(msgspec.json.encode({**body, "metadata": present}), type=kind)


def _fits(kind: type[R], body: msgspec.Raw) -> bool:
    try:
        msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError:
        return False
    return True


def _too_many(excess: Excess) -> Objections:
    return Objections((FieldError(excess.path, f"must have at most {excess.most}", "FieldValueTooMany"),))


def _misfit(error: msgspec.ValidationError) -> FieldError:
    """Return msgspec's sentence (`Expected int, got str - at `$.spec.size``) as an error of the field."""
    message, _, place = str(error).partition(" - at ")
    return FieldError(place.strip("`").removeprefix("$").removeprefix("."), message, reason="FieldValueTypeInvalid")
