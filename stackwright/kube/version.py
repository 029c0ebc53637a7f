"""Which Kubernetes a server is, and whether that is new enough."""

import re
from dataclasses import dataclass

import msgspec

from stackwright.kube.config import Connection
from stackwright.kube.errors import ApiError, ConfigError


@dataclass(frozen=True, order=True)
class ServerVersion:
    """A version, as the server tells it."""

    major: int
    minor: int
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"v{self.major}.{self.minor}"


class _Body(msgspec.Struct, frozen=True):
    major: str = ""
    minor: str = ""
    gitVersion: str = ""


def version_of(body: bytes) -> ServerVersion:
    """Return the version in the answer of /version; vendors write minors such as `27+`."""
    try:
        told = msgspec.json.decode(body, type=_Body)
    except msgspec.DecodeError:
        raise ApiError("The server does not say its version; it may not be Kubernetes.", code=200) from None
    major, minor = re.match(r"\d+", told.major), re.match(r"\d+", told.minor)
    if major is None or minor is None:
        raise ApiError("The server does not say its version; it may not be Kubernetes.", code=200)
    return ServerVersion(int(major[0]), int(minor[0]), told.gitVersion)


def require(version: ServerVersion, minimum: tuple[int, int], connection: Connection) -> None:
    """Raise a ConfigError with what to do when the version is older than `minimum`."""
    if (version.major, version.minor) < minimum:
        raise ConfigError(
            f"The server {connection.server} (from {connection.source}) is Kubernetes {version}, and "
            f"{minimum[0]}.{minimum[1]} or newer is needed; upgrade the cluster or name another."
        )
