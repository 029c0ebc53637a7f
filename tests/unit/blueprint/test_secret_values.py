"""What the controllers of things outside the cluster share."""

import base64

import pytest

from stackwright.blueprint.secret_values import decode, read_database_password, read_value, text_of, texts_of
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Wait


def secret(content: bytes) -> Secret:
    return Secret(data={"password": base64.b64encode(content).decode()})


@pytest.mark.parametrize(
    ("found", "reason", "said"),
    [
        pytest.param(None, "SecretMissing", "Secret db does not exist; create it", id="there-is-none"),
        pytest.param(Secret(), "SecretIncomplete", "has no value under the key password", id="it-lacks-the-key"),
        pytest.param(secret(b""), "SecretIncomplete", "has no value under the key password", id="it-is-empty"),
        pytest.param(secret(b"\xff"), "SecretInvalid", "is not text; correct it", id="it-is-no-text"),
        pytest.param(secret(b"a b\n"), "SecretInvalid", "a newline; write it without", id="a-file-with-its-newline"),
        pytest.param(secret(b" a"), "SecretInvalid", "begins or ends with a blank", id="a-blank-before-it"),
        pytest.param(secret(b"\n"), "SecretInvalid", "a newline; write it without", id="nothing-but-a-newline"),
    ],
)
def test_a_value_that_cannot_be_used_is_waited_for(found: Secret | None, reason: str, said: str) -> None:
    value = read_value(found, "db", "password", "Ready")
    assert isinstance(value, Wait)
    assert value.reason == reason
    assert said in value.message


def test_a_value_is_what_the_secret_has() -> None:
    assert read_value(secret(b"a b"), "db", "password", "Ready") == "a b"


@pytest.mark.parametrize(("content", "usable"), [("p$ß wörd", False), ("p$ss w%rd", True)])
def test_a_database_takes_no_password_that_clients_send_otherwise(content: str, usable: bool) -> None:
    value = read_database_password(secret(content.encode()), "db", "password", "Ready")
    assert value == content if usable else isinstance(value, Wait)
    assert usable or "beyond ASCII; choose another password" in str(value)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("dGVh", b"tea"),
        ("/w==", b"\xff"),
        ("", b""),
        ("te a", None),
        ("Tee\u00ad", None),
        # As the program `base64` folds long values.
        ("dG\nVh\r\n", b"tea"),
    ],
)
def test_a_value_that_is_not_base64_is_none(value: str, found: bytes | None) -> None:
    assert decode(value) == found


def test_what_is_no_text_is_told_from_nothing() -> None:
    assert text_of(None, "password") == ""
    assert text_of(Secret(), "password") == ""
    assert text_of(Secret(data={"password": "not base64"}), "password") is None
    assert text_of(secret(b"\xff"), "password") is None
    assert texts_of(secret(b"\xff")) == {"password": ""}
