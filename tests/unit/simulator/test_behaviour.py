"""How behaviours are chosen: by selectors in order, and by annotations over them."""

import pytest

from stackwright.simulator import annotations
from stackwright.simulator.annotations import PREFIX
from stackwright.simulator.behaviour import (
    SUCCESS,
    Behaviour,
    Crash,
    Fault,
    ImageMissing,
    ProbeFailing,
    Script,
    Selector,
    Subject,
    Unschedulable,
    VolumeUnbound,
)
from stackwright.simulator.objects import Container

API = Container(name="api", image="registry/api:1")
LOG = Container(name="log", image="registry/log:1")
POD = Subject(
    namespace="here",
    names=(("Pod", "web-5f-x2"), ("ReplicaSet", "web-5f"), ("Deployment", "web")),
    labels={"app": "web", "tier": "front"},
    containers=(API, LOG),
)


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        pytest.param(Selector(), True, id="an-empty-selector-is-everything"),
        pytest.param(Selector(kind="Deployment"), True, id="any-deployment"),
        pytest.param(Selector(kind="StatefulSet"), False, id="no-stateful-set"),
        pytest.param(Selector(kind="Deployment", name="web"), True, id="its-deployment-by-name"),
        pytest.param(Selector(kind="Deployment", name="web-*"), False, id="kind-and-name-speak-of-one-object"),
        pytest.param(Selector(name="web-5f-*"), True, id="its-own-name-by-a-pattern"),
        pytest.param(Selector(labels={"app": "web"}), True, id="a-label"),
        pytest.param(Selector(labels={"app": "web", "tier": "back"}), False, id="all-labels-must-fit"),
        pytest.param(Selector(namespace="there"), False, id="another-namespace"),
        pytest.param(Selector(container="log"), True, id="one-of-its-containers"),
        pytest.param(Selector(container="db"), False, id="none-of-its-containers"),
        pytest.param(Selector(image="*/api:*"), True, id="one-of-its-images"),
    ],
)
def test_a_selector_chooses_pods(selector: Selector, *, matches: bool) -> None:
    assert selector.matches(POD) is matches


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        pytest.param(Selector(name="web"), True, id="without-a-pattern-every-container"),
        pytest.param(Selector(container="api"), True, id="by-name"),
        pytest.param(Selector(container="log"), False, id="not-another"),
        pytest.param(Selector(image="registry/api:*"), True, id="by-image"),
        pytest.param(Selector(container="api", image="registry/log:*"), False, id="name-and-image-must-both-fit"),
    ],
)
def test_a_selector_chooses_containers(selector: Selector, *, matches: bool) -> None:
    assert selector.matches(POD, API) is matches


def test_the_first_behaviour_that_matches_counts() -> None:
    crash = Behaviour(Selector(container="log"), fault=Crash())
    slow = Behaviour(Selector(name="web"), ready_after=9.0)
    script = Script((crash, slow, Behaviour(fault=ImageMissing())))
    assert script.behaviour(POD, LOG) is crash
    assert script.behaviour(POD, API) is slow
    assert script.behaviour(POD) is crash
    assert Script((Behaviour(Selector(name="other")),)).behaviour(POD) is SUCCESS


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: Crash(backoff=0.0), id="a-crash-without-a-pause-would-never-end"),
        pytest.param(lambda: ImageMissing(backoff=-1.0), id="a-pull-before-the-last-one"),
        pytest.param(lambda: Crash(exit_code=0), id="a-crash-that-is-none"),
        pytest.param(lambda: Crash(exit_code=256), id="a-code-that-no-process-has"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(make: type[Fault]) -> None:
    with pytest.raises(ValueError, match="must be"):
        make()


def asked(**values: str) -> annotations.Request:
    return annotations.asked({PREFIX + name.replace("_", "-"): value for name, value in values.items()})


@pytest.mark.parametrize(
    ("request_", "fault"),
    [
        pytest.param(asked(fault="ImageMissing"), ImageMissing(), id="an-image"),
        pytest.param(
            asked(fault="Crash", exit_code="7", times="2", after="1.5"), Crash(7, 1.5, 2), id="a-crash-with-details"
        ),
        pytest.param(asked(fault="Unschedulable", message="no room"), Unschedulable("no room"), id="no-node"),
        pytest.param(asked(fault="ProbeFailing", probe="liveness"), ProbeFailing("liveness"), id="a-probe"),
        pytest.param(asked(fault="VolumeUnbound"), VolumeUnbound(), id="a-volume"),
        pytest.param(asked(fault="None"), None, id="none-though-the-script-has-one"),
    ],
)
def test_an_annotation_asks_for_a_fault(request_: annotations.Request, fault: Fault | None) -> None:
    assert request_.problems == ()
    assert request_.over(Behaviour(fault=Crash(exit_code=99)), "api").fault == fault


def test_an_annotation_asks_for_times_and_leaves_the_fault_to_the_script() -> None:
    behaviour = asked(ready_after="3", stop_after="0.5").over(Behaviour(fault=Crash()), "api")
    assert behaviour == Behaviour(fault=Crash(), ready_after=3.0, stop_after=0.5)


def test_an_annotation_may_speak_of_one_container() -> None:
    request = asked(fault="Crash", container="lo*")
    assert request.over(SUCCESS, "log").fault == Crash()
    assert request.over(SUCCESS, "api").fault is None


def test_an_annotation_of_the_object_wins_over_those_of_its_owners() -> None:
    own, owner = {PREFIX + "fault": "None"}, {PREFIX + "fault": "Crash", PREFIX + "ready-after": "4"}
    assert annotations.asked(own, owner).over(Behaviour(fault=Crash())) == Behaviour(ready_after=4.0)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        pytest.param({"fault": "Crahs"}, "fault is 'Crahs'; use one of ImageMissing, Crash", id="an-unknown-fault"),
        pytest.param({"ready_after": "soon"}, "ready-after has the value 'soon'", id="a-time-that-is-none"),
        pytest.param({"ready_after": "-1"}, "ready-after has the value '-1'", id="a-time-before-now"),
        pytest.param({"fault": "Crash", "exit_code": "0"}, "exit_code of a crash must be 1 to 255", id="a-code"),
        pytest.param({"fault": "ProbeFailing", "probe": "x"}, "probe has the value 'x'", id="an-unknown-probe"),
        pytest.param({"falut": "Crash"}, "falut is not known to the simulator", id="a-misspelt-annotation"),
    ],
)
def test_an_annotation_that_cannot_be_followed_is_said_and_ignored(values: dict[str, str], problem: str) -> None:
    request = asked(**values)
    (sentence,) = request.problems
    assert problem in sentence
    assert f"annotation {PREFIX}" in sentence
    assert not isinstance(request.over(SUCCESS).fault, Crash)


def test_annotations_of_others_are_not_read() -> None:
    assert annotations.asked({"example.org/fault": "Crash"}) == annotations.Request()
