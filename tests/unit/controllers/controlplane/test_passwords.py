"""Which passwords are generated."""

import base64

import msgspec
import pytest

from stackwright import services
from stackwright.api.base import JsonObject
from stackwright.blueprint.needs.need import WantedPassword
from stackwright.controllers.controlplane.passwords import (
    Add,
    SecretKeys,
    decide,
    loss,
    make_passwords,
    random,
    read_keys,
    renewal,
    select,
)
from stackwright.controllers.controlplane.resolution import resolve
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import ObjectMeta
from stackwright.services.barbican.kinds import Barbican, BarbicanSpec
from tests.unit.controllers.controlplane.umbrellas import umbrella

OURS = SecretKeys(frozenset({"Other"}), generated=True, version="7")
THEIRS = SecretKeys(frozenset({"Other"}), generated=False, version="7")
ELSEWHERE = {"externalKeystoneAPI": True}


@pytest.mark.parametrize(
    ("spec", "secret", "step"),
    [
        pytest.param({"keystone": {}}, None, Add(("AdminPassword",), ""), id="there-is-no-secret"),
        pytest.param({"keystone": {}}, OURS, Add(("AdminPassword",), "7"), id="a-service-came-later"),
        pytest.param({"keystone": {}}, THEIRS, None, id="a-secret-of-the-user-is-left-alone"),
        pytest.param(
            {"keystone": {}},
            SecretKeys(frozenset({"AdminPassword"}), generated=True, version="7"),
            None,
            id="what-is-there-is-never-changed",
        ),
        pytest.param({"keystone": {}, "passwordPolicy": "Provide"}, None, None, id="the-user-provides"),
        pytest.param({"galera": {}}, None, None, id="nobody-wants-one"),
        pytest.param({"keystone": {"enabled": False}}, None, None, id="the-service-is-disabled"),
        pytest.param({"keystone": {"template": {"secret": "own"}}}, None, None, id="the-service-has-another-secret"),
        pytest.param(
            {"keystone": {"template": {"passwordSelectors": {"admin": "Root"}}}},
            None,
            Add(("Root",), ""),
            id="the-key-is-named-by-the-template",
        ),
        pytest.param(
            {"keystone": {"template": ELSEWHERE}, "barbican": {}},
            None,
            Add(("BarbicanPassword", "BarbicanSimpleCryptoKEK"), "", fernet=frozenset({"BarbicanSimpleCryptoKEK"})),
            id="a-key-is-made-in-the-form-of-one",
        ),
        pytest.param({"keystone": {"template": ELSEWHERE}}, None, None, id="what-runs-elsewhere-has-its-password"),
    ],
)
def test_generated(spec: JsonObject, secret: SecretKeys | None, step: Add | None) -> None:
    whole = umbrella({"passwordPolicy": "Generate", **spec})

    assert decide(whole, resolve(whole.spec, services.sections(), ()), secret) == step


@pytest.mark.parametrize(
    ("annotations", "generated"),
    [({"openstack.org/generated": "true"}, True), ({"openstack.org/generated": "no"}, False), ({}, False)],
)
def test_of_a_secret_the_keys_are_seen_and_not_the_values(annotations: dict[str, str], generated: bool) -> None:
    secret = Secret(
        metadata=ObjectMeta(name="s", resourceVersion="3", annotations=annotations), data={"a": "aGk=", "empty": ""}
    )

    assert read_keys(secret) == SecretKeys(frozenset({"a"}), generated=generated, version="3")
    assert read_keys(None) is None


def test_a_key_of_fernet_has_its_32_bytes_and_a_password_is_none() -> None:
    found = make_passwords(Add(("Key", "Password"), "", fernet=frozenset({"Key"})), random)
    assert len(base64.b64decode(found["Key"], altchars=b"-_", validate=True)) == 32
    assert len(found["Password"]) == 32
    assert found["Password"] != found["Key"]


def test_a_password_without_which_a_service_runs_is_generated_and_not_asked_for() -> None:
    passwords = (WantedPassword("Own", optional=True), WantedPassword("All"))

    assert [password.key for password in select(passwords, made_up=True)] == ["Own", "All"]
    assert [password.key for password in select(passwords, made_up=False)] == ["All"]


ALL = frozenset({"AdminPassword", "BarbicanPassword", "BarbicanSimpleCryptoKEK"})
CLOUD = umbrella({"passwordPolicy": "Generate", "keystone": {}, "barbican": {}})


def a_barbican(annotations: dict[str, str] | None = None, *, noted: bool = True) -> Barbican:
    """Return a Barbican that has worked with its key."""
    found = Barbican(
        metadata=ObjectMeta(name="barbican", namespace="here", annotations=annotations or {}),
        spec=msgspec.convert({"databaseInstance": "openstack", "secret": "osp-secret"}, BarbicanSpec),
    )
    hashes = {"api": "1", **({"key-simplecryptokek": "0ldkey"} if noted else {})}
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, hash=hashes))


def told(secret: SecretKeys | None, barbican: Barbican) -> tuple[Add | None, str]:
    found = resolve(CLOUD.spec, services.sections(), ())
    present = {("Barbican", "barbican"): barbican}
    lost = loss(CLOUD, found, secret, present)
    return decide(CLOUD, found, secret, present), lost.message if lost is not None else ""


def test_a_key_that_was_encrypted_with_is_not_made_anew() -> None:
    step, message = told(None, a_barbican())
    assert step == Add(("AdminPassword", "BarbicanPassword"), "", renewed=("BarbicanPassword",))
    assert "openstack.org/accept-loss: 0ldkey on Barbican barbican" in message
    assert "Secret barbican-config-data still has it" in message
    assert "lacked BarbicanPassword, which services work with already" in renewal(step, CLOUD)
    assert told(SecretKeys(ALL - {"BarbicanSimpleCryptoKEK"}, generated=True, version="7"), a_barbican()) == (
        None,
        message,
    )


def test_a_key_whose_loss_is_accepted_is_made_anew() -> None:
    step, message = told(None, a_barbican({"openstack.org/accept-loss": "other, 0ldkey"}))
    assert step is not None
    assert "BarbicanSimpleCryptoKEK" in step.fernet
    assert message == ""


def test_a_key_that_is_there_or_was_never_used_is_no_loss() -> None:
    assert told(SecretKeys(ALL, generated=True, version="7"), a_barbican()) == (None, "")
    step, message = told(None, a_barbican(noted=False))
    assert step is not None
    assert "BarbicanSimpleCryptoKEK" in step.keys
    assert message == ""
