"""Authority and serving certificate over years, on a clock that is turned by hand."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509 import verification

from stackwright.kube.admission import certificates
from stackwright.kube.admission.certificates import Lifetimes, Material, advance, due, from_secret, to_secret

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("hooks.system.svc", "127.0.0.1")
LIFETIMES = Lifetimes(authority=timedelta(days=300), serving=timedelta(days=30), settle=timedelta(hours=1))
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def advanced(material: Material | None, now: datetime, *, published: bool = True) -> Material:
    return advance(material, now, names=NAMES, published=published, lifetimes=LIFETIMES)


def believes(bundle: bytes, serving: certificates.Pair, now: datetime) -> bool:
    """Whether who has the bundle accepts the server, by the rules of the web."""
    store = verification.Store(x509.load_pem_x509_certificates(bundle))
    verifier = verification.PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName(NAMES[0]))
    try:
        verifier.verify(serving.certificate, [])
    except verification.VerificationError:
        return False
    return True


def test_the_first_material_is_whole_and_believed() -> None:
    material = advanced(None, START)
    assert believes(material.bundle, material.serving, START)
    assert certificates.names_of(material.serving.certificate) == set(NAMES)


def test_nothing_is_done_before_it_is_due() -> None:
    material = advanced(None, START)
    moment = due(material, LIFETIMES)
    assert advanced(material, moment - timedelta(seconds=1)) is material
    assert advanced(material, moment) is not material


def test_the_serving_certificate_is_renewed_at_two_thirds_of_its_life() -> None:
    material = advanced(None, START)
    assert advanced(material, START + 19 * DAY) is material
    renewed = advanced(material, START + 21 * DAY)
    assert renewed.bundle == material.bundle
    assert renewed.serving.certificate != material.serving.certificate


def test_other_names_are_another_certificate_of_the_same_authority() -> None:
    material = advanced(None, START)
    renamed = advance(material, START + HOUR, names=("other.system.svc",), lifetimes=LIFETIMES)
    assert certificates.names_of(renamed.serving.certificate) == {"other.system.svc"}
    assert renamed.bundle == material.bundle


def test_a_new_authority_is_believed_before_anything_is_signed_by_it() -> None:
    old = advanced(None, START)
    staged = advanced(old, START + 201 * DAY)
    assert len(staged.authorities) == 2
    assert staged.signer == staged.authorities[0]
    assert advanced(staged, START + 201 * DAY + HOUR / 2) is staged
    switched = advanced(staged, START + 201 * DAY + HOUR)
    assert switched.signer == switched.authorities[1]
    assert switched.bundle == staged.bundle
    assert switched.authorities[0].key is None


def test_nothing_is_signed_by_an_authority_that_was_not_published() -> None:
    staged = advanced(advanced(None, START), START + 201 * DAY)
    assert advanced(staged, START + 205 * DAY, published=False) is staged


def test_an_authority_that_expired_leaves_the_bundle() -> None:
    material = advanced(advanced(None, START), START + 201 * DAY)
    material = advanced(material, START + 202 * DAY)
    assert len(advanced(material, START + 299 * DAY).authorities) == 2
    assert len(advanced(material, START + 301 * DAY).authorities) == 1


def test_a_process_that_slept_for_years_starts_anew() -> None:
    material = advanced(advanced(None, START), START + 5000 * DAY)
    assert believes(material.bundle, material.serving, START + 5000 * DAY)
    assert len(material.authorities) == 1


def test_no_call_breaks_in_three_years_of_rotations() -> None:
    """The API server has the bundle of now or of an hour ago, and the server its present certificate or the former."""
    now, material = START, advanced(None, START)
    authorities = {material.bundle}
    servings = {material.serving.certificate.serial_number}
    bundle_before, serving_before = material.bundle, material.serving
    while now < START + 1100 * DAY:
        # Another replica made the step, an hour at most after it was due; both ways to look at it are in use.
        now = max(due(material, LIFETIMES), now + HOUR)
        material = advanced(material, now)
        for bundle in (bundle_before, material.bundle):
            for serving in (serving_before, material.serving):
                assert believes(bundle, serving, now)
        bundle_before, serving_before = material.bundle, material.serving
        authorities.add(material.bundle)
        servings.add(material.serving.certificate.serial_number)
    assert len(servings) > 50
    assert len(authorities) > 6


def test_a_secret_gives_back_what_was_put_in() -> None:
    material = advanced(advanced(None, START), START + 201 * DAY)
    again = from_secret(to_secret(material))
    assert to_secret(again) == to_secret(material)
    assert advanced(again, START + 201 * DAY) is again
    assert advanced(again, START + 202 * DAY).signer == again.authorities[1]


def test_a_pair_can_be_served(tmp_path: Path) -> None:
    material = advanced(None, START)
    data = to_secret(material)
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).write_bytes(data[name])
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"tls.key": b""}, id="no-key"),
        pytest.param({"ca.crt": b"nonsense"}, id="no-certificate"),
        pytest.param({"tls.crt": to_secret(advanced(None, START))["tls.crt"]}, id="the-key-of-another-certificate"),
    ],
)
def test_a_broken_secret_is_said_to_be_broken(broken: dict[str, bytes]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        from_secret({**to_secret(advanced(None, START)), **broken})


def test_an_empty_secret_is_said_to_be_broken() -> None:
    with pytest.raises(ValueError, match=r"ca\.key"):
        from_secret({})
