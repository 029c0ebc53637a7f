"""The logins to registries that podman, docker and others keep on this machine."""

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from stackwright.adapters.registry import Login
from stackwright.local.errors import ImageFailed

# Where to look for the file if no other was named.
VARIABLE = "REGISTRY_AUTH_FILE"


def find(host: str, path: str, file: Path | None = None, around: Mapping[str, str] | None = None) -> Login | None:
    """Return the login to a path in a registry, or None if there is none; `file` is asked alone if it is given."""
    around = os.environ if around is None else around
    named = file or (Path(around[VARIABLE]) if around.get(VARIABLE) else None)
    if named is not None and not named.is_file():
        raise ImageFailed(f"{named}: there is no such file with logins; create it with podman login --authfile.")
    for place in (named,) if named else usual(around):
        if place.is_file() and (found := parse(place.read_bytes(), str(place), host, path)):
            return found
    return None


def usual(around: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files in which podman and docker keep logins, in the order in which podman reads them."""
    home = Path(around.get("HOME", "/root"))
    running = Path(around.get("XDG_RUNTIME_DIR") or f"/run/containers/{os.getuid()}")
    configuration = Path(around.get("XDG_CONFIG_HOME") or home / ".config")
    return (
        running / "containers" / "auth.json" if around.get("XDG_RUNTIME_DIR") else running / "auth.json",
        configuration / "containers" / "auth.json",
        home / ".docker" / "config.json",
    )


def parse(content: bytes, label: str, host: str, path: str) -> Login | None:
    """Return the login of the longest name in a file that a path in a registry begins with; pure."""
    try:
        known: dict[str, dict[str, Any]] = msgspec.json.decode(content).get("auths") or {}
    except (msgspec.DecodeError, AttributeError) as error:
        raise ImageFailed(f"{label} has no logins to registries: it is not the file of podman login.") from error
    wanted = f"{host}/{path}/"
    fitting = [name for name in known if wanted.startswith(f"{_plain(name)}/")]
    for name in sorted(fitting, key=lambda name: len(_plain(name)), reverse=True):
        try:
            user, _, password = base64.b64decode(known[name].get("auth", "")).decode().partition(":")
        except (binascii.Error, ValueError) as error:
            raise ImageFailed(f"{label}: the login to {name} cannot be read; log in again.") from error
        if user:
            return Login(user, password)
    return None


def _plain(name: str) -> str:
    """Return a name without what docker writes around it, as in https://registry.example.com/v1/."""
    return name.removeprefix("https://").removeprefix("http://").removesuffix("/v1/").removesuffix("/v2/").rstrip("/")
