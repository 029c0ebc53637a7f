"""Keys of SSH: new ones, in OpenSSH's own format, and what is wrong with one that a user gives."""

import base64
import binascii
import hashlib
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

_BEGIN, _OF_OPENSSH = "-----BEGIN ", "-----BEGIN OPENSSH PRIVATE KEY-----"
# How a key of OpenSSH begins: these words, and how many bytes the name of its cipher has; one is "none".
_MAGIC = b"openssh-key-v1\0"
_UNENCRYPTED = b"none"


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


def find_fault(private: str) -> str:
    """Return why a program cannot log in with a private key, and what to do; "" if it can, for all that is known."""
    if _BEGIN not in private or "PRIVATE KEY-----" not in private:
        return "it is no private key as OpenSSH writes them; store the file that begins with -----BEGIN"
    if "ENCRYPTED" in private or _is_encrypted(private):
        return "it has a passphrase, which nobody can type there; store a key without one (ssh-keygen -p -N '')"
    return ""


def _is_encrypted(private: str) -> bool:
    """Return whether a key in OpenSSH's own format has a passphrase."""
    body = private.partition(_OF_OPENSSH)[2].partition("-----")[0]
    try:
        content = base64.b64decode("".join(body.split()))
    except (binascii.Error, ValueError):
        return False
    if not content.startswith(_MAGIC):
        return False
    length, rest = content[len(_MAGIC) :][:4], content[len(_MAGIC) + 4 :]
    return rest[: int.from_bytes(length)] != _UNENCRYPTED
