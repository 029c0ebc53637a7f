"""What resources claim is remembered until one of the objects that say so is replaced."""

from collections.abc import Iterator
from typing import Any

import msgspec

from stackwright.api.base import ObjectMeta
from stackwright.blueprint.claims import Claim
from stackwright.blueprint.look import Look
from stackwright.controllers.ownership import memory
from stackwright.controllers.ownership.memory import Memory
from stackwright.kube.builtin import Secret
from stackwright.services.memcached.kinds import Memcached


class Asked:
    """Claims what a Secret of the resource's name says, and counts how often it was asked."""

    def __init__(self, resource: Memcached, *secrets: Secret) -> None:
        self.resource = resource
        self.secrets = {secret.metadata.name: secret for secret in secrets}
        self.times = 0

    def look(self, kind: type[Any], name: str, *, namespace: str = "") -> Any:
        return self.secrets.get(name) if kind is Secret and not namespace else None

    def make(self, look: Look) -> Iterator[Claim]:
        self.times += 1
        secret = look(Secret, self.resource.metadata.name)
        yield Claim("cache", secret.metadata.labels.get("of", "") if secret is not None else "nobody")

    def recall(self, by: Memory) -> str:
        (claim,) = by.recall(self.resource, self.look, self.make)
        return claim.name


def cache(uid: str = "1") -> Memcached:
    return Memcached(metadata=ObjectMeta(name="cache", namespace="cloud", uid=uid))


def secret(of: str) -> Secret:
    return Secret(metadata=ObjectMeta(name="cache", labels={"of": of}))


def test_nothing_is_worked_out_twice_while_everything_is_the_same() -> None:
    asked, by = Asked(cache(), secret("one")), Memory()
    assert [asked.recall(by) for _ in range(3)] == ["one"] * 3
    assert asked.times == 1


def test_a_resource_that_was_replaced_is_asked_again() -> None:
    asked, by = Asked(cache(), secret("one")), Memory()
    asked.recall(by)
    asked.resource = msgspec.structs.replace(asked.resource)
    asked.recall(by)
    assert asked.times == 2


def test_what_was_looked_at_and_has_changed_come_or_gone_is_looked_at_again() -> None:
    asked, by = Asked(cache()), Memory()
    assert asked.recall(by) == "nobody"
    asked.secrets = {"cache": secret("one")}
    assert asked.recall(by) == "one"
    asked.secrets = {"cache": secret("other")}
    assert asked.recall(by) == "other"
    asked.secrets = {}
    assert asked.recall(by) == "nobody"


def test_what_is_not_created_yet_is_not_remembered() -> None:
    asked, by = Asked(cache(uid="")), Memory()
    asked.recall(by)
    asked.recall(by)
    assert asked.times == 2
    assert not by.known


def test_no_more_is_remembered_than_a_large_cloud_has(monkeypatch: Any) -> None:
    monkeypatch.setattr(memory, "REMEMBERED", 2)
    by = Memory()
    for uid in ("1", "2", "1", "3"):
        Asked(cache(uid)).recall(by)
    assert list(by.known) == ["1", "3"]
