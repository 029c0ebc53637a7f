"""What an API server's folder holds, and what its supervisor and its users tell each other through it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec


class Settings(msgspec.Struct, frozen=True):
    """How an API server is run: written by the process that starts it, read by its supervisor."""

    binaries: dict[str, str]
    """Where each program is."""
    audit: bool = False
    """Whether every request is written to the audit log."""
    flags: dict[str, list[str]] = {}
    """Further flags by program; a flag that is given twice counts the second time."""
    deadline: float = 180.0
    """After how many seconds a start that is not ready has failed."""


class State(msgspec.Struct, frozen=True):
    """What the supervisor says: where the server is and which programs run, or why it does not run."""

    url: str = ""
    supervisor: int = 0
    pids: dict[str, int] = {}
    failure: str = ""


class Command(msgspec.Struct, frozen=True):
    """What a supervisor is asked to do with one of its programs."""

    action: Literal["kill", "stop", "start", "pause", "resume"]
    program: str


@dataclass(frozen=True)
class Layout:
    """The names of the files in an API server's folder."""

    directory: Path

    @property
    def settings(self) -> Path:
        """How the server is run."""
        return self.directory / "settings.json"

    @property
    def state(self) -> Path:
        """Where the server is and which programs run; it exists as soon as the server was ready once, or has failed."""
        return self.directory / "state.json"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def certificates(self) -> Path:
        """The folder of keys and certificates."""
        return self.directory / "certificates"

    @property
    def data(self) -> Path:
        """The folder of etcd."""
        return self.directory / "data"

    @property
    def audit_log(self) -> Path:
        """One JSON object per request, when auditing is on."""
        return self.directory / "audit.log"

    def log(self, program: str) -> Path:
        """The log of one of the programs."""
        return self.directory / f"{program}.log"

    def read_state(self) -> State | None:
        """Return what the supervisor last said, or nothing when it has not said anything yet."""
        try:
            return msgspec.json.decode(self.state.read_bytes(), type=State)
        except FileNotFoundError:
            return None

    def write_state(self, state: State) -> None:
        """Say something; a reader sees the old state or the new one, never a half."""
        beside = self.state.with_suffix(".new")
        beside.write_bytes(msgspec.json.encode(state))
        beside.replace(self.state)
