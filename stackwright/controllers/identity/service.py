"""KeystoneService: an entry of the catalog, and the user that the service works as."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from stackwright import tasks
from stackwright.adapters.errors import AdapterError
from stackwright.adapters.identity import Keystone, Project, RoleAssignment, Service, User
from stackwright.api.annotations import CONFIGURED_WITH, PAUSED
from stackwright.api.keystone import KeystoneService, KeystoneServiceStatus
from stackwright.blueprint.name_folding import fold_name
from stackwright.blueprint.needs.catalog_entry import is_own_type
from stackwright.blueprint.secret_values import read_value
from stackwright.controllers.absent_servers import Absent
from stackwright.controllers.identity.access import Access, find_keystone, not_ready
from stackwright.controllers.identity.marks import NOTHING, Made, Notes, Owner, made_service, made_user, owner
from stackwright.controllers.identity.passwords import PasswordState
from stackwright.controllers.identity.registration import known, works_as
from stackwright.controllers.identity.service_steps import (
    PROJECT,
    CreateRole,
    CreateService,
    CreateUser,
    DeleteService,
    EnableUser,
    GrantRole,
    MarkUser,
    PrepareProject,
    SetPassword,
    UpdateService,
    take,
)
from stackwright.controllers.identity.world import KeystoneStep, Note, World, noting
from stackwright.kube.builtin import Secret
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Plan, Wait
from stackwright.kube.shapes.external import external

SERVICE_READY = "KeystoneServiceOSServiceReady"
USER_READY = "KeystoneServiceOSUserReady"

# Which condition tells of a field that names another's.
CONDITIONS = {"spec.serviceType": SERVICE_READY, "spec.serviceName": SERVICE_READY, "spec.serviceUser": USER_READY}
# The roles that services hold in their project.
ROLES = ("admin", "service")


@dataclass(frozen=True)
class Seen:
    """What there is: in the cluster, and in Keystone.

    `foreign` says that the user or the entry is another resource's; `taken` are the services that other resources
    registered; `made` is what is noted as made for this one, `notes` what else the notes say. `alike` is a user whose
    name Keystone takes for ours.
    `unused` says that the service that made the resource is not configured with the Secret as it is now.
    """

    keystone: Access | Absent
    password: str | Wait = field(default="", repr=False)
    unused: bool = False
    foreign: Blocked | None = None
    taken: frozenset[str] = frozenset()
    made: tuple[Made, ...] = ()
    notes: Notes = NOTHING
    services: tuple[Service, ...] = ()
    user: User | None = None
    alike: User | None = None
    project: Project | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    held: frozenset[str] = frozenset()
    login: PasswordState = PasswordState.UNKNOWN
    changed: str = ""


async def observe(service: KeystoneService, world: World) -> Seen:
    """Look for Keystone and the password, then for what Keystone has."""
    seen = _inputs(service, world)
    if isinstance(seen.keystone, Absent):
        return seen
    try:
        keystone = world.keystones.client(seen.keystone)
        async with keystone.connected():
            return await ask_keystone(service, seen, keystone, world)
    except AdapterError as error:
        if not seen.keystone.ready:
            return replace(seen, keystone=Absent(not_ready(seen.keystone.name)))
        raise seen.keystone.explain(error) from error


def _inputs(service: KeystoneService, world: World) -> Seen:
    """Read from the caches, everything before the first await, so that no change is missed."""
    spec, look = service.spec, world.looker(service)
    others = [other for other in look.all(KeystoneService) if not other.deleting and other.key != service.key]
    secret = look(Secret, spec.secret)
    used = service.metadata.annotations.get(CONFIGURED_WITH)
    keystone = find_keystone(service, look)
    noted = world.ledger.of(service, keystone.name) if isinstance(keystone, Access) else None
    return Seen(
        keystone,
        read_value(secret, spec.secret, spec.passwordSelector, USER_READY),
        unused=used is not None and secret is not None and used != secret.metadata.resourceVersion,
        foreign=world.foreign(service, CONDITIONS),
        taken=frozenset(other.status.serviceID for other in others),
        made=noted.made if noted is not None else (),
        notes=world.ledger.around(noted) if noted is not None else NOTHING,
    )


def _entry(service: KeystoneService) -> tuple[str, str]:
    return service.spec.serviceType, service.spec.serviceName


async def ask_keystone(service: KeystoneService, seen: Seen, keystone: Keystone, world: World) -> Seen:
    """Ask Keystone; whether the password works is asked last, of a user that could log in."""
    asked = keystone.services(), keystone.find_user(service.spec.serviceUser)
    services, user, project, roles = await tasks.together(*asked, keystone.find_project(PROJECT), keystone.roles())
    alike = await keystone.find_alike(service.spec.serviceUser) if user is None else None
    assignments = await keystone.assignments(project.id) if project is not None else frozenset()
    held = frozenset(role for role in ROLES if user and RoleAssignment(user.id, roles.get(role, "")) in assignments)
    there = {role: roles[role] for role in ROLES if role in roles}
    seen = replace(seen, services=services, user=user, alike=alike, project=project, roles=there, held=held)
    if user is not None and user.enabled and isinstance(seen.password, str) and not _refusal(service, seen):
        # A password that the service does not use is not set, so it need not be tried again.
        again, ours = not seen.unused, _is_our_user(service, seen)
        login = await world.passwords.state(service.key, keystone, user, seen.password, again=again, ours=ours)
        seen = replace(seen, login=login)
    return replace(seen, changed=world.passwords.changed(service.key))


def decide(service: KeystoneService, seen: Seen) -> Plan:
    """Return what brings catalog and user to what the resource says."""
    if isinstance(seen.keystone, Absent):
        return Plan(waits=(seen.keystone.wait,))
    if (refusal := _refusal(service, seen)) is not None:
        raise refusal
    access = seen.keystone
    steps = (*_catalog(service, seen, access), *_project(service, seen, access), *_user(service, seen, access))
    waits = (*((seen.password,) if isinstance(seen.password, Wait) else ()), *_held_up(service, seen))
    if not steps and not waits and seen.login is PasswordState.FUTILE:
        raise Blocked(
            f"Keystone accepted the new password of user {service.spec.serviceUser}, but refuses its login: see "
            "whether the account is locked there, or choose another password",
            reason="LoginRefused",
            condition=USER_READY,
        )
    otherwise = Note(access, service, reason="Noting", condition=SERVICE_READY)
    whole = bool(seen.notes.cloud) or not access.cloud
    adopts = _owner(service, seen).adopts in _marks(seen, steps)
    noted = noting(steps, seen.made, _there(service, seen), otherwise, whole=whole, adopts=adopts)
    return Plan(steps=noted, waits=waits)


def _marks(seen: Seen, steps: Iterable[KeystoneStep]) -> Iterator[str]:
    """Yield the marks that things have, or get by the steps."""
    yield from (one.made_for for one in seen.services)
    if seen.user is not None:
        yield seen.user.made_for
    for step in steps:
        match step:
            case UpdateService():
                yield step.service.made_for
            case MarkUser() | SetPassword():
                yield step.mark


def _held_up(service: KeystoneService, seen: Seen) -> Iterator[Wait]:
    """Yield why the user keeps the password that it has: with another one the service would be locked out."""
    if seen.unused and seen.login is PasswordState.DIFFERS:
        owner = service.metadata.controller
        who = f"{owner.kind} {owner.name}" if owner is not None else "the service"
        message = (
            f"Secret {service.spec.secret} has another password for user {service.spec.serviceUser}; it is set in "
            f"Keystone once {who} is configured with it"
        )
        yield Wait("PasswordUnused", message, USER_READY)


def _there(service: KeystoneService, seen: Seen) -> tuple[Made, ...]:
    """Return what is there of all that was made; users of other names, from before a change, were not looked for."""
    users = [made_user(seen.user)] if seen.user is not None else []
    users += [one for one in seen.made if one.what == "user" and one.name != (service.spec.serviceUser,)]
    return known(seen.made, (*map(made_service, seen.services), *users))


def _refusal(service: KeystoneService, seen: Seen) -> Blocked | None:
    """Return what only the user can mend."""
    spec = service.spec
    if isinstance(seen.keystone, Access) and _is_same_user(spec.serviceUser, seen.keystone.credentials.user):
        message = f"spec.serviceUser: {spec.serviceUser} is Keystone's administrator; choose another name"
        return Blocked(message, reason="UserReserved", condition=USER_READY)
    if seen.foreign is not None:
        return seen.foreign
    if seen.alike is not None:
        owner = f", which was created for {seen.alike.made_for}" if seen.alike.made_for else ""
        message = (
            f"spec.serviceUser: Keystone takes {spec.serviceUser!r} for the name of its user "
            f"{seen.alike.name!r}{owner}; choose another name"
        )
        return Blocked(message, reason="UserTaken", condition=USER_READY)
    if seen.user is not None and _is_anothers_user(service, seen) and _is_shut(seen):
        message = (
            f"spec.serviceUser: user {spec.serviceUser} of this Keystone belongs to {seen.user.made_for}, and does not "
            f"accept the password of Secret {spec.secret}; choose another name, or put that user's password there. If "
            "that resource is gone for good, delete the user in Keystone"
        )
        return Blocked(message, reason="UserNotOurs", condition=USER_READY)
    if seen.user is not None and not _is_our_user(service, seen) and _is_shut(seen):
        message = (
            f"spec.serviceUser: user {spec.serviceUser} is in Keystone, was not created for a service and does not "
            f"accept the password of Secret {spec.secret}; choose another name, put the user's own password "
            "there, or delete the user"
        )
        return Blocked(message, reason="UserNotOurs", condition=USER_READY)
    return None


def _is_our_user(service: KeystoneService, seen: Seen) -> bool:
    """Return whether the user in Keystone was made for this resource, or for a service at all, and not by others.

    One that an earlier cloud made, or that came back with a backup of Keystone, holds a role in the services' project.
    Whoever knows the user's password may have it.
    """
    user = seen.user
    if user is None:
        return True
    if _is_anothers_user(service, seen):
        return seen.login is PasswordState.WORKS
    # Not what is noted alone: anybody may have written the note.
    return bool(
        user.made_for
        or seen.held
        or seen.login in (PasswordState.WORKS, PasswordState.FUTILE)
        or user.id == service.status.userID
        or user.description == works_as(service.metadata.name)
    )


def _is_anothers_user(service: KeystoneService, seen: Seen) -> bool:
    """Return whether the user is that of another cloud; one that was restored with ours accepts our password."""
    restored = seen.login is PasswordState.WORKS
    return seen.user is not None and _owner(service, seen).is_anothers(seen.user, restored=restored)


def _owner(service: KeystoneService, seen: Seen) -> Owner:
    """Return this resource as the owner of things in its Keystone."""
    assert isinstance(seen.keystone, Access)  # noqa: S101  without one nobody asks
    return owner(service.kind.name, service.key, seen.keystone.cloud, seen.notes, external=seen.keystone.external)


def _is_shut(seen: Seen) -> bool:
    """Return whether it is known that the user does not let us in as it is."""
    return seen.login is PasswordState.DIFFERS or (seen.user is not None and not seen.user.enabled)


def _is_same_user(one: str, other: str) -> bool:
    """Return whether Keystone takes two names for one."""
    return fold_name(one) == fold_name(other)


def current(service: KeystoneService, seen: Seen) -> Service | None:
    """Return the entry of the catalog: the one that was registered, else one of that type and name, first our own.

    Keystone's own entry is never taken, whatever the status says.
    """
    who = _owner(service, seen)
    by_id = {entry.id: entry for entry in seen.services if not is_own_type(entry.type)}
    registered = by_id.get(service.status.serviceID)
    if registered is not None and not who.is_anothers(registered):
        return registered
    made = {one.id for one in seen.made}
    named = (entry for entry in seen.services if (entry.type, entry.name) == _entry(service))
    return min(named, key=lambda entry: (who.is_anothers(entry), entry.id not in made), default=None)


def _catalog(service: KeystoneService, seen: Seen, access: Access) -> Iterator[KeystoneStep]:
    spec, there = service.spec, current(service, seen)
    who = _owner(service, seen)
    identity = there.id if there is not None else ""
    made_for = _made_for(who, seen, there)
    wanted = Service(identity, spec.serviceType, spec.serviceName, spec.serviceDescription, spec.enabled, made_for)
    again = bool(service.status.serviceID)
    if there is None:
        message = f"Service {spec.serviceName} was not in the catalog and is created"
        yield CreateService(
            access, service, wanted, reason="CreatingService", message=message, condition=SERVICE_READY, told=again,
            makes=made_service(wanted),
        )  # fmt: skip
    elif there != wanted and not who.is_anothers(there):
        message = f"Service {spec.serviceName} differs in the catalog and is changed"
        told = again and replace(there, made_for=made_for) != wanted
        # What nobody had is ours from the first change on, so that two clouds do not change it by turns.
        wanted = replace(wanted, made_for=made_for or who.adopts)
        yield UpdateService(
            access, service, wanted, reason="ChangingService", message=message, condition=SERVICE_READY, told=told
        )
    # A resource of this name that is gone may have registered another service.
    marked = {entry.id: entry for entry in seen.services if who.has(entry)}
    for former in seen.made:
        if former.what == "service" and former.id in marked.keys() - seen.taken - {identity}:
            message = (
                f"Service {former.name[-1]} was created for a KeystoneService of this name that no longer exists; "
                "it is deleted"
            )
            yield DeleteService(
                access, service, former.id, reason="DeletingService", message=message, condition=SERVICE_READY,
                told=True,
            )  # fmt: skip


def _made_for(who: Owner, seen: Seen, there: Service | None) -> str:
    """Return the mark of an entry: one that is noted as made for us and has none was made by an older operator."""
    if there is None:
        return who.mark
    return who.renewed(there) or (who.mark if made_service(there) in seen.made else "")


def _project(service: KeystoneService, seen: Seen, access: Access) -> Iterator[KeystoneStep]:
    if seen.project is None or not seen.project.enabled:
        message = f"Project {PROJECT} does not exist or is disabled; it is created or enabled"
        yield PrepareProject(
            access, service, seen.project, reason="PreparingProject", message=message, condition=USER_READY
        )
    for role in ROLES:
        if role not in seen.roles:
            message = f"Role {role} does not exist and is created"
            yield CreateRole(access, service, role, reason="CreatingRole", message=message, condition=USER_READY)


def _user(service: KeystoneService, seen: Seen, access: Access) -> Iterator[KeystoneStep]:
    name, user, again = service.spec.serviceUser, seen.user, bool(service.status.userID)
    who = _owner(service, seen)
    if user is None:
        if isinstance(seen.password, str):
            message = f"User {name} does not exist and is created"
            yield CreateUser(
                access, service, name, seen.password, who.mark, reason="CreatingUser", message=message,
                condition=USER_READY, told=again, makes=made_user(User("", name)),
            )  # fmt: skip
        return
    if not _is_our_user(service, seen):
        # Without a password it is not known yet.
        return
    if not user.enabled:
        message = f"User {name} is disabled and is enabled"
        yield EnableUser(access, service, user, reason="EnablingUser", message=message, condition=USER_READY, told=True)
    mark = who.renewed(user)
    if mark != user.made_for and not _is_anothers_user(service, seen):
        message = f"User {name} does not say yet to which cloud it belongs"
        yield MarkUser(access, service, user, mark, reason="MarkingUser", message=message, condition=USER_READY)
    if seen.login is PasswordState.DIFFERS and isinstance(seen.password, str) and not seen.unused:
        message = f"The password of user {name} is not that of Secret {service.spec.secret} and is changed in Keystone"
        yield SetPassword(
            access, service, user, seen.password, mark or _first_mark(service, seen, user), reason="ChangingPassword",
            message=message, condition=USER_READY, told=True,
        )  # fmt: skip
    if seen.project is None:
        return
    for role in ROLES:
        if role in seen.roles and role not in seen.held:
            assignment = RoleAssignment(user.id, seen.roles[role])
            message = f"User {name} does not have the role {role} in project {PROJECT} and gets it"
            yield GrantRole(
                access, service, seen.project.id, assignment, reason="Granting", message=message, condition=USER_READY,
                told=again,
            )  # fmt: skip


def _first_mark(service: KeystoneService, seen: Seen, user: User) -> str:
    """Return the mark of a user that has none: it is adopted, unless an older operator made and noted it for us."""
    who = _owner(service, seen)
    made = made_user(user) in seen.made and user.description == works_as(service.metadata.name)
    return who.mark if made else who.adopts


def tell(service: KeystoneService, seen: Seen) -> KeystoneServiceStatus:
    """Return the status with what was seen in Keystone."""
    if isinstance(seen.keystone, Absent) or _refusal(service, seen) is not None:
        return service.status
    there = current(service, seen)
    return msgspec.structs.replace(
        service.status,
        serviceID=there.id if there is not None else service.status.serviceID,
        userID=seen.user.id if seen.user is not None and _is_our_user(service, seen) else service.status.userID,
        keystoneInstance=seen.keystone.name,
        passwordChanged=seen.changed or service.status.passwordChanged,
    )


@external(of=KeystoneService, read=observe, decide=decide, tell=tell, pause=PAUSED)
async def services(step: KeystoneStep, world: World) -> None:
    """Carry out one step."""
    await world.note(step)
    try:
        await take(step, world.keystones.client(step.access), world)
    except AdapterError as error:
        raise step.access.explain(error, step.condition) from error
    world.tell(step)
