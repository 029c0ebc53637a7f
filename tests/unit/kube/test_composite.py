"""What a composite does to its children follows from what should be and what is."""

from typing import ClassVar

import pytest

from stackwright.kube import discovery, fields
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.plan import Wait
from stackwright.kube.resource import CompositeStatus, Condition, CustomResource, Kind, ObjectMeta, Resource, Status
from stackwright.kube.shapes.child import Apply, Child, Prune, child, decide, fingerprint, waves
from stackwright.kube.shapes.composite import composite
from stackwright.kube.shapes.outcome import Applied, Outcome
from stackwright.kube.shapes.states import state_of

MARK = "test/applied-configuration"


def wanted(name: str, **data: str) -> Child:
    return child(ConfigMap(metadata=ObjectMeta(name=name, namespace="n"), data=data))


def present(item: Child, **changes: str) -> ConfigMap:
    """Return a child as the server has it after an apply, with what somebody changed since."""
    metadata = ObjectMeta(
        name=item.key.name, namespace="n", uid="1", annotations={MARK: fields.digest(item.body), "theirs": "x"}
    )
    return ConfigMap(metadata=metadata, data={**item.body.get("data", {}), **changes})


def steps(desired: list[Child], seen: list[ConfigMap], *, prune: bool = True) -> list[str]:
    taken = decide(desired, seen, prune=prune, mark=MARK)
    return [f"{type(step).__name__} {step.object_key[1].name}" for step in taken]


A = wanted("a", text="1")
B = wanted("b", text="2")


@pytest.mark.parametrize(
    ("desired", "seen", "expected"),
    [
        pytest.param([A, B], [], ["Apply a", "Apply b"], id="what-is-missing-is-applied"),
        pytest.param([A, B], [present(A), present(B)], [], id="what-is-there-is-left-alone"),
        pytest.param([A], [present(A), present(B)], ["Prune b"], id="what-is-gone-is-pruned"),
        pytest.param([A], [present(A, text="9")], ["Apply a"], id="what-somebody-changed-is-applied-again"),
        pytest.param([A], [present(A, more="9")], [], id="what-somebody-added-is-theirs"),
        pytest.param([A], [present(wanted("a", text="1", old="2"))], ["Apply a"], id="what-we-no-longer-ask-for-goes"),
    ],
)
def test_decide(desired: list[Child], seen: list[ConfigMap], expected: list[str]) -> None:
    assert steps(desired, seen) == expected


def test_nothing_is_pruned_while_something_is_waited_for() -> None:
    assert steps([A], [present(A), present(B)], prune=False) == []


def test_what_others_made_by_the_parent_is_not_pruned() -> None:
    theirs = ConfigMap(metadata=ObjectMeta(name="theirs", namespace="n"))
    assert steps([], [theirs]) == []


def test_a_child_is_not_asked_about_again_before_it_changes() -> None:
    # Somebody owns the text; the apply left it out.
    theirs = present(A, text="9")
    settled = {A.object_key: fingerprint(theirs, A)}

    def asked(seen: ConfigMap) -> int:
        return len(decide([A], [seen], prune=True, mark=MARK, doubtful={A.object_key}, settled=settled))

    assert asked(theirs) == 0
    assert asked(present(A, text="8")) == 1
    assert asked(present(A, text="1")) == 1


def test_what_the_status_calls_overridden_is_asked_about_even_if_it_looks_right() -> None:
    assert len(decide([A], [present(A)], prune=True, mark=MARK, doubtful={A.object_key})) == 1


def test_what_goes_already_is_not_deleted_again() -> None:
    metadata = ObjectMeta(name="b", namespace="n", annotations={MARK: "x"}, deletionTimestamp="2026-01-01T00:00:00Z")
    going = ConfigMap(metadata=metadata)
    assert steps([], [going]) == []


def test_steps_say_what_they_are_about() -> None:
    assert Apply(A).object_key == (ConfigMap.kind, A.key)
    assert Prune(present(B)).object_key == (ConfigMap.kind, B.key)


