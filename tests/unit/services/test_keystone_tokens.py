"""What a KeystoneAPI may say of its tokens, in whichever of the ways that Keystone reads."""

from typing import Any

import pytest

from stackwright.services.keystone.checks import problems, token_life
from stackwright.services.keystone.kinds import KeystoneAPI, KeystoneAPISpec
from tests.surroundings import nothing_known

PATH = "spec.customServiceConfig"


def keystone(snippet: str = "", whole: str = "", **spec: Any) -> KeystoneAPI:
    overwrite = {"keystone.conf": whole} if whole else {}
    return KeystoneAPI(
        spec=KeystoneAPISpec(
            secret="s", databaseInstance="db", customServiceConfig=snippet, defaultConfigOverwrite=overwrite, **spec
        )
    )


def wrong(resource: KeystoneAPI) -> dict[str, str]:
    nothing: Any = nothing_known
    return dict(problems(resource, nothing))


LONG = "expiration = 864000\n"


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param(keystone(f"[token]\n{LONG}"), id="as-it-is-usual"),
        pytest.param(keystone(f"[TOKEN]\n{LONG}"), id="in-capitals"),
        pytest.param(keystone(f"[Token]\n{LONG}"), id="in-any-case"),
        pytest.param(keystone("[token]\nexpiration = 864_000\n"), id="with-an-underscore"),
        pytest.param(keystone("[token]\nexpiration = +864000\n"), id="with-a-sign"),
        pytest.param(keystone(f"[token]\nexpiration = 60\n[TOKEN]\n{LONG}"), id="the-last-one-counts"),
        pytest.param(keystone("[DEFAULT]\ndebug = true\n", f"[token]\n{LONG}"), id="in-the-whole-file"),
    ],
)
def test_keys_are_kept_for_as_long_as_tokens_live(resource: KeystoneAPI) -> None:
    assert token_life(resource) == 864000 + 172800
    assert "set 14 or more" in wrong(resource)["spec.fernetMaxActiveKeys"]


def test_a_snippet_is_read_after_the_whole_file() -> None:
    assert token_life(keystone("[token]\nexpiration = 60\n", f"[token]\n{LONG}")) == 60 + 172800


@pytest.mark.parametrize(
    ("snippet", "option"),
    [
        pytest.param("[token]\nexpiration =\n", "[token] expiration", id="no-life"),
        pytest.param("[token]\nexpiration = 0\n", "[token] expiration", id="a-life-that-is-over"),
        pytest.param("[token]\nexpiration = $allow_expired_window\n", "[token] expiration", id="a-reference"),
        pytest.param("[TOKEN]\nexpiration = $$x\n", "[token] expiration", id="a-reference-in-capitals"),
        pytest.param("[token]\nallow_expired_window =\n", "[token] allow_expired_window", id="no-window"),
        pytest.param("[token]\nexpiration = 00000000000000000864000\n", "[token] expiration", id="zeros-in-front"),
        pytest.param(
            "[token]\nallow_expired_window = 99999999999999999999999\n",
            "[token] allow_expired_window",
            id="a-window-without-end",
        ),
        pytest.param("[auth]\nmethods = token\n", "[auth] methods", id="no-passwords"),
        pytest.param("[auth]\nmethods =\n", "[auth] methods", id="no-logins-at-all"),
    ],
)
def test_a_value_with_which_nobody_can_log_in_is_refused(snippet: str, option: str) -> None:
    assert wrong(keystone(snippet))[PATH].startswith(f"{option} must ")
    assert wrong(keystone("", snippet))[PATH].startswith(f"{option} must ")


@pytest.mark.parametrize(
    "snippet",
    [
        "",
        "[token]\nexpiration = 7200\n",
        "[token]\nexpiration = 0\nexpiration = 1\nallow_expired_window = 0\n",
        "[auth]\nmethods = password, token,totp\n",
        # The type of the option tells what is wrong with it.
        "[token]\nexpiration = soon\n",
    ],
)
def test_other_values_are_kept(snippet: str) -> None:
    assert wrong(keystone(snippet)) == {}
