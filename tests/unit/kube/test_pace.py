"""A status is written at once where somebody waits for it, and after a pause where it only moves on."""

from datetime import UTC, datetime, timedelta
from typing import get_type_hints

import msgspec
import pytest

from stackwright import services
from stackwright.kube import clock, pace
from stackwright.kube.conditions import READY, REQUESTED
from stackwright.kube.pace import OWN, PAUSE, QUIET, Pace, PutOff, is_urgent, pause_of, rest
from stackwright.kube.resource import Condition, CustomResource, ObjectMeta
from tests.unit.kube.pots import MADE, Pot, PotStatus

BEGAN = datetime(2026, 11, 16, tzinfo=UTC)


def status(
    ready: str = "False",
    message: str = "",
    severity: str = "Info",
    *,
    reason: str = "",
    at: float = 0.0,
    seen: int = 1,
    **fields: object,
) -> PotStatus:
    condition = Condition(
        type=READY,
        status=ready,
        severity=severity,
        reason=reason,
        message=message,
        lastTransitionTime=clock.seconds(BEGAN + timedelta(seconds=at)),
    )
    return PotStatus(conditions=(condition,), observedGeneration=seen, **fields)  # type: ignore[arg-type]  # a test's words


def pot(said: PotStatus, *, made: bool = True, generation: int = 1, uid: str = "1", deleted: str = "") -> Pot:
    metadata = ObjectMeta(
        name="pot", uid=uid, generation=generation, annotations=MADE if made else {}, deletionTimestamp=deleted
    )
    return Pot(metadata=metadata, status=said)


@pytest.mark.parametrize(
    ("resource", "new", "expected"),
    [
        pytest.param(pot(status()), status("True", severity=""), True, id="it-turns-ready"),
        pytest.param(pot(status("True")), status(), True, id="it-leaves-ready"),
        pytest.param(pot(status()), status(severity="Error"), True, id="somebody-must-act"),
        pytest.param(pot(status(severity="Error")), status(severity="Error", message="b"), True, id="of-another-thing"),
        pytest.param(pot(status(severity="Error")), status(), True, id="somebody-has-acted"),
        pytest.param(pot(status(), made=False, generation=2), status(seen=2), True, id="a-user-changed-it"),
        pytest.param(pot(PotStatus(), made=False), status(), True, id="a-user-made-it"),
        pytest.param(pot(status(), generation=2), status(seen=2), False, id="a-parent-changed-it"),
        pytest.param(pot(PotStatus()), status(), False, id="a-parent-made-it"),
        pytest.param(pot(status()), status(address="here"), True, id="others-wait-for-a-field"),
        pytest.param(pot(status()), status(bubbles=9), False, id="nobody-waits-for-a-field"),
        pytest.param(pot(status(), deleted="now"), status(message="b"), True, id="it-goes"),
        pytest.param(pot(status()), status(message="b"), False, id="it-says-another-sentence"),
        pytest.param(pot(status("Unknown")), status(), False, id="it-is-known-what-it-waits-for"),
        pytest.param(pot(status()), status(severity="Warning"), False, id="a-pod-is-in-trouble-for-a-moment"),
    ],
)
def test_what_is_urgent(resource: Pot, new: PotStatus, *, expected: bool) -> None:
    assert is_urgent(resource, new) is expected


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        pytest.param(pot(status()), False, id="on-the-way-to-ready-it-is-put-off"),
        pytest.param(pot(PotStatus()), False, id="also-before-anything-was-said"),
        pytest.param(pot(status("True")), True, id="what-was-ready-is-wrong-at-once"),
        pytest.param(pot(status(), made=False, generation=2), True, id="a-user-who-changed-it-is-told-at-once"),
    ],
)
def test_when_an_error_that_may_pass_is_urgent(resource: Pot, *, expected: bool) -> None:
    new = status(severity="Error", seen=resource.metadata.generation)
    assert is_urgent(resource, new, passing=True) is expected


