"""Which passwords are generated."""

import base64

import pytest

from stackwright import services
from stackwright.api.base import JsonObject
from stackwright.blueprint.needs.need import WantedPassword
from stackwright.controllers.controlplane.passwords import Add, Seen, decide, made, random, seen, select
from stackwright.controllers.controlplane.resolution import resolve
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import ObjectMeta
from tests.unit.controllers.controlplane.umbrellas import umbrella

OURS = Seen(frozenset({"Other"}), generated=True, version="7")
THEIRS = Seen(frozenset({"Other"}), generated=False, version="7")
ELSEWHERE = {"externalKeystoneAPI": True}


@pytest.mark.parametrize(
    ("spec", "secret", "step"),
    [
        pytest.param({"keystone": {}}, None, Add(("AdminPassword",), ""), id="there-is-no-secret"),
        pytest.param({"keystone": {}}, OURS, Add(("AdminPassword",), "7"), id="a-service-came-later"),
        pytest.param({"keystone": {}}, THEIRS, None, id="a-secret-of-the-user-is-left-alone"),
        pytest.param(
            {"keystone": {}},
            Seen(frozenset({"AdminPassword"}), generated=True, version="7"),
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
def test_generated(spec: JsonObject, secret: Seen | None, step: Add | None) -> None:
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

    assert seen(secret) == Seen(frozenset({"a"}), generated=generated, version="3")
    assert seen(None) is None


def test_a_key_of_fernet_has_its_32_bytes_and_a_password_is_none() -> None:
    found = made(Add(("Key", "Password"), "", fernet=frozenset({"Key"})), random)
    assert len(base64.b64decode(found["Key"], altchars=b"-_", validate=True)) == 32
    assert len(found["Password"]) == 32
    assert found["Password"] != found["Key"]


def test_a_password_without_which_a_service_runs_is_generated_and_not_asked_for() -> None:
    passwords = (WantedPassword("Own", optional=True), WantedPassword("All"))

    assert [password.key for password in select(passwords, made_up=True)] == ["Own", "All"]
    assert [password.key for password in select(passwords, made_up=False)] == ["All"]
