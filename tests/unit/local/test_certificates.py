"""Certificates: signed by our authority, for the names that they contain, with keys that only their owner can read."""

import datetime as dt
import ssl
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from stackwright.kube import config
from stackwright.local import kubeconfig
from stackwright.local.certificates import Authority, Pair, signing_key


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certificates")


def read(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate.read_bytes())


def test_a_server_is_known_by_its_names_and_addresses(authority: Authority) -> None:
    certificate = read(authority.server("server", names=["127.0.0.1", "kubernetes.default.svc"]))
    certificate.verify_directly_issued_by(read(authority.pair))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name) for name in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert names.get_values_for_type(x509.DNSName) == ["kubernetes.default.svc"]
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_a_client_is_known_by_its_user_and_groups(authority: Authority) -> None:
    certificate = read(authority.client("admin", user="admin", groups=["system:masters"]))
    certificate.verify_directly_issued_by(read(authority.pair))
    assert [one.value for one in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["admin"]
    organizations = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [one.value for one in organizations] == ["system:masters"]
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_a_certificate_holds_now_and_not_for_ever(authority: Authority) -> None:
    certificate = read(authority.client("admin", user="admin"))
    now = dt.datetime.now(dt.UTC)
    # A clock that was ahead may be set back by hours.
    assert certificate.not_valid_before_utc < now - dt.timedelta(hours=23)
    assert now < certificate.not_valid_after_utc
    assert certificate.not_valid_after_utc - now < dt.timedelta(days=366)


def test_keys_are_readable_by_their_owner_alone_even_over_a_file_that_was_not(authority: Authority) -> None:
    folder = authority.pair.key.parent
    (folder / "tokens.key").write_text("readable by all")
    (folder / "tokens.key").chmod(0o644)
    signing_key(folder, "tokens")
    authority.client("admin", user="admin")
    keys = list(folder.glob("*.key"))
    assert len(keys) == 3
    assert {path.stat().st_mode & 0o777 for path in keys} == {0o600}


def test_python_accepts_the_pair_and_the_authority(authority: Authority) -> None:
    pair = authority.client("admin", user="admin")
    context = ssl.create_default_context(cafile=authority.pair.certificate)
    context.load_cert_chain(pair.certificate, pair.key)
    assert len(context.get_ca_certs()) == 1


def test_a_kubeconfig_is_all_that_a_client_needs(authority: Authority, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    admin = authority.client("admin", user="admin", groups=["system:masters"])
    kubeconfig.write(path, server="https://127.0.0.1:6443", authority=authority.pair.certificate, client=admin)
    assert path.stat().st_mode & 0o777 == 0o600
    # Our own client reads it even when the files that it was made from are gone.
    for file in authority.pair.key.parent.iterdir():
        file.unlink()
    assert config.load(path).server == "https://127.0.0.1:6443"
    assert yaml.safe_load(path.read_text())["current-context"] == "stackwright"


def test_an_authority_that_is_kept_goes_on(tmp_path: Path) -> None:
    first = Authority(tmp_path, keep=True)
    before = first.pair.certificate.read_bytes()
    tokens = signing_key(tmp_path, "tokens", keep=True).key.read_bytes()
    again = Authority(tmp_path, keep=True)
    assert again.pair.certificate.read_bytes() == before
    assert signing_key(tmp_path, "tokens", keep=True).key.read_bytes() == tokens
    signed = x509.load_pem_x509_certificate(again.client("late", user="late").certificate.read_bytes())
    signed.verify_directly_issued_by(x509.load_pem_x509_certificate(before))
    assert Authority(tmp_path).pair.certificate.read_bytes() != before


@pytest.mark.parametrize("left", ["tokens.key", "tokens.pub"])
def test_a_file_of_a_signing_key_that_was_left_empty_is_made_whole(left: str, tmp_path: Path) -> None:
    before = signing_key(tmp_path, "tokens", keep=True).key.read_bytes()
    (tmp_path / left).write_bytes(b"")
    pair = signing_key(tmp_path, "tokens", keep=True)
    private = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    assert private.public_key() == serialization.load_pem_public_key(pair.certificate.read_bytes())
    # Tokens stay valid as long as there is what signed them.
    assert (pair.key.read_bytes() == before) == (left == "tokens.pub")


def test_a_certificate_beside_the_key_of_another_authority_is_not_kept(tmp_path: Path) -> None:
    other = Authority(tmp_path / "other").pair
    before = Authority(tmp_path / "own").pair
    before.key.write_bytes(other.key.read_bytes())
    again = Authority(tmp_path / "own", keep=True)
    read(again.client("late", user="late")).verify_directly_issued_by(read(again.pair))