@pytest.mark.parametrize(
    ("severity", "reason", "made", "unready", "expected"),
    [
        pytest.param("Info", "Running", False, 0.0, 3.0, id="of-a-users-own-at-first-three-seconds"),
        pytest.param("Info", "Running", False, 6.0, 6.0, id="as-long-as-a-longer-way"),
        pytest.param("Info", "Running", False, 600.0, 10.0, id="ten-seconds-at-most"),
        pytest.param("Info", "Running", False, -3.0, 3.0, id="a-clock-that-is-behind-changes-nothing"),
        pytest.param("Info", "Running", True, 0.0, 15.0, id="what-a-parent-made-speaks-up-when-it-takes-long"),
        pytest.param("Warning", "CrashLoopBackOff", True, 0.0, 3.0, id="unless-a-pod-is-in-trouble"),
        pytest.param("Warning", "CrashLoopBackOff", True, 600.0, 5.0, id="which-is-told-after-five-seconds-at-most"),
        pytest.param("Error", "Unavailable", True, 600.0, 5.0, id="as-is-an-error-that-may-pass"),
        pytest.param("Info", REQUESTED, True, 0.0, 30.0, id="what-is-below-speaks-first"),
        pytest.param("Info", REQUESTED, False, 0.0, 18.0, id="also-before-a-users-own"),
        pytest.param("Warning", REQUESTED, False, 0.0, 3.0, id="trouble-waits-for-nobody"),
    ],
)
def test_how_long_a_status_has_to_stay_the_same(
    severity: str, reason: str, unready: float, expected: float, *, made: bool
) -> None:
    resource, new = pot(status(), made=made), status(severity=severity, reason=reason, message="b")
    assert pause_of(resource, new, unready_for=unready, passing=severity == "Error") == expected


@pytest.mark.parametrize(
    ("same", "put_off", "expected"),
    [
        pytest.param(0.0, 0.0, 3.0, id="at-first-the-whole-pause"),
        pytest.param(2.0, 2.0, 1.0, id="what-is-left-of-it"),
        pytest.param(3.0, 3.0, 0.0, id="it-was-the-same-for-the-whole-pause"),
        pytest.param(0.0, 9.0, 1.0, id="less-where-it-keeps-moving"),
        pytest.param(0.0, 10.0, 0.0, id="and-then-it-is-due"),
    ],
)
def test_how_long_the_rest_is_put_off(same: float, put_off: float, expected: float) -> None:
    assert rest(3.0, same_for=same, put_off_for=put_off) == expected


def test_a_pause_that_is_longer_bounds_itself() -> None:
    assert rest(15.0, same_for=1.0, put_off_for=12.0) == 3.0


class Story:
    """Runs of one key, one after the other, with the time that a test gives."""

    def __init__(self) -> None:
        self.put_off: PutOff | None = None
        self.resource = pot(status(), made=False)

    def run(self, at: float, new: PotStatus, *, passing: bool = False) -> bool:
        """Return whether a run at that second writes what it has to say."""
        decided = Pace(self.put_off, lambda: at)
        put_off = decided.puts_off(self.resource, new, BEGAN, passing=passing)
        self.put_off = decided.put_off
        assert put_off == (self.put_off is not None) == (decided.rest > 0)
        if not put_off:
            self.resource = msgspec.structs.replace(self.resource, status=new)
        return not put_off


def test_what_stays_the_same_is_written_when_the_pause_is_over() -> None:
    story = Story()
    assert [story.run(at, status(message="b")) for at in (0.0, 0.5, PAUSE)] == [False, False, True]


@pytest.mark.parametrize("made", [False, True], ids=["of-a-user", "of-a-parent"])
@pytest.mark.parametrize("way", [0.0, 1.5, 3.0, 4.4, 90.0])
def test_what_stays_the_same_is_put_off_once_however_long_the_way_is(way: float, *, made: bool) -> None:
    resource, new, at = pot(status(at=-way), made=made), status(message="b", at=-way), 0.0
    first = Pace(None, lambda: at)
    assert first.puts_off(resource, new, BEGAN)
    # Meanwhile the way has become longer; that does not put it off again.
    at = first.rest
    assert not Pace(first.put_off, lambda: at).puts_off(resource, new, BEGAN + timedelta(seconds=at))


