"""Conditions are computed once, summarised by Ready, and do not flap."""

import pytest

from stackwright.kube import conditions
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.conditions import Finding
from stackwright.kube.errors import ApiError, Blocked, Retry, Unreachable
from stackwright.kube.plan import Caution, Ends, Plan, Step, Wait
from stackwright.kube.resource import Condition, ObjectMeta, OwnerReference

DECLARED = ("InputReady", "DatabaseReady", "AccountReady")
THEN = "2026-01-01T00:00:00Z"
NOW = "2026-01-02T00:00:00Z"


def states(computed: tuple[Condition, ...]) -> dict[str, str]:
    return {condition.type: condition.status for condition in computed}


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        pytest.param(
            (),
            {"Ready": "True", "InputReady": "True", "DatabaseReady": "True", "AccountReady": "True"},
            id="nothing-left-to-do-means-ready",
        ),
        pytest.param(
            (Finding("DatabaseReady", "False", "Creating", "Creating the schema", "Info"),),
            {"Ready": "False", "InputReady": "True", "DatabaseReady": "False", "AccountReady": "Unknown"},
            id="what-comes-after-an-unmet-one-is-unknown",
        ),
        pytest.param(
            (
                Finding("DatabaseReady", "False", "Creating", "Creating the schema", "Info"),
                Finding("AccountReady", "True", "Ready", ""),
            ),
            {"Ready": "False", "InputReady": "True", "DatabaseReady": "False", "AccountReady": "True"},
            id="what-is-found-done-is-true-although-an-earlier-one-is-not",
        ),
        pytest.param(
            (Finding("", "False", "InternalError", "Internal error", "Error"),),
            {"Ready": "False", "InputReady": "True", "DatabaseReady": "True", "AccountReady": "True"},
            id="a-finding-about-the-whole-shows-in-ready-alone",
        ),
    ],
)
def test_first_pass(findings: tuple[Finding, ...], expected: dict[str, str]) -> None:
    assert states(conditions.compute(DECLARED, findings, (), NOW)) == expected


def test_ready_comes_first_and_the_rest_is_sorted() -> None:
    computed = conditions.compute(DECLARED, (), (), NOW)
    assert [condition.type for condition in computed] == ["Ready", "AccountReady", "DatabaseReady", "InputReady"]


def test_ready_repeats_the_worst() -> None:
    findings = (
        Finding("InputReady", "False", "Waiting", "Waiting for Secret a", "Info"),
        Finding("AccountReady", "False", "Refused", "The server refused the account", "Error"),
    )
    ready = conditions.compute(DECLARED, findings, (), NOW)[0]
    assert (ready.status, ready.severity, ready.reason) == ("False", "Error", "Refused")
    assert ready.message == "The server refused the account"


def test_a_condition_that_nobody_looked_at_keeps_what_it_said() -> None:
    first = conditions.compute(DECLARED, (), (), THEN)
    blocked = (Finding("InputReady", "False", "Waiting", "Waiting for Secret a", "Info"),)
    second = conditions.compute(DECLARED, blocked, first, NOW)
    assert states(second) == {
        "Ready": "False",
        "InputReady": "False",
        "DatabaseReady": "True",
        "AccountReady": "True",
    }
    times = {condition.type: condition.lastTransitionTime for condition in second}
    assert times == {"Ready": NOW, "InputReady": NOW, "DatabaseReady": THEN, "AccountReady": THEN}


def test_a_new_message_does_not_move_the_time() -> None:
    first = conditions.compute(DECLARED, (Finding("InputReady", "False", "A", "one", "Info"),), (), THEN)
    second = conditions.compute(DECLARED, (Finding("InputReady", "False", "B", "two", "Info"),), first, NOW)
    changed = conditions.find(second, "InputReady")
    assert changed is not None
    assert (changed.message, changed.lastTransitionTime) == ("two", THEN)