class Thing(CustomResource, frozen=True, kw_only=True):
    """A made-up kind."""

    kind: ClassVar[Kind] = Kind("example.org", "v1", "Thing", "things")


def thing(generation: int, observed: int, *conditions: Condition) -> Thing:
    return Thing(
        metadata=ObjectMeta(name="t", generation=generation),
        status=Status(conditions=conditions, observedGeneration=observed),
    )


READY = Condition(type="Ready", status="True")
WAITING = Condition(type="Ready", status="False", severity="Info", reason="Creating", message="Creating the schema")


@pytest.mark.parametrize(
    ("resource", "status", "reason", "message"),
    [
        pytest.param(thing(1, 1, READY), "True", "Ready", "", id="ready"),
        pytest.param(
            thing(2, 1, READY),
            "False",
            "Requested",
            "Thing t has not reported its state yet",
            id="ready-for-an-older-spec-is-not-ready",
        ),
        pytest.param(
            thing(1, 0),
            "False",
            "Requested",
            "Thing t has not reported its state yet",
            id="nobody-looked-yet",
        ),
        pytest.param(
            thing(1, 1, WAITING), "False", "Creating", "Thing t: Creating the schema", id="what-it-says-is-passed-on"
        ),
        pytest.param(present(A), "True", "Ready", "", id="a-kind-without-conditions-is-there-or-not"),
    ],
)
def test_state_of(resource: Thing | ConfigMap, status: str, reason: str, message: str) -> None:
    finding = state_of(resource)
    assert (finding.status, finding.reason, finding.message) == (status, reason, message)


def test_a_role_is_there_before_it_is_bound() -> None:
    def step(name: str) -> Apply:
        of = discovery.type_of(Kind("rbac.authorization.k8s.io", "v1", name, f"{name.lower()}s"))
        return Apply(Child(of, {"metadata": {"name": "r", "namespace": "n"}}))

    binding, role, other = step("RoleBinding"), step("Role"), Apply(A)
    assert waves([binding, role, other]) == ((role, other), (binding,))
    assert waves([other]) == ((other,),)
    assert waves([]) == ()


def test_what_the_others_wait_for_is_sent_first() -> None:
    first = child(ConfigMap(metadata=ObjectMeta(name="z", namespace="n")), first=True)
    ((sent, *others),) = waves(Apply(each) for each in (A, B, first))
    assert sent == Apply(first)
    assert others == [Apply(A), Apply(B)]


def test_a_composite_shows_what_others_overrode() -> None:
    with pytest.raises(TypeError, match="the status of a composite is a CompositeStatus"):

        @composite(of=Thing, owns=(ConfigMap,))
        def things(resource: Thing, facts: None) -> tuple[Child | Wait, ...]:
            return ()


class Parent(CustomResource, frozen=True, kw_only=True):
    """A made-up kind that has children."""

    kind: ClassVar[Kind] = Kind("example.org", "v1", "Parent", "parents")

    status: CompositeStatus = CompositeStatus()


@pytest.mark.parametrize(
    ("resource", "wanted"),
    [
        pytest.param(ConfigMap(metadata=ObjectMeta(name="a"), data={"text": "ours"}), '"ours"', id="of-a-config-map"),
        pytest.param(Secret(metadata=ObjectMeta(name="a"), data={"text": "b3Vycw=="}), "", id="of-no-secret"),
    ],
)
def test_the_status_tells_what_is_asked_for_in_place_of_what_others_set(resource: Resource, wanted: str) -> None:
    item = child(resource)
    parent = Parent(metadata=ObjectMeta(name="p", namespace="n"))
    outcome = Outcome(parent, (item,), {}, {item.object_key: Applied(resource, {".data.text": "somebody"})})
    (entry,) = outcome.overridden()
    assert (entry.field, entry.manager, entry.wanted) == (".data.text", "somebody", wanted)
