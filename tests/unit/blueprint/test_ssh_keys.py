"""What is wrong with a private key that a user gives."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from stackwright.blueprint.ssh_keys import find_fault, make_pair

NEW, OLD = Ed25519PrivateKey.generate(), generate_private_key(65537, 2048)
# How OpenSSH begins a key with a passphrase; ours are written by a library that cannot do that everywhere.
ENVELOPE = b"openssh-key-v1\0" + len(b"aes256-ctr").to_bytes(4) + b"aes256-ctr" + len(b"bcrypt").to_bytes(4) + b"bcrypt"
OPENSSH = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    f"{base64.encodebytes(ENVELOPE + bytes(150)).decode()}"
    "-----END OPENSSH PRIVATE KEY-----\n"
)
LOCKED = BestAvailableEncryption(b"open sesame")


def written(key: object, form: PrivateFormat, locked: KeySerializationEncryption) -> str:
    assert isinstance(key, type(NEW) | type(OLD))
    return key.private_bytes(Encoding.PEM, form, locked).decode()


@pytest.mark.parametrize(
    ("key", "form"),
    [
        pytest.param(NEW, PrivateFormat.PKCS8, id="pkcs8"),
        pytest.param(OLD, PrivateFormat.TraditionalOpenSSL, id="traditional"),
    ],
)
def test_a_key_with_a_passphrase_is_told_from_one_without(key: object, form: PrivateFormat) -> None:
    assert find_fault(written(key, form, NoEncryption())) == ""
    assert "passphrase" in find_fault(written(key, form, LOCKED))


def test_a_key_is_read_however_its_lines_end() -> None:
    assert "passphrase" in find_fault(OPENSSH)
    assert "passphrase" in find_fault(f"# mine\r\n{OPENSSH.replace(chr(10), chr(13) + chr(10))}")
    assert find_fault(make_pair("word", "us").private) == ""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(make_pair("word", "us").public, id="the-public-one"),
        pytest.param("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", id="a-certificate"),
        pytest.param("changeme", id="a-word"),
        pytest.param("", id="no-text"),
    ],
)
def test_what_is_no_private_key_is_none(text: str) -> None:
    assert "no private key" in find_fault(text)


@pytest.mark.parametrize("body", ["AAAAB3NzaC1yc2E", "!", "b3BlbnNzaC1rZXktdjEA"])
def test_what_cannot_be_read_is_left_to_openssh(body: str) -> None:
    find_fault(f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n-----END OPENSSH PRIVATE KEY-----")
