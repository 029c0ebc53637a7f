"""What can go wrong, as one tree.

    KubeError                      everything that this package raises on purpose
    ├── ConfigError                no usable way to a cluster: kubeconfig, certificate, token, exec plugin
    ├── Unreachable                the server did not answer, or not in time; the world must heal
    ├── ApiError                   the server answered with a Status that is not success
    │   ├── NotFound               404: the object is not there
    │   ├── KindNotInstalled       404: the server does not know this kind; install its CRD
    │   ├── AlreadyExists          409, reason AlreadyExists
    │   ├── Conflict               409, any other reason: stale version, or fields of another manager
    │   ├── Gone                   410: the version is too old, list again
    │   ├── Invalid                422: one cause per field
    │   ├── Denied                 401 or 403: who we are, or what we may do
    │   └── TypedPatchRefused      500 that no retry heals: an apply that does not fit the schema
    ├── Blocked                    a reconcile stopped: the user must act; the message says what to do
    └── Retry                      a reconcile stopped: the world must heal; it is tried again with backoff

Anything else that leaves a reconcile is our bug and is loud.
"""

from dataclasses import dataclass


class KubeError(Exception):
    """Everything that this package raises on purpose."""


class ConfigError(KubeError):
    """There is no usable way to a cluster; the message names the file or field and says what to do."""


class Unreachable(KubeError):
    """The server did not answer, or not in time."""


@dataclass(frozen=True)
class Cause:
    """One field's part in a refusal, as in Status.details.causes."""

    field: str
    reason: str
    message: str


class ApiError(KubeError):
    """The server answered with a Status that is not success."""

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        causes: tuple[Cause, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.causes = causes
        self.retry_after = retry_after


class NotFound(ApiError):
    """The object is not there."""


class KindNotInstalled(ApiError):
    """The server does not know this kind: its CRD is not installed, or is of another version."""


class AlreadyExists(ApiError):
    """An object of that name is there already."""


class Conflict(ApiError):
    """The object changed meanwhile, a precondition failed, or another manager owns a field."""


class Gone(ApiError):
    """The resource version is too old to go on from; list again."""


class Invalid(ApiError):
    """The server refused the object; each cause names a field."""


class Denied(ApiError):
    """The server does not know us, or does not let us."""


class TypedPatchRefused(ApiError):
    """An apply that does not fit the schema. The server says 500, but no retry heals it."""


class Blocked(KubeError):
    """A reconcile stopped because the user must act.

    `reason` is one CamelCase word for the condition, the message a sentence that says what to do.
    """

    def __init__(self, message: str, *, reason: str = "Blocked", condition: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.condition = condition


class Retry(KubeError):
    """A reconcile stopped because the world must heal; it runs again, after `after` seconds or with backoff."""

    def __init__(self, message: str, *, reason: str = "Error", condition: str = "", after: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.condition = condition
        self.after = after
