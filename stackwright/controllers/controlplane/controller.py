"""The controller of the umbrella: a composite over the sections of all services, and what wakes it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec

from stackwright import services
from stackwright.api.annotations import PAUSED
from stackwright.api.base import CustomResource
from stackwright.api.controlplane import (
    INFRASTRUCTURE_READY,
    INPUT_READY,
    SECTIONS_READY,
    OpenStackControlPlane,
    OpenStackControlPlaneStatus,
    OperatorState,
    ResolvedDependency,
    ServiceState,
)
from stackwright.api.sections_to_come import asked_for
from stackwright.controllers import ownership
from stackwright.controllers.controlplane import passwords
from stackwright.controllers.controlplane.refusals import list_refusals, without_effect, wrong_mode
from stackwright.controllers.controlplane.resolution import Instance, is_disabled, resolve
from stackwright.controllers.controlplane.service_operators import ServiceOperator, ServiceOperators, states
from stackwright.controllers.teams import team_of_kind
from stackwright.kube import finalizers
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import READY, REQUESTED, Finding, find, finding_of
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Wait
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import Key, Resource, ResourceName
from stackwright.kube.shapes import pausing
from stackwright.kube.shapes.children import mark_of
from stackwright.kube.shapes.composite import Child, Composite
from stackwright.kube.shapes.report import report
from stackwright.kube.shapes.states import state_of

# The condition of a service that tells of the Services before its API.
SERVICES_READY = "CreateServiceReady"


@dataclass(frozen=True)
class Facts:
    """What there is in the namespace.

    The resources of the sections' kinds, which of them are somebody else's, the Secret without its values, and the
    name of the control plane that was here first, if this one was not. `operators` are the states of the services'
    own operators by their teams, None where all services have one operator.
    """

    present: Mapping[ResourceName, CustomResource] = field(default_factory=dict)
    foreign: frozenset[ResourceName] = frozenset()
    secret: passwords.SecretKeys | None = None
    first: str = ""
    operators: Mapping[str, Finding] | None = None


def read(umbrella: OpenStackControlPlane, context: Context, operators: ServiceOperators | None = None) -> Facts:
    """Take from the caches what there is."""
    namespace = umbrella.metadata.namespace
    present = {
        (kind.kind.name, resource.metadata.name): resource
        for kind in _kinds()
        for resource in context.store(kind).list(namespace)
    }
    mark = mark_of(context)
    foreign = frozenset(name for name, resource in present.items() if _foreign(resource, umbrella, mark))
    secret = context.store(Secret).get(Key(namespace, umbrella.spec.secret))
    started = None if operators is None else states(operators, context.store(ServiceOperator).list())
    return Facts(present, foreign, passwords.read_keys(secret), _first(umbrella, context), started)


def _kinds() -> tuple[type[CustomResource], ...]:
    """Return the kinds that the sections make resources of."""
    return tuple(part.kind for section in services.sections() for part in section.parts)


def _foreign(resource: Resource, umbrella: OpenStackControlPlane, mark: str) -> bool:
    """Whether somebody else made a resource. What an umbrella of the same name left behind is ours to take up."""
    owner = resource.metadata.controller
    if owner is None:
        return mark not in resource.metadata.annotations
    return (owner.kind, owner.name) != (umbrella.kind.name, umbrella.metadata.name)


def _first(umbrella: OpenStackControlPlane, context: Context) -> str:
    """Return the name of the control plane that was in the namespace before this one."""
    all_of_them = context.store(type(umbrella)).list(umbrella.metadata.namespace)
    oldest = min(all_of_them, key=lambda one: (one.metadata.creationTimestamp, one.metadata.name), default=umbrella)
    return "" if oldest.metadata.name == umbrella.metadata.name else oldest.metadata.name


def children(umbrella: OpenStackControlPlane, facts: Facts) -> Iterable[Child | Wait | Finding]:
    """Return the resources of the services, and what is found out about the whole."""
    refuse(umbrella, facts)
    instances = instances_of(umbrella, facts)
    lost = passwords.loss(umbrella, instances, facts.secret, facts.present)
    if (complaint := lost or passwords.complaint(umbrella, instances, facts.secret)) is not None:
        yield complaint
    else:
        yield from _ignored(umbrella)
    yield from resources_of(instances, facts)
    yield from _unattended(instances, facts)
    yield from _exposed(instances, facts)
    yield from _idle(umbrella, instances)
    yield _infrastructure(instances, facts)
    yield _sections(umbrella, instances, facts)


def resources_of(instances: Iterable[Instance], facts: Facts) -> Iterable[Child | Finding]:
    """Return the resources to apply; what is said of each goes into the condition of its section, whatever its part."""
    for instance in instances:
        condition = instance.section.condition
        yield from (Finding(condition, "False", "DependencyMissing", unmet, "Error") for unmet in instance.unmet)
        if instance.foreign:
            yield replace(_state(instance, facts), condition=condition)
        elif not instance.unmet or instance.resource_name in facts.present:
            # What runs already is not taken away because what it needs was.
            body = {"metadata": {"name": instance.name}, "spec": instance.spec}
            yield Child(instance.part.kind, body, condition, state_or_pause)


def instances_of(umbrella: OpenStackControlPlane, facts: Facts) -> tuple[Instance, ...]:
    """Return the resources of a control plane; what was deployed because something needed it is remembered as such."""
    resolved = {(entry.kind, entry.name) for entry in umbrella.status.resolved}
    return resolve(umbrella.spec, services.sections(), facts.foreign, resolved & facts.present.keys())


def refuse(umbrella: OpenStackControlPlane, facts: Facts) -> None:
    """Raise what the user must change before anything is done."""
    if facts.first:
        message = (
            f"Namespace {umbrella.metadata.namespace} has OpenStackControlPlane {facts.first} already, and a namespace "
            "has one at most: delete one of the two, or move this one to another namespace"
        )
        raise Blocked(message, reason="NotAlone", condition=INPUT_READY)
    if refused := list_refusals(umbrella.spec):
        raise Blocked("; ".join(map(str, refused)), reason="NotSupported", condition=INPUT_READY)
    if (mismatch := wrong_mode(umbrella.spec.operatorMode, per_service=facts.operators is not None)) is not None:
        raise Blocked(str(mismatch), reason="OperatorModeMismatch", condition=INPUT_READY)


def is_refused(umbrella: OpenStackControlPlane, facts: Facts) -> bool:
    """Return whether the user must change something before anything is done."""
    try:
        refuse(umbrella, facts)
    except Blocked:
        return True
    return False


def _unattended(instances: Iterable[Instance], facts: Facts) -> Iterable[Finding]:
    """Say of services that are not ready that their operator is not running yet; the others work without it."""
    for instance in instances if facts.operators is not None else ():
        starting = _starting(instance, facts)
        if starting and _state(instance, facts).status != "True":
            yield Finding(instance.section.condition, "False", "OperatorNotReady", starting, "Info")


def _starting(instance: Instance, facts: Facts) -> str:
    """Return why the operator of a resource does not work yet; an empty text when it does."""
    assert facts.operators is not None  # noqa: S101  asked by the callers
    team = team_of_kind(instance.part.kind)
    state = facts.operators.get(team)
    if state is None:
        return f"The operator of {team} is being started"
    return "" if state.status == "True" else f"The operator of {team} is not ready: {state.message}"


def _exposed(instances: Iterable[Instance], facts: Facts) -> Iterable[Finding]:
    """Say of each API whether its Services are there, as its own resource says it."""
    for instance in instances:
        if not (condition := instance.section.exposure):
            continue
        present = facts.present.get(instance.resource_name)
        said = find(present.status.conditions, SERVICES_READY) if present is not None else None
        if said is None and _state(instance, facts).status == "True":
            # Whoever keeps it tells less of it; what is ready can be reached.
            yield Finding(condition, "True", READY, "")
        elif said is None:
            yield Finding(condition, "False", REQUESTED, f"{instance} has no Services yet", "Info")
        else:
            status = "True" if said.status == "True" else "False"
            yield Finding(condition, status, said.reason, f"{instance}: {said.message}", said.severity or "Info")


def _idle(umbrella: OpenStackControlPlane, instances: Iterable[Instance]) -> Iterable[Finding]:
    """Say of the sections without a resource that nothing is missing there."""
    used = {instance.section.name for instance in instances}
    for section in services.sections():
        if section.name not in used:
            disabled = is_disabled(section, umbrella.spec)
            reason, message = ("Disabled", "is disabled") if disabled else ("NotRequested", "was not asked for")
            for condition in filter(None, (section.condition, section.exposure)):
                yield Finding(condition, "True", reason, f"{section.title} {message}")


def _infrastructure(instances: Iterable[Instance], facts: Facts) -> Finding:
    """Return whether all that the services stand on is ready."""
    below = [instance for instance in instances if instance.section.infrastructure]
    missing = [state for state in (_state(instance, facts) for instance in below) if state.status != "True"]
    if not missing:
        return Finding(INFRASTRUCTURE_READY, "True", READY, "")
    worst = min(missing, key=lambda state: state.severity != "Error")
    return replace(worst, condition=INFRASTRUCTURE_READY)


def _ignored(umbrella: OpenStackControlPlane) -> Iterable[Finding]:
    """Name the fields that change nothing."""
    if names := ", ".join(path for path, _ in without_effect(umbrella.spec, services.sections())):
        message = f"All inputs are there; these fields have no effect in this release: {names}"
        yield Finding(INPUT_READY, "True", READY, message)


def _sections(umbrella: OpenStackControlPlane, instances: Iterable[Instance], facts: Facts) -> Finding:
    """Return whether every section that is enabled has a service; Ready would else be true of half a cloud.

    It is told last: as long as the rest is on its way, that is what a user waits for.
    """
    missing = [f"spec.{section.name}" for section in asked_for(umbrella.spec)]
    if not missing:
        return Finding(SECTIONS_READY, "True", READY, "")
    settled = all(_state(instance, facts).status == "True" for instance in instances)
    message = (
        f"This release does not deploy {', '.join(missing)}; everything else is deployed. Set enabled to false there, "
        "or remove the section"
    )
    return Finding(SECTIONS_READY, "False", "NotSupported", message, "Warning" if settled else "Info")


def _state(instance: Instance, facts: Facts) -> Finding:
    """Return how far a resource was when it was last seen."""
    present = facts.present.get(instance.resource_name)
    if present is None:
        reason, message = ("DependencyMissing", instance.unmet[0]) if instance.unmet else (REQUESTED, "")
        return Finding("", "False", reason, message or f"{instance} is being created", "Info")
    if present.deleting and not finalizers.strangers(present):
        return Finding("", "False", "Deleting", f"{instance} is being deleted", "Info")
    return state_or_pause(present)


def state_or_pause(present: Resource) -> Finding:
    """Return how far a resource is; where its work rests, nobody looks at a change before somebody ends the pause."""
    said = state_of(present)
    if said.reason != REQUESTED or not pausing.is_paused(PAUSED, present):
        return said
    what = f"{present.kind.name} {present.metadata.name}"
    message = f"{what} is paused, and its change waits for that to end; take the annotation {PAUSED} off it to go on"
    return replace(said, reason="Paused", message=message, severity="Warning")


def tell(umbrella: OpenStackControlPlane, facts: Facts) -> OpenStackControlPlaneStatus:
    """Return the status with the state of each resource, and with what was deployed because something needs it."""
    if is_refused(umbrella, facts):
        return umbrella.status
    instances = instances_of(umbrella, facts)
    states = tuple(sorted(_describe_state(instance, facts) for instance in instances))
    resolved = tuple(
        ResolvedDependency(name=instance.name, kind=instance.resource_name[0], neededBy=instance.needed_by)
        for instance in instances
        if not instance.asked and not instance.foreign
    )
    return msgspec.structs.replace(
        umbrella.status,
        services=tuple(state for _, state in states),
        resolved=tuple(sorted(resolved, key=lambda one: (one.kind, one.name))),
        operators=tuple(_attending(instances, facts)),
    )


def _attending(instances: Iterable[Instance], facts: Facts) -> Iterable[OperatorState]:
    """Return the operators of the control plane's own services, where each has its own."""
    teams = {team_of_kind(instance.part.kind) for instance in instances} if facts.operators is not None else set()
    for team in sorted(teams):
        state = (facts.operators or {}).get(team)
        ready = state is not None and state.status == "True"
        message = "" if ready else state.message if state is not None else "it is being started"
        yield OperatorState(service=team, ready=ready, message=message)


