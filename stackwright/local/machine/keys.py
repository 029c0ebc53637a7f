"""SSH keys: the one by which we log in to all machines beside a cluster, and the one of each machine."""

import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import SSHPublicKeyTypes


@dataclass(frozen=True)
class SshKey:
    """A key in OpenSSH's own format."""

    private: str
    public: str


def generate() -> SshKey:
    """Return a new key."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    return SshKey(private.decode(), _public(key.public_key()))


def read(path: Path) -> SshKey:
    """Return the key of a file; one that is not there yet is made."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = path.with_suffix(".new")
        beside.unlink(missing_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(generate().private)
        beside.replace(path)
    # The format has a random number in it: written anew, the same key would be another text.
    private = path.read_text()
    key = serialization.load_ssh_private_key(private.encode(), password=None)
    return SshKey(private, _public(key.public_key()))


def _public(key: SSHPublicKeyTypes) -> str:
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
