"""How conditions are computed: once, at the end of a reconcile, from what was found. Pure.

The rules that users can rely on:
- `Ready` is the summary: True when all others are, else it says what the worst of those says that were looked at.
- `lastTransitionTime` moves when the status does, not when a message changes.
- A condition that nobody looked at, because an earlier one does not hold or the pass failed before it could
  look, keeps what it said before, so that nothing flaps; on a first pass it is Unknown and says why.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stackwright.kube.errors import ApiError, Blocked, KubeError, Retry, Unreachable
from stackwright.kube.plan import Ends, Plan, Wait
from stackwright.kube.resource import Condition, CustomResource, Resource

READY = "Ready"
READY_MESSAGE = "Setup complete"
# The reason where something was asked for, and who works on it has not spoken of it yet.
REQUESTED = "Requested"

# An error that is tried again within so many seconds may be over by then: a server that starts, a write that collided.
SOON = 5.0

# Which of several unmet conditions the summary repeats: the first that matches.
_WORST_FIRST = (("False", "Error"), ("False", "Warning"), ("False", "Info"), ("False", ""), ("Unknown", ""))


@dataclass(frozen=True)
class Finding:
    """What a pass found out about one condition; an empty condition speaks of the resource as a whole.

    `passing` marks an Error that the next try may well not find any more. What holds may be a Warning: the condition
    has no severity then, but an event says it.
    """

    condition: str
    status: str
    reason: str
    message: str
    severity: str = ""
    passing: bool = False


# How the annotation ends by which a field manager remembers what it applied (see shapes/child.py).
MARK = "/applied-configuration"


def of_wait(wait: Wait, resource: Resource) -> Finding:
    """Return what a wait of a resource says to the user: an Error where the user must act, else that it waits.

    Where the user may have to act, it is a Warning.
    """
    act = wait.ends is Ends.BY_USER or (wait.ends is Ends.BY_AUTHOR and is_of_user(resource))
    severity = "Error" if act else "Warning" if wait.ends is Ends.PERHAPS_BY_USER else "Info"
    return Finding(wait.condition, "False", wait.reason, wait.message, severity)


def is_of_user(resource: Resource) -> bool:
    """Return whether a user wrote a resource, and not a parent, which says itself what it needs."""
    metadata = resource.metadata
    return metadata.controller is None and not any(name.endswith(MARK) for name in metadata.annotations)


def declared(resource: CustomResource, condition: str) -> str:
    """Return the condition if the resource has it, else the empty one, which speaks of the whole."""
    return condition if condition in resource.declared_conditions() else ""


def findings_of(plan: Plan, resource: Resource) -> tuple[Finding, ...]:
    """Return what a plan says about conditions: what is still to do or to wait for, what holds and how."""
    return (
        *(of_wait(wait, resource) for wait in plan.waits),
        *(Finding(step.condition, "False", step.reason, step.message, "Info") for step in plan.steps),
        *(Finding(each.condition, "True", each.reason, each.message, "Warning") for each in plan.cautions),
        *(Finding(name, "True", READY, "") for name in plan.done),
    )


def mildness(error: BaseException) -> int:
    """Return a number that is higher the less an error matters among others: a bug is loud, a block waits."""
    match error:
        case Blocked():
            return 3
        case Retry():
            return 2
        case KubeError():
            return 1
    return 0


def worst_of(error: Exception) -> Exception:
    """Return the error, or which of several that were raised together decides."""
    if isinstance(error, ExceptionGroup):
        return min(map(worst_of, error.exceptions), key=mildness)
    return error


def finding_of(error: Exception, condition: str = "") -> Finding:
    """Return what a failed pass says to the user; a bug of ours is named as one, its traceback is in the log."""
    match error := worst_of(error):
        case Blocked():
            return Finding(error.condition or condition, "False", error.reason, str(error), "Error")
        case Retry():
            # What is tried again only after a while is not expected to heal by itself.
            soon = error.after is None or error.after <= SOON
            return Finding(error.condition or condition, "False", error.reason, str(error), "Error", passing=soon)
        case ApiError():
            return Finding(condition, "False", error.reason or "ApiError", error.message, "Error")
        case Unreachable():
            return Finding(condition, "False", "Unreachable", str(error), "Error")
        case TimeoutError():
            return Finding(
                condition, "False", "Timeout", "The step took longer than it may; it will be tried again", "Error"
            )
        case _:
            message = f"Internal error ({type(error).__name__}); the operator's log has the details"
            return Finding(condition, "False", "InternalError", message, "Error")


def compute(
    declared: Sequence[str],
    findings: Iterable[Finding],
    previous: Iterable[Condition],
    now: str,
    *,
    looked: bool = True,
) -> tuple[Condition, ...]:
    """Return the conditions of a resource, `Ready` first and the others in alphabetical order.

    A condition without a finding holds, unless an earlier one does not; with `looked=False` nobody knows.
    """
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.condition and finding.condition not in declared:
            raise ValueError(f"condition {finding.condition} is not declared; declared are {', '.join(declared)}")
        found.setdefault(finding.condition, []).append(finding)
    before = {condition.type: condition for condition in previous}

    computed: list[Condition] = []
    unmet = ""
    for name in declared:
        if name in found:
            # Of several that hold, one that has something to say is heard.
            condition = _condition(name, min(found[name], key=lambda finding: (_rank(finding), not finding.message)))
        elif looked and not unmet:
            condition = _holding(name, before.get(name))
        else:
            condition = _unseen(name, before.get(name), unmet)
        computed.append(condition)
        if condition.status != "True" and not unmet:
            unmet = name

    general = [_condition(READY, finding) for finding in found.get("", [])]
    # What is only remembered may be over; what was found now is why it was not looked at.
    ready = _summary([*(condition for condition in computed if condition.type in found), *general], computed)
    ordered = (ready, *sorted(computed, key=lambda condition: condition.type))
    return tuple(_dated(condition, before.get(condition.type), now) for condition in ordered)


def is_passing(findings: Iterable[Finding]) -> bool:
    """Return whether all Errors of a pass may be over at the next try, and nobody has to act on any of them."""
    errors = [finding.passing for finding in findings if finding.severity == "Error" and finding.status != "True"]
    return bool(errors) and all(errors)


def find(conditions: Iterable[Condition], name: str) -> Condition | None:
    """Return the condition of that type, if it is there."""
    return next((condition for condition in conditions if condition.type == name), None)


def is_true(conditions: Iterable[Condition], name: str = READY) -> bool:
    """Return whether a condition is there and holds."""
    condition = find(conditions, name)
    return condition is not None and condition.status == "True"


def _holding(name: str, before: Condition | None) -> Condition:
    """Return a condition of which nothing is left to do."""
    message = before.message if before and before.status == "True" else f"{name} holds"
    return Condition(type=name, status="True", reason=READY, message=message)


def _unseen(name: str, before: Condition | None, unmet: str) -> Condition:
    """Return a condition that nobody looked at: what it said before, if that was more than that it waits."""
    if before is not None and before.status != "Unknown":
        return before
    message = f"Waits for {unmet}" if unmet else f"{name} has not been checked yet"
    return Condition(type=name, status="Unknown", reason="Waiting", message=message)


def _condition(name: str, finding: Finding) -> Condition:
    holds = finding.status == "True"
    return Condition(
        type=name,
        status=finding.status,
        severity="" if holds else finding.severity,
        reason=finding.reason,
        message=finding.message or (f"{name} holds" if holds else finding.reason),
    )


def _rank(finding: Finding | Condition) -> int:
    if finding.status == "True":
        return len(_WORST_FIRST) + 1
    for position, (status, severity) in enumerate(_WORST_FIRST):
        if finding.status == status and finding.severity == severity:
            return position
    return len(_WORST_FIRST)


def _summary(found: list[Condition], computed: list[Condition]) -> Condition:
    """Return `Ready`, by what was found now and, where all of that holds, by what is remembered."""
    unmet = [condition for condition in found if condition.status != "True"]
    unmet = unmet or [condition for condition in computed if condition.status != "True"]
    if not unmet:
        return Condition(type=READY, status="True", reason=READY, message=READY_MESSAGE)
    worst = min(unmet, key=_rank)
    # A summary is False as soon as anything is: "Unknown" is kept for when nothing is known to be wrong.
    return Condition(
        type=READY, status=worst.status, severity=worst.severity, reason=worst.reason, message=worst.message
    )


def _dated(condition: Condition, before: Condition | None, now: str) -> Condition:
    since = before.lastTransitionTime if before is not None and before.status == condition.status else now
    return Condition(
        type=condition.type,
        status=condition.status,
        severity=condition.severity,
        reason=condition.reason,
        message=condition.message,
        lastTransitionTime=since or now,
    )