def test_what_moves_is_put_off_again_and_not_forever() -> None:
    story = Story()
    moves = [story.run(half / 2, status(message=str(half))) for half in range(int(OWN * 2) + 1)]
    assert moves == [False] * int(OWN * 2) + [True]


def test_a_time_that_passes_is_no_move() -> None:
    story = Story()
    assert not story.run(0.0, status("Unknown", "b"))
    assert story.run(PAUSE, status("Unknown", "b", at=1.0))


def test_what_was_put_off_for_long_is_due_when_what_is_below_has_spoken() -> None:
    story = Story()
    silent = status(reason=REQUESTED, message="It has not reported its state yet")
    assert [story.run(at, silent) for at in (0.0, OWN)] == [False, False]
    assert story.run(OWN + 1, status(reason="Running", message="It is not finished"))


@pytest.mark.parametrize("first_pass", [0.0, 4.0, 12.0], ids=lambda seconds: f"a-first-pass-of-{seconds:g}-s")
def test_a_parent_says_nothing_of_what_is_ready_before_it_had_to_speak(first_pass: float) -> None:
    parent, below = Story(), Story()
    parent.resource = below.resource = pot(status())
    silent = status(reason=REQUESTED, message="It has not reported its state yet")
    ready = first_pass + QUIET - 0.5
    said = []
    for half in range(int(ready * 2)):
        at = half / 2
        said.append(at >= first_pass and below.run(at, status(reason="Running", message="It is not finished")))
        said.append(parent.run(at, silent))
    assert not any(said)
    assert below.run(ready, status("True"))
    assert parent.run(ready, status("True"))


def test_what_turns_ready_during_a_pause_is_written_at_once() -> None:
    story = Story()
    assert [story.run(0.0, status(message="b")), story.run(0.1, status("True"))] == [False, True]


def test_an_error_that_lasts_is_written_when_the_pause_is_over() -> None:
    story = Story()
    wrong = status(severity="Error", message="Connection refused")
    assert [story.run(at, wrong, passing=True) for at in (0.0, PAUSE)] == [False, True]


def test_an_error_that_passes_is_never_written() -> None:
    story = Story()
    assert not story.run(0.0, status(severity="Error", message="Connection refused"), passing=True)
    assert story.run(0.5, status("True"))


def test_one_that_was_made_anew_has_a_pause_of_its_own() -> None:
    story = Story()
    assert not story.run(0.0, status(message="b"))
    story.resource = pot(status(), made=False, uid="2")
    assert not story.run(PAUSE, status(message="b"))


def test_the_time_is_that_of_the_turn_and_not_that_of_the_write() -> None:
    resource, turned = pot(status()), status("Unknown", "b", at=1.0)
    first = Pace(None, lambda: 0.0)
    assert first.puts_off(resource, turned, BEGAN)
    later = Pace(first.put_off, lambda: PAUSE)
    assert later.dated(resource, status("Unknown", "b", at=2.0).conditions) == turned.conditions
    assert later.dated(resource, status("True", "b", at=2.0).conditions) == status("True", "b", at=2.0).conditions


def test_how_long_a_way_is_follows_from_the_status() -> None:
    assert pace.unready_for(status(at=-90.0), BEGAN) == 90.0
    assert pace.unready_for(PotStatus(), BEGAN) == 0.0


@pytest.mark.parametrize("kind", services.kinds(), ids=lambda kind: kind.kind.name)
def test_what_a_kind_calls_unhurried_is_a_field_of_its_status(kind: type[CustomResource]) -> None:
    status_type = get_type_hints(kind)["status"]
    assert status_type.unhurried <= set(status_type.__struct_fields__)
