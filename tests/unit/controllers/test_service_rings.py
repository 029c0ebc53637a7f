"""How long the keys of a service's rings stay."""

import json
from datetime import timedelta

import msgspec
import pytest

from stackwright.controllers.service.labels import COMPONENT
from stackwright.controllers.service.ring_turns import holders_of
from stackwright.controllers.service.rings import NEEDED_FOR, PRIMARY_UNTIL, TURNED_AT, Drop, NoteLives, Turn
from stackwright.kube import clock
from stackwright.kube.builtin import Pod, Secret
from stackwright.kube.resource import Condition, ObjectMeta
from stackwright.services.keystone.service import SERVICE
from tests.unit.controllers.environments import NOW
from tests.unit.controllers.keystones import decided, keystone, secret


def turned_often(*, hours_ago: int, until: str = "2026-11-15T10:00:00Z") -> Secret:
    """Return a ring of one key more than its size, whose oldest was the primary one until some hours ago."""
    oldest = clock.seconds(NOW - timedelta(hours=hours_ago))
    noted = json.dumps({"1": oldest, "2": until, "3": until, "4": until})
    lives = {str(number): 3600 + 172800 for number in range(1, 6)}
    annotations = {TURNED_AT: until, PRIMARY_UNTIL: noted, NEEDED_FOR: json.dumps(lives)}
    keys = {f"_{number}": f"key {number}" for number in range(6)}
    return secret("keystone-fernet-keys", annotations, **keys)


ROTATE_FERNET = [{"name": "rotate-keys", "id": "1"}]
# Keystone's own expiration and allow_expired_window, and what a mounted Secret may take to reach all pods.
LIFE = 3600 + 172800 + 600


def test_a_key_that_tokens_may_be_written_with_stays_in_the_ring_however_often_it_turns() -> None:
    (step,) = decided(keystone(actions=ROTATE_FERNET), turned_often(hours_ago=3)).turns
    assert isinstance(step, Turn)
    assert step.needed == {"1", "2", "3", "4", "5"}


def test_a_turn_takes_away_what_no_token_needs_any_more() -> None:
    (step,) = decided(keystone(actions=ROTATE_FERNET), turned_often(hours_ago=50)).turns
    assert isinstance(step, Turn)
    assert step.needed == {"2", "3", "4", "5"}


def test_a_longer_life_of_tokens_keeps_their_keys_for_longer() -> None:
    spec = {"customServiceConfig": "[token]\nexpiration = 86400\n", "actions": ROTATE_FERNET}
    (step,) = decided(keystone(**spec), turned_often(hours_ago=50)).turns
    assert isinstance(step, Turn)
    assert "1" in step.needed


def test_a_ring_that_is_too_long_is_shortened_as_soon_as_its_oldest_key_is_not_needed() -> None:
    waiting = decided(keystone(fernetRotationDays=30), turned_often(hours_ago=48))
    assert waiting.turns == ()
    assert waiting.wake == LIFE - 48 * 3600
    (step,) = decided(keystone(fernetRotationDays=30), turned_often(hours_ago=50)).turns
    assert isinstance(step, Drop)
    assert step.keys == {"1"}


@pytest.mark.parametrize(
    ("ends_in", "state", "holds"),
    [
        pytest.param(None, "running", True, id="it-runs"),
        pytest.param(None, "waiting", True, id="it-starts"),
        pytest.param(30, "running", True, id="it-ends-and-still-serves"),
        pytest.param(30, "terminated", False, id="its-containers-have-ended"),
        pytest.param(30, "waiting", False, id="it-never-started"),
        pytest.param(-1, "running", False, id="its-time-is-over"),
    ],
)
def test_a_pod_holds_keys_for_as_long_as_it_may_serve(ends_in: int | None, state: str, holds: bool) -> None:
    metadata = ObjectMeta(
        name="keystone-0",
        labels={COMPONENT: "api"},
        deletionTimestamp="" if ends_in is None else clock.seconds(NOW + timedelta(seconds=ends_in)),
    )
    status = {"phase": "Running", "containerStatuses": [{"name": "api", "state": {state: {}}}]}
    pod = Pod(metadata=metadata, spec={"nodeName": "node"}, status=status)
    assert (holders_of(SERVICE, keystone(), [pod], NOW) == [pod]) is holds


WEEK = 604800


def noted_for(ring: Secret, **seconds: int) -> Secret:
    """Return a ring on which other lives of its keys are noted, or none."""
    lives = json.dumps({name.strip("_"): said for name, said in seconds.items()})
    annotations = {**ring.metadata.annotations, NEEDED_FOR: lives}
    return msgspec.structs.replace(ring, metadata=msgspec.structs.replace(ring.metadata, annotations=annotations))


@pytest.mark.parametrize("known", ["each", "one"])
def test_tokens_that_were_issued_for_longer_keep_their_keys(known: str) -> None:
    # Of an operator of before nothing is noted but of the primary key, and perhaps not even that.
    noted = {f"_{number}": WEEK for number in range(1, 6)} if known == "each" else {"_5": WEEK}
    early, late = (noted_for(turned_often(hours_ago=hours), **noted) for hours in (50, 7 * 24 + 1))
    assert not any(isinstance(step, Drop) for step in decided(keystone(fernetRotationDays=30), early).turns)
    (step,) = decided(keystone(fernetRotationDays=30), late).turns
    assert isinstance(step, Drop)
    assert step.keys == {"1"}


def test_how_long_keys_are_needed_is_noted_before_it_can_become_less() -> None:
    ring = noted_for(turned_often(hours_ago=3), _4=100, _5=100)
    (step,) = decided(keystone(fernetRotationDays=30), ring).turns
    assert isinstance(step, NoteLives)
    default = 3600 + 172800
    assert step.lives == {"1": default, "2": default, "3": default, "4": 100, "5": default}
    assert (
        decided(keystone(fernetRotationDays=30), noted_for(ring, **{f"_{k}": v for k, v in step.lives.items()})).turns
        == ()
    )


@pytest.mark.parametrize(("works", "life"), [(True, 3600 + 172800), (False, WEEK)])
def test_a_shorter_life_counts_for_keys_that_are_written_with_after_all_pods_know_it(works: bool, life: int) -> None:
    ring = noted_for(turned_often(hours_ago=3), _5=WEEK)
    resource = keystone(actions=ROTATE_FERNET)
    ready = Condition(type="Ready", status=str(works), lastTransitionTime="2026-11-15T10:00:00Z")
    status = msgspec.structs.replace(resource.status, conditions=(ready,))
    (step,) = decided(msgspec.structs.replace(resource, status=status), ring).turns
    assert isinstance(step, Turn)
    assert (step.lives["5"], step.lives["6"]) == (WEEK, life)
