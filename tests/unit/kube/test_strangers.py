"""Whoever wrote to a child beside us is noticed, and pods that somebody took away are missed."""

from typing import Any

import msgspec
import pytest

from stackwright.kube.builtin import ConfigMap, Deployment, StatefulSet
from stackwright.kube.resource import Resource, manifest
from stackwright.kube.shapes import strangers
from stackwright.kube.shapes.child import Child, fingerprint
from stackwright.services.keystone.kinds import KeystoneAPI

OURS = {"manager": "stackwright", "operation": "Apply"}
HAND = {"manager": "kubectl-edit", "operation": "Update", "time": "2026-11-15T10:00:00Z"}
STATUS = {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status"}


def written(*entries: dict[str, str], kind: type[Resource] = Deployment, **spec: Any) -> Any:
    return msgspec.convert({"metadata": {"name": "a", "managedFields": list(entries)}, "spec": spec}, kind)


@pytest.mark.parametrize(
    ("found", "managers"),
    [
        pytest.param(written(OURS, STATUS), [], id="nobody-else"),
        pytest.param(written(OURS, HAND, STATUS), ["kubectl-edit"], id="a-hand"),
        pytest.param(
            written(OURS, HAND, kind=KeystoneAPI, databaseInstance="db", secret="s"),
            [],
            id="a-custom-resource-is-the-users-as-well",
        ),
    ],
)
def test_who_else_wrote(found: Resource, managers: list[str]) -> None:
    assert [entry.manager for entry in strangers.strangers(found, "stackwright")] == managers


def test_what_a_stranger_does_is_looked_at_once_and_a_status_is_no_news() -> None:
    child = Child(Deployment, {"metadata": {"name": "a"}})
    later = {**STATUS, "time": "2026-11-15T11:00:00Z"}
    again = {**HAND, "time": "2026-11-15T11:00:00Z"}
    seen = fingerprint(written(OURS, HAND, STATUS), child)
    assert fingerprint(written(OURS, HAND, later), child) == seen
    assert fingerprint(written(OURS, again, STATUS), child) != seen


def test_what_is_sent_does_not_say_who_wrote_it() -> None:
    assert manifest(written(OURS, HAND))["metadata"] == {"name": "a"}


@pytest.mark.parametrize(
    ("asked", "present", "emptied"),
    [
        pytest.param(1, written(replicas=0), True, id="scaled-to-0"),
        pytest.param(1, written(replicas=0, kind=StatefulSet), True, id="also-a-stateful-set"),
        pytest.param(0, written(replicas=0), False, id="none-are-asked-for"),
        pytest.param(1, written(replicas=2), False, id="more-than-asked-for"),
        pytest.param(None, written(replicas=0), False, id="nobody-asks-for-a-number"),
        pytest.param(1, ConfigMap(), False, id="what-has-no-pods"),
        pytest.param(
            1, written(kind=KeystoneAPI, replicas=0, databaseInstance="d", secret="s"), False, id="what-the-user-says"
        ),
    ],
)
def test_pods_that_somebody_took_away(asked: int | None, present: Resource, emptied: bool) -> None:
    body = {"spec": {} if asked is None else {"replicas": asked}}
    assert strangers.is_emptied(body, present) is emptied