def _describe_state(instance: Instance, facts: Facts) -> tuple[ResourceName, ServiceState]:
    state = _state(instance, facts)
    ready = state.status == "True"
    message = "" if ready else state.message
    if instance.foreign:
        message = f"{message}; it is used unchanged, because somebody else created it".removeprefix("; ")
    kind, name = instance.resource_name
    reason = "" if ready else state.reason
    return instance.resource_name, ServiceState(kind=kind, name=name, ready=ready, reason=reason, message=message)


@dataclass(frozen=True)
class Roster:
    """Which control planes there are and which Secret each names, so that what they use wakes them."""

    secrets: dict[Key, str] = field(default_factory=dict)

    def beside(self, resource: Resource) -> Iterable[Key]:
        """Return the control planes in the namespace of a resource."""
        return [key for key in self.secrets if key.namespace == resource.metadata.namespace]

    def everyone(self, _: Resource) -> Iterable[Key]:
        """Return all control planes."""
        return list(self.secrets)

    def using(self, secret: Secret) -> Iterable[Key]:
        """Return the control planes that take their passwords from a Secret."""
        return [key for key in self.beside(secret) if self.secrets[key] == secret.metadata.name]


def controller(
    generate: passwords.Generate = passwords.random, operators: ServiceOperators | None = None
) -> Controller:
    """Return the controller of the umbrella; `generate` makes a password with that many bytes of randomness.

    `operators` are those of single services, where they are installed so.
    """
    kind = services.control_plane()
    kinds = _kinds()
    look = partial(read, operators=operators)
    shape = Composite(of=kind, owns=kinds, children=children, read=look, tell=tell, pause=PAUSED)
    roster = Roster()
    watches: tuple[Watch[Any], ...] = (
        Watch(kind, roster.beside, asked_differently),
        Watch(Secret, roster.using),
        *(Watch(each, roster.beside) for each in kinds),
        *((Watch(ServiceOperator, roster.everyone),) if operators is not None else ()),
    )
    # Whoever answers for the webhooks of all kinds has to know what there is.
    composed = replace(shape.controller(watches=watches, reads=ownership.claiming()), makes=(Secret,))

    async def reconcile(key: Key, context: Context) -> Result | None:
        umbrella = context.store(kind).get(key)
        if umbrella is None or umbrella.deleting:
            roster.secrets.pop(key, None)
        else:
            roster.secrets[key] = umbrella.spec.secret
            if not pausing.is_paused(PAUSED, umbrella) and await _generated(umbrella, look, context, generate):
                # The cache has the Secret by then, and says so.
                return Result(after=0.0)
        return await composed.reconcile(key, context)

    return replace(composed, reconcile=reconcile)


async def _generated(
    umbrella: OpenStackControlPlane,
    look: Callable[[OpenStackControlPlane, Context], Facts],
    context: Context,
    generate: passwords.Generate,
) -> bool:
    """Generate the passwords that are missing; return whether there were any."""
    facts = look(umbrella, context)
    if is_refused(umbrella, facts):
        return False
    instances = instances_of(umbrella, facts)
    step = passwords.decide(umbrella, instances, facts.secret, facts.present)
    if step is None:
        return False
    try:
        await passwords.carry_out(step, umbrella, context.client, generate)
    except Exception as error:
        await report(umbrella, (finding_of(error, INPUT_READY),), umbrella.status, context)
        raise
    if step.renewed:
        context.events.event(umbrella, "Warning", "SecretLost", passwords.renewal(step, umbrella))
    return True
