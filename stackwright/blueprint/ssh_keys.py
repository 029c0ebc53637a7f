"""New keys of SSH, in OpenSSH's own format."""

import hashlib
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat


@dataclass(frozen=True)
class KeyPair:
    """A private key as a file has it, and the line of its public key."""

    private: str = field(repr=False)
    public: str


def make_pair(secret: str, comment: str) -> KeyPair:
    """Return the key pair that follows from a secret text, which has to be as hard to guess as a key."""
    key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(secret.encode()).digest())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    return KeyPair(private, f"{public} {comment}\n")
