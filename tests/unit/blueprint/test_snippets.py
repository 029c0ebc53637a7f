"""Snippets that a user keeps in Secrets."""

import base64
from typing import Any

from stackwright.api.base import ObjectMeta
from stackwright.blueprint.needs import Snippets
from stackwright.blueprint.needs.need import Resolved
from stackwright.blueprint.option_types import OptionType
from stackwright.controllers.needs import sight
from stackwright.controllers.service import snippets
from stackwright.kube.builtin import Secret


def look_at(**secrets: dict[str, bytes]) -> Any:
    def look(kind: type[Any], name: str, **_: str) -> Any:
        if kind is not Secret or name not in secrets:
            return None
        data = {key: base64.b64encode(content).decode() for key, content in secrets[name].items()}
        return Secret(metadata=ObjectMeta(name=name), data=data)

    return look


def resolved(names: tuple[str, ...], look: Any) -> Resolved:
    return Snippets(lambda _: names).resolve(None, sight(look))


def test_their_content_is_as_it_stands_there() -> None:
    found = resolved(("a", "b"), look_at(a={"x.conf": b"[s3]\nkey = 1\n"}, b={}))
    assert found.ready
    assert found.fact == {"a": {"x.conf": "[s3]\nkey = 1\n"}, "b": {}}


def test_without_any_there_is_nothing_to_wait_for() -> None:
    found = resolved((), look_at())
    assert (found.ready, found.fact, found.waits) == (True, {}, ())


def test_what_is_missing_and_what_is_broken_is_told_without_a_secret() -> None:
    broken = {"x": b"[s3]\nhush-hush\n", "y": b"\xff\xfe", "z": b"[s3]\nkey = 1\n"}
    found = resolved(("gone", "a"), look_at(a=broken))
    assert not found.ready
    assert [wait.message for wait in found.waits] == [
        "Secret gone, which customServiceConfigSecrets names, does not exist; create it",
        "Secret a, key x: line 2 cannot be read; correct it",
        "Secret a, key y: the value is not text; correct it",
    ]
    assert {wait.condition for wait in found.waits} == {"InputReady"}


def test_a_value_that_the_service_cannot_read_is_named_by_secret_key_and_line() -> None:
    known = {"s3": {"port": OptionType("integer")}}
    world = look_at(a={"x.conf": b"[s3]\nport = hush-hush\n", "y": b"[s3]\nport = 1\n", "z": b"\xff"}, b={})
    assert list(snippets.problems(("a", "b", "gone"), known, world)) == [
        ("Secret a, key x.conf", "line 2: [s3] port must be a whole number")
    ]