def test_the_same_findings_give_the_same_conditions() -> None:
    findings = (Finding("DatabaseReady", "False", "Creating", "Creating the schema", "Info"),)
    first = conditions.compute(DECLARED, findings, (), THEN)
    assert conditions.compute(DECLARED, findings, first, NOW) == first


def test_nothing_is_said_to_hold_when_nobody_looked() -> None:
    failed = (Finding("", "False", "Unreachable", "The database does not answer", "Error"),)
    first = conditions.compute(DECLARED, failed, (), THEN, looked=False)
    assert states(first) == {
        "Ready": "False",
        "InputReady": "Unknown",
        "DatabaseReady": "Unknown",
        "AccountReady": "Unknown",
    }
    before = conditions.compute(
        DECLARED, (Finding("DatabaseReady", "False", "Creating", "Creating it", "Info"),), (), THEN
    )
    after = conditions.compute(DECLARED, failed, before, NOW, looked=False)
    assert states(after) == {**states(before), "Ready": "False"}
    assert after[0].message == "The database does not answer"


def test_ready_says_what_was_found_now_and_not_what_is_only_remembered() -> None:
    refused = (Finding("AccountReady", "False", "Refused", "The server refused the account", "Error"),)
    before = conditions.compute(DECLARED, refused, (), THEN)
    waiting = (Finding("InputReady", "False", "Waiting", "Waiting for Secret a", "Info"),)
    ready = conditions.compute(DECLARED, waiting, before, NOW)[0]
    assert (ready.reason, ready.severity, ready.message) == ("Waiting", "Info", "Waiting for Secret a")


def test_what_waits_names_what_it_waits_for_now() -> None:
    before = conditions.compute(DECLARED, (Finding("InputReady", "False", "A", "a", "Info"),), (), THEN)
    after = conditions.compute(DECLARED, (Finding("DatabaseReady", "False", "B", "b", "Info"),), before, NOW)
    account = conditions.find(after, "AccountReady")
    assert account is not None
    assert (account.status, account.message) == ("Unknown", "Waits for DatabaseReady")


def test_what_holds_does_not_hide_what_is_unknown() -> None:
    findings = (Finding("InputReady", "True", "Ready", ""), Finding("InputReady", "Unknown", "Odd", "odd", "Info"))
    assert states(conditions.compute(DECLARED, findings, (), NOW))["InputReady"] == "Unknown"


def test_an_undeclared_condition_is_a_bug() -> None:
    with pytest.raises(ValueError, match="Nonsense is not declared"):
        conditions.compute(DECLARED, (Finding("Nonsense", "False", "X", "x"),), (), NOW)


def test_a_plan_tells_what_is_left() -> None:
    plan = Plan(
        steps=(Step(reason="Creating", message="Creating the schema", condition="DatabaseReady"),),
        waits=(Wait("Waiting", "Waiting for Secret a", condition="InputReady"),),
        done=("AccountReady",),
    )
    assert states(conditions.compute(DECLARED, conditions.findings_of(plan, ConfigMap()), (), NOW)) == {
        "Ready": "False",
        "InputReady": "False",
        "DatabaseReady": "False",
        "AccountReady": "True",
    }


