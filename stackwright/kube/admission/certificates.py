"""Our own authority and serving certificate for webhooks, and how they are renewed. Pure but for new keys.

A rotation never breaks a call. A new authority is first only believed: it joins the bundle that the API server
holds, beside the one before it. Later, when every API server has had time to see that bundle, the serving
certificate is signed by it. The old authority stays in the bundle until it expires:

    bundle      A  A  A+B  A+B  A+B  B  B
    signed by   A  A  A    B    B    B  B
                      ^ two thirds of A's life
                           ^ `settle` later, and the bundle was published
                                     ^ A expired
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# The clocks of machines differ, so a certificate is valid from a little before its creation.
BACKDATED = timedelta(minutes=5)


@dataclass(frozen=True)
class Lifetimes:
    """The lifetimes of certificates; each is renewed after two thirds of its lifetime."""

    authority: timedelta = timedelta(days=730)
    serving: timedelta = timedelta(days=90)
    settle: timedelta = timedelta(minutes=10)
    """How long an authority is in the published bundle before it signs anything."""


DEFAULT_LIFETIMES = Lifetimes()


@dataclass(frozen=True)
class Pair:
    """A certificate and its key; the key of an authority that no longer signs is dropped."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey | None

    @property
    def renewal(self) -> datetime:
        """When two thirds of its lifetime are over."""
        start, end = self.certificate.not_valid_before_utc, self.certificate.not_valid_after_utc
        return start + (end - start) * 2 / 3

    @property
    def made(self) -> datetime:
        """When it was created."""
        return self.certificate.not_valid_before_utc + BACKDATED

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The key as PEM; empty if it was dropped."""
        if self.key is None:
            return b""
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def signed(self, certificate: x509.Certificate) -> bool:
        """Return whether `certificate` was signed by this authority."""
        try:
            certificate.verify_directly_issued_by(self.certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True


@dataclass(frozen=True)
class Material:
    """What replicas share: the trusted authorities, oldest first, and the serving certificate."""

    authorities: tuple[Pair, ...]
    serving: Pair

    @property
    def bundle(self) -> bytes:
        """The bundle that the API server trusts."""
        return b"".join(authority.certificate_pem for authority in self.authorities)

    @property
    def signer(self) -> Pair | None:
        """The authority that signed the serving certificate, if it is still trusted."""
        return next((pair for pair in self.authorities if pair.signed(self.serving.certificate)), None)


def advance(
    material: Material | None,
    now: datetime,
    *,
    names: tuple[str, ...],
    published: bool = False,
    lifetimes: Lifetimes = DEFAULT_LIFETIMES,
) -> Material:
    """Return what should be there now; `material` itself when nothing is due.

    `published` says that the API server was given the bundle as `material` has it.
    """
    if material is None:
        authority = new_authority(now, lifetimes.authority)
        return Material((authority,), new_serving(authority, now, names, lifetimes.serving))
    believed = tuple(pair for pair in material.authorities if pair.certificate.not_valid_after_utc > now)
    if not believed or believed[-1].key is None or now >= believed[-1].renewal:
        believed = (*believed, new_authority(now, lifetimes.authority))
    signer = _signer(material, believed, now, lifetimes.settle if published else None)
    serving = material.serving
    if now >= serving.renewal or not signer.signed(serving.certificate) or names_of(serving.certificate) != set(names):
        serving = new_serving(signer, now, names, lifetimes.serving)
    # An authority that signed before the current one will not sign again.
    place = believed.index(signer)
    believed = tuple(replace(pair, key=None) if place > index else pair for index, pair in enumerate(believed))
    advanced = Material(believed, serving)
    return material if advanced == material else advanced


def due(material: Material, lifetimes: Lifetimes = DEFAULT_LIFETIMES) -> datetime:
    """Return when `advance` will next have something to do."""
    moments = [pair.certificate.not_valid_after_utc for pair in material.authorities]
    moments += [material.authorities[-1].renewal, material.serving.renewal]
    if material.signer != material.authorities[-1]:
        moments.append(material.authorities[-1].made + lifetimes.settle)
    return min(moments)


def _signer(material: Material, believed: tuple[Pair, ...], now: datetime, settle: timedelta | None) -> Pair:
    """Return the authority that signs: the newest one that API servers have had time to learn, or the previous one."""
    current = material.signer
    newest = believed[-1]
    if current is None or current.key is None or current not in believed:
        return newest
    if settle is not None and newest in material.authorities and now >= newest.made + settle:
        return newest
    return current


def new_authority(now: datetime, life: timedelta) -> Pair:
    """Return a new authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    # Each authority has its own name, so that verifiers that look up an issuer by name find exactly one.
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"webhook authority {now:%Y-%m-%dT%H:%M:%S.%fZ}")])
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _builder(name, name, key, now, now + life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Pair(certificate, key)


def new_serving(authority: Pair, now: datetime, names: tuple[str, ...], life: timedelta) -> Pair:
    """Return a serving certificate for these names and addresses, signed by the authority."""
    if authority.key is None:
        raise ValueError("an authority without a key cannot sign")
    key = ec.generate_private_key(ec.SECP256R1())
    # The common name may have 64 characters at most; verifiers read the alternative names.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    end = min(now + life, authority.certificate.not_valid_after_utc)
    issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    certificate = (
        _builder(subject, authority.certificate.subject, key, now, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(issuer_key, critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return Pair(certificate, key)


def names_of(certificate: x509.Certificate) -> set[str]:
    """Return the names and addresses that a certificate is for."""
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in names}


def to_secret(material: Material) -> dict[str, bytes]:
    """Return the material under the keys that Secrets of type kubernetes.io/tls have, and their like."""
    return {
        "ca.crt": material.bundle,
        "ca.key": b"".join(authority.key_pem for authority in material.authorities),
        "tls.crt": material.serving.certificate_pem,
        "tls.key": material.serving.key_pem,
    }


def from_secret(data: Mapping[str, bytes]) -> Material:
    """Return the material in a Secret's decoded data; ValueError when it is not whole."""
    try:
        keys = {_public(key): key for key in _keys(data["ca.key"])}
        authorities = tuple(
            Pair(certificate, keys.get(_public(certificate)))
            for certificate in x509.load_pem_x509_certificates(data["ca.crt"])
        )
        serving = Pair(x509.load_pem_x509_certificate(data["tls.crt"]), _keys(data["tls.key"])[0])
    except (KeyError, IndexError) as error:
        raise ValueError(f"there is no {error}") from error
    if serving.key is None or _public(serving.key) != _public(serving.certificate):
        raise ValueError("tls.key is not the key of tls.crt")
    return Material(authorities, serving)


def _keys(pem: bytes) -> list[ec.EllipticCurvePrivateKey]:
    blocks = re.findall(rb"-----BEGIN [A-Z ]+-----.+?-----END [A-Z ]+-----\n?", pem, re.DOTALL)
    keys = [serialization.load_pem_private_key(block, password=None) for block in blocks]
    return [key for key in keys if isinstance(key, ec.EllipticCurvePrivateKey)]


def _public(of: x509.Certificate | ec.EllipticCurvePrivateKey) -> bytes:
    return of.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(end)
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
