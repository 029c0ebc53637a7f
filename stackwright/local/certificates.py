"""Makes the keys and certificates of a local Kubernetes: an authority, and what it signs for servers and clients."""

import datetime as dt
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=365)
# Clocks differ a little between a machine and what runs on it, and one that was ahead is set back later.
_BACKDATED = dt.timedelta(days=1)
# An authority that ends sooner than this is replaced when there is an occasion.
_RENEWED = dt.timedelta(days=60)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as the files that programs are pointed at."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority whose key and signatures live in one folder, which only its owner can read.

    With `keep`, an authority that the folder has already goes on, so that what it signed before stays valid.
    """

    def __init__(self, directory: Path, name: str = "stackwright-local", *, keep: bool = False) -> None:
        self._directory = directory
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.pair = Pair(directory / "ca.crt", directory / "ca.key")
        kept = _still_valid_key(self.pair) if keep else None
        self._key = kept or ec.generate_private_key(ec.SECP256R1())
        self._identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        if kept is None:
            self._found()

    def _found(self) -> None:
        """Write the certificate that the authority gives to itself."""
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            _certificate(self._name, self._key.public_key(), issuer=self._name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(self._identifier, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self._write("ca", certificate, self._key)

    def server(self, file: str, *, names: Iterable[str]) -> Pair:
        """Return a certificate for a server that answers to those host names and addresses."""
        alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
        return self._signed(file, x509.Name([]), ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def client(self, file: str, *, user: str, groups: Iterable[str] = ()) -> Pair:
        """Return a certificate by which Kubernetes knows a user and its groups."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        return self._signed(file, subject, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _signed(
        self,
        file: str,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName | None = None,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._identifier)
        builder = (
            _certificate(subject, key.public_key(), issuer=self._name)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(issuer, critical=False)
        )
        if alternatives is not None:
            # A certificate without a subject must say that its other names are all it has.
            builder = builder.add_extension(alternatives, critical=not list(subject))
        return self._write(file, builder.sign(self._key, hashes.SHA256()), key)

    def _write(self, file: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
        pair = Pair(self._directory / f"{file}.crt", self._directory / f"{file}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        write_private(pair.key, _private_bytes(key))
        return pair


def signing_key(directory: Path, file: str, *, keep: bool = False) -> Pair:
    """Return a key pair without a certificate: the private key signs tokens, the public one checks them.

    With `keep`, a key that is there already and can be read goes on, so that tokens which it signed stay valid.
    """
    pair = Pair(directory / f"{file}.pub", directory / f"{file}.key")
    key = _read_key(pair.key) if keep else None
    if key is None:
        key = ec.generate_private_key(ec.SECP256R1())
        write_private(pair.key, _private_bytes(key))
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    pair.certificate.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, public))
    return pair


def _read_key(path: Path) -> PrivateKeyTypes | None:
    """Return the key in a file, or nothing if there is none, as after a disk was full."""
    try:
        return serialization.load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError):
        return None


def _still_valid_key(pair: Pair) -> ec.EllipticCurvePrivateKey | None:
    """Return the key of an authority that is there and will be for a while, or nothing."""
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
    except (OSError, ValueError):
        return None
    key = _read_key(pair.key)
    usable = certificate.not_valid_after_utc - dt.datetime.now(dt.UTC) > _RENEWED
    if not usable or not isinstance(key, ec.EllipticCurvePrivateKey):
        return None
    # Whoever was interrupted between the two files has left those of two authorities.
    return key if certificate.public_key() == key.public_key() else None


def write_private(path: Path, content: bytes) -> None:
    """Write a file that its owner alone can read, at no moment otherwise; it is there whole, or as it was before."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    beside.touch(mode=0o600, exist_ok=False)
    beside.write_bytes(content)
    beside.replace(path)


def _certificate(subject: x509.Name, key: ec.EllipticCurvePublicKey, *, issuer: x509.Name) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + LIFETIME)
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _private_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        # What openssl and Kubernetes both write for a key on a curve.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
