"""Translates failures to our errors: a Status and its code, or no answer at all, each with a sentence."""

import ssl
from dataclasses import dataclass

import aiohttp
import msgspec

from stackwright.kube.errors import (
    AlreadyExists,
    ApiError,
    Cause,
    Conflict,
    Denied,
    Gone,
    Invalid,
    KindNotInstalled,
    NotFound,
    TypedPatchRefused,
)
from stackwright.kube.resource import Kind

# The server's message, with code 500, for an apply that does not fit the schema. Retrying does not help.
TYPED_PATCH = "failed to create typed patch object"
LONGEST_MESSAGE = 2000


class CauseBody(msgspec.Struct, frozen=True):
    """One entry of Status.details.causes."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(msgspec.Struct, frozen=True):
    """What a Status is about."""

    name: str | None = None
    kind: str | None = None
    causes: tuple[CauseBody, ...] | None = None
    retryAfterSeconds: float | None = None


class Status(msgspec.Struct, frozen=True):
    """The server's way to say how a request ended."""

    kind: str = ""
    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: Details | None = None


_status = msgspec.json.Decoder(Status)


def status_of(body: bytes) -> Status | None:
    """Return the Status in a body, or None if there is none, for example in the answer of a proxy in between."""
    try:
        status = _status.decode(body)
    except msgspec.DecodeError:
        return None
    return status if status.kind == "Status" else None


def refuses_typed_patch(body: bytes) -> bool:
    """Whether an answer says that an apply does not fit the schema."""
    return TYPED_PATCH.encode() in body


def error_of(
    code: int, body: bytes, *, retry_after: float | None = None, kind: Kind | None = None, who: str = ""
) -> ApiError:
    """Return the error for a failure answer; `who` says whose credentials were used."""
    status = status_of(body)
    if status is None:
        return _unknown(code, body, retry_after=retry_after, kind=kind, who=who)
    return error_of_status(status, code=code, retry_after=retry_after, kind=kind, who=who)


def error_of_status(
    status: Status, *, code: int = 0, retry_after: float | None = None, kind: Kind | None = None, who: str = ""
) -> ApiError:
    """Return the error for a Status; watches send them as events."""
    code = code or status.code
    details = status.details or Details()
    causes = tuple(Cause(cause.field, cause.reason, cause.message) for cause in details.causes or ())
    if retry_after is None:
        retry_after = details.retryAfterSeconds
    kind_of_error = _class(code, status, details)
    message = _sentence(kind_of_error, status.message[:LONGEST_MESSAGE], kind, who, code)
    return kind_of_error(message, code=code, reason=status.reason, causes=causes, retry_after=retry_after)


def _class(code: int, status: Status, details: Details) -> type[ApiError]:
    if code == 404:
        # The server names the object that it did not find. It names none if it has no such path.
        return NotFound if details.name else KindNotInstalled
    if code == 409:
        return AlreadyExists if status.reason == "AlreadyExists" else Conflict
    if code == 500 and TYPED_PATCH in status.message:
        return TypedPatchRefused
    classes: dict[int, type[ApiError]] = {401: Denied, 403: Denied, 410: Gone, 422: Invalid}
    return classes.get(code, ApiError)


def _unknown(code: int, body: bytes, *, retry_after: float | None, kind: Kind | None, who: str) -> ApiError:
    """Return the error for an answer that is not a Status: of a path that is not served, or of a proxy in between."""
    text = " ".join(body[:200].decode(errors="replace").split())
    classes: dict[int, type[ApiError]] = {401: Denied, 403: Denied, 404: KindNotInstalled, 410: Gone}
    kind_of_error = classes.get(code, ApiError)
    message = _sentence(kind_of_error, f"The server answered {code}: {text or 'nothing'}", kind, who, code)
    return kind_of_error(message, code=code, retry_after=retry_after)


def _sentence(kind_of_error: type[ApiError], message: str, kind: Kind | None, who: str, code: int) -> str:
    if kind_of_error is KindNotInstalled and kind is not None:
        what = f"the CustomResourceDefinition {kind.crd_name}" if "." in kind.group else "a server that has it"
        return f"The server does not know {kind.name} of {kind.api_version}; install {what}."
    if kind_of_error is Denied and code == 401:
        return f"The server did not accept our credentials{who}: they are wrong or have expired; get new ones."
    if kind_of_error is Denied:
        return f"{message or 'The server forbids it'} (credentials{who}; an RBAC role must allow it)"
    return message or f"The server answered {code}"


@dataclass(frozen=True)
class Lost:
    """No whole answer came.

    `sent` says that the server may have carried out the request, `hopeless` that another try ends the same.
    """

    sentence: str
    sent: bool = False
    hopeless: bool = False


def lost(error: BaseException, server: str) -> Lost:
    """Return why no answer of `server` came, and whether the request may have been carried out."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return Lost(f"{server} {_certificate_problem(error.certificate_error)}.", hopeless=True)
        case aiohttp.ClientSSLError():
            return Lost(f"{server} does not speak TLS with us; check its address.", hopeless=True)
        case aiohttp.ClientConnectorError():
            return Lost(f"{server} {_connect_problem(error)}.")
        case aiohttp.ConnectionTimeoutError():
            return Lost(f"{server} does not accept connections in time; check its address and the network.")
        case TimeoutError():
            return Lost(f"{server} did not answer in time.", sent=True)
    return Lost(f"{server} closed the connection before its answer was complete.", sent=True)


def _connect_problem(error: aiohttp.ClientConnectorError) -> str:
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"is reached by the proxy {error.host}:{error.port} (proxy-url), which {_reach_problem(error)}"
    return _reach_problem(error)


def _reach_problem(error: aiohttp.ClientConnectorError) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "has a name that cannot be looked up; check it and the network"
    if isinstance(error.os_error, ConnectionRefusedError):
        return "refuses connections; check that it runs"
    return f"cannot be reached: {error.os_error.strerror or error.os_error}"


def _certificate_problem(error: Exception) -> str:
    message = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else ""
    if "expired" in message:
        return "presents a certificate that has expired; renew it on the server"
    if "not valid for" in message or "mismatch" in message:
        return "presents a certificate for another name; check the address, or set tls-server-name"
    return (
        f"presents a certificate that our certificate authority did not sign ({message}); check certificate-authority"
    )