def test_a_caution_is_told_by_a_condition_that_holds_until_it_is_over() -> None:
    plan = Plan(done=("AccountReady",), cautions=(Caution("Odd", "There are two of them", "AccountReady"),))
    findings = conditions.findings_of(plan, ConfigMap())
    told = conditions.compute(DECLARED, findings, (), NOW)
    found = conditions.find(told, "AccountReady")
    assert found is not None
    assert (found.status, found.reason, found.message) == ("True", "Odd", "There are two of them")
    assert conditions.is_true(told)
    over = conditions.compute(DECLARED, conditions.findings_of(Plan(done=plan.done), ConfigMap()), told, NOW)
    found = conditions.find(over, "AccountReady")
    assert found is not None
    assert found.message == "AccountReady holds"


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        pytest.param(
            Blocked("Create Secret a", reason="InputMissing"), "InputMissing", "Create Secret a", id="blocked"
        ),
        pytest.param(Retry("The server is starting"), "Error", "The server is starting", id="retry"),
        pytest.param(ApiError("no room", code=507, reason="Full"), "Full", "no room", id="the-server-said-no"),
        pytest.param(Unreachable("no answer"), "Unreachable", "no answer", id="the-server-said-nothing"),
        pytest.param(
            ExceptionGroup("several", [Blocked("Pay"), ExceptionGroup("more", [Retry("Late", reason="Late")])]),
            "Late",
            "Late",
            id="of-several-the-worst",
        ),
        pytest.param(
            KeyError("password=hunter2"),
            "InternalError",
            "Internal error (KeyError); the operator's log has the details",
            id="a-bug-does-not-show-its-insides",
        ),
    ],
)
def test_an_error_becomes_a_finding(error: Exception, reason: str, message: str) -> None:
    finding = conditions.finding_of(error, "InputReady")
    assert (finding.condition, finding.reason, finding.message) == ("InputReady", reason, message)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        pytest.param([Retry("The server is starting")], True, id="it-is-tried-again-with-backoff"),
        pytest.param([Retry("No answer", after=1.0)], True, id="it-is-tried-again-soon"),
        pytest.param([Retry("It is another's", after=30.0)], False, id="it-is-tried-again-after-a-while"),
        pytest.param([Blocked("Create Secret a")], False, id="the-user-must-act"),
        pytest.param([Retry("No answer"), Blocked("Create Secret a")], False, id="the-user-must-act-too"),
        pytest.param([KeyError("a")], False, id="a-bug"),
        pytest.param([], False, id="nothing-is-wrong"),
    ],
)
def test_which_errors_may_be_over_at_the_next_try(errors: list[Exception], *, expected: bool) -> None:
    waits = Finding("InputReady", "False", "Waiting", "Waits for Secret a", "Info")
    found = [waits, *(conditions.finding_of(error) for error in errors)]
    assert conditions.is_passing(found) is expected


OWNED = ObjectMeta(ownerReferences=(OwnerReference(apiVersion="v1", kind="A", name="a", uid="1", controller=True),))
KEPT = ObjectMeta(annotations={"stackwright/applied-configuration": "1"})
APPLIED = ObjectMeta(annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"})


@pytest.mark.parametrize(
    ("ends", "metadata", "severity"),
    [
        pytest.param(Ends.BY_ITSELF, ObjectMeta(), "Info", id="what-heals-waits"),
        pytest.param(Ends.BY_AUTHOR, ObjectMeta(), "Error", id="the-user-names-what-is-not-there"),
        pytest.param(Ends.BY_AUTHOR, APPLIED, "Error", id="a-user-of-kubectl-apply"),
        pytest.param(Ends.BY_AUTHOR, OWNED, "Info", id="a-parent-names-what-it-is-about-to-make"),
        pytest.param(Ends.BY_AUTHOR, KEPT, "Info", id="a-parent-that-keeps-it"),
        pytest.param(Ends.BY_USER, OWNED, "Error", id="what-only-the-user-can-mend"),
    ],
)
def test_a_wait_in_which_the_user_must_act_is_an_error(ends: Ends, metadata: ObjectMeta, severity: str) -> None:
    found = conditions.of_wait(Wait("Missing", "create it", "InputReady", ends=ends), ConfigMap(metadata=metadata))
    assert found == Finding("InputReady", "False", "Missing", "create it", severity)


def test_of_several_that_hold_the_one_that_says_something_is_heard() -> None:
    findings = (Finding("AReady", "True", "Ready", ""), Finding("AReady", "True", "NoNodes", "runs on no node"))
    computed = conditions.compute(("AReady",), findings, (), "2026-11-15T10:00:00Z")
    assert [(one.type, one.status, one.message) for one in computed] == [
        ("Ready", "True", "Setup complete"),
        ("AReady", "True", "runs on no node"),
    ]
