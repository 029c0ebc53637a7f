"""What the server refused is not sent again as long as it would be refused again."""

import pytest

from stackwright.kube.builtin import ConfigMap, Service
from stackwright.kube.errors import Invalid, Retry
from stackwright.kube.resource import Key, ObjectMeta, Resource
from stackwright.kube.shapes.refusals import FIRST_REST, LONGEST_REST, Refusals, asked_of
from tests.functional.baskets import Fruit

PARENT = Key("n", "parent")
NAME = (PARENT, Fruit.kind, Key("n", "child"))
BY_SCHEMA = Invalid('Fruit "child" is invalid: spec.colour: Unsupported value', reason="Invalid")
BY_WEBHOOK = Invalid('admission webhook "f.example.org" denied the request: spec: taken', reason="Invalid")


def rests(of: type[Resource], error: Invalid, times: int) -> list[float]:
    """Return for how long the same rests after each of some refusals, one right after the rest of the other."""
    refusals, now, found = Refusals(), 0.0, []
    for _ in range(times):
        refusals.stop(NAME, "a", now)
        after = refusals.note(NAME, "a", of, error, now).after
        assert after is not None
        found.append(after)
        with pytest.raises(Retry):
            refusals.stop(NAME, "a", now + after / 2)
        now += after
    return found


def test_what_a_schema_refuses_rests_long() -> None:
    assert rests(Fruit, BY_SCHEMA, 2) == [LONGEST_REST, LONGEST_REST]


@pytest.mark.parametrize(
    ("of", "error"), [pytest.param(Fruit, BY_WEBHOOK, id="a-webhook"), pytest.param(Service, BY_SCHEMA, id="a-port")]
)
def test_what_may_depend_on_others_is_tried_again_soon_and_then_less_and_less(
    of: type[Resource], error: Invalid
) -> None:
    found = rests(of, error, 12)
    assert found[:3] == [FIRST_REST, FIRST_REST * 2, FIRST_REST * 4]
    assert found[-1] == LONGEST_REST


def test_the_status_says_what_the_server_said() -> None:
    refused = Refusals().note(NAME, "a", Fruit, BY_SCHEMA, 0.0)
    assert (str(refused), refused.reason) == (BY_SCHEMA.message, "Invalid")


def test_another_content_or_another_state_of_the_child_is_sent_at_once() -> None:
    refusals = Refusals()
    child = ConfigMap(metadata=ObjectMeta(name="child", uid="1", generation=1))
    refusals.note(NAME, asked_of("a", child), Fruit, BY_SCHEMA, 0.0)
    changed = ConfigMap(metadata=ObjectMeta(name="child", uid="1", generation=2))
    for asked in (asked_of("b", child), asked_of("a", changed), asked_of("a", None)):
        refusals.stop(NAME, asked, 1.0)
    with pytest.raises(Retry):
        refusals.stop(NAME, asked_of("a", child), 1.0)


def test_what_was_taken_and_whose_parent_is_gone_is_forgotten() -> None:
    refusals = Refusals()
    refusals.note(NAME, "a", Fruit, BY_SCHEMA, 0.0)
    refusals.settle(NAME)
    refusals.stop(NAME, "a", 1.0)
    refusals.note(NAME, "a", Fruit, BY_SCHEMA, 0.0)
    refusals.forget(PARENT)
    assert refusals.known == {}
