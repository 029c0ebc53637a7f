"""What can go wrong outside, as one tree.

    AdapterError         everything that an adapter raises on purpose
    ├── Unavailable      the other side does not answer, or is not ready; the world must heal
    ├── Refused          it answered that we may not: wrong credentials, missing rights; somebody must act
    └── Rejected         it does not accept what was asked for; somebody must ask for something else

The message is for people and carries no secret. Foreign exceptions do not leave an adapter.
"""


class AdapterError(Exception):
    """Everything that an adapter raises on purpose."""


class Unavailable(AdapterError):
    """The other side does not answer, or is not ready yet; ask again in `after` seconds."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Refused(AdapterError):
    """The other side answered that we may not do this."""


class Rejected(AdapterError):
    """The other side does not accept what was asked for."""
