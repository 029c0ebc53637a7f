"""Passwords as RabbitMQ keeps them."""

import base64
import hashlib

import pytest

from stackwright.adapters.rabbitmq import Access, User, digest_of


def test_a_digest_is_what_rabbitmq_s_documentation_computes() -> None:
    assert digest_of("test12", bytes.fromhex("908DC60A")) == "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"


def test_two_digests_of_one_password_differ() -> None:
    assert digest_of("password") != digest_of("password")


SHA512 = base64.b64encode(b"salt" + hashlib.sha512(b"saltpassword").digest()).decode()


@pytest.mark.parametrize(
    ("user", "right"),
    [
        pytest.param(User("nova", digest=digest_of("password")), True, id="the-usual-algorithm"),
        pytest.param(
            User("nova", digest=SHA512, algorithm="rabbit_password_hashing_sha512"), True, id="a-stronger-one"
        ),
        pytest.param(User("nova", digest=SHA512, algorithm="rabbit_password_hashing_md5"), False, id="an-unknown-one"),
        pytest.param(User("nova", digest=digest_of("another")), False, id="another-password"),
        pytest.param(User("nova", digest=""), False, id="a-user-without-a-password"),
    ],
)
def test_whether_a_password_is_a_user_s(user: User, right: bool) -> None:
    assert user.has_password("password") is right


def test_no_password_is_shown() -> None:
    assert "secret" not in repr(Access("http://a", "b", "secret"))
    assert "digest" not in repr(User("nova", digest="digest"))
