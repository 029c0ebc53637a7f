"""MariaDBAccount: a user with the rights that a service needs in one schema, and no others."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import msgspec

from stackwright.adapters.errors import AdapterError
from stackwright.adapters.mariadb_grants import Grant, needed_in
from stackwright.adapters.mariadb_marks import USER, Mark, Thing
from stackwright.adapters.mariadb_names import bare, schema_problem, user_problem
from stackwright.api.annotations import PAUSED
from stackwright.api.mariadb import (
    DATABASE_LABEL,
    SERVER_LABEL,
    MariaDBAccount,
    MariaDBAccountStatus,
    MariaDBDatabase,
)
from stackwright.blueprint import tls
from stackwright.blueprint.needs.database import PASSWORD
from stackwright.blueprint.secret_values import read_database_password
from stackwright.controllers.absent_servers import Absent
from stackwright.controllers.database import marks
from stackwright.controllers.database.marks import UNKEPT, Holding
from stackwright.controllers.database.password_users import find_behind
from stackwright.controllers.database.schema import DATABASE_READY
from stackwright.controllers.database.server import (
    SERVER_READY,
    Server,
    World,
    find_server,
)
from stackwright.controllers.looks import Looker
from stackwright.controllers.reserved_database_names import SYSTEM
from stackwright.kube.builtin import Secret
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Caution, Ends, Plan, Step, Wait
from stackwright.kube.shapes.external import external

ACCOUNT_READY = "MariaDBAccountReady"
FINALIZER = "openstack.org/mariadbaccount"


@dataclass(frozen=True)
class Seen:
    """What was seen of an account. `server` is None if the resource names no server.

    `behind` are the resources that may still use the former password; `former` says that the server accepts one.
    """

    server: Server | Absent | None
    waits: tuple[Wait, ...] = ()
    foreign: Blocked | None = None
    schema: str = ""
    password: str = field(default="", repr=False)
    grants: tuple[Grant, ...] | None = None
    accepted: bool = False
    former: bool = False
    behind: tuple[str, ...] = ()
    holding: Holding = UNKEPT


@dataclass(frozen=True)
class UserStep(Step):
    """A step that concerns the user."""

    server: Server
    user: str


@dataclass(frozen=True)
class CreateUser(UserStep):
    """Create the user for `owner`, which is empty if the server keeps no marks for us."""

    password: str = field(repr=False)
    owner: str = ""


@dataclass(frozen=True)
class MarkUser(UserStep):
    """Record on the server which resource owns the user."""

    mark: Mark


@dataclass(frozen=True)
class SetPassword(UserStep):
    """Change the user's password; with `keep`, the former one stays valid beside it."""

    password: str = field(repr=False)
    keep: bool = False


@dataclass(frozen=True)
class GrantSchema(UserStep):
    """Give the user the rights that a service needs in the schema."""

    schema: str


@dataclass(frozen=True)
class Revoke(UserStep):
    """Take away rights that the user should not have."""

    grant: Grant


@dataclass(frozen=True)
class DropUser(UserStep):
    """Delete the user."""


async def observe(account: MariaDBAccount, world: World) -> Seen:
    """Look for schema, server and password, then for the user."""
    look = world.looker(account)
    seen = _inputs(account, look, world.foreign(account, ACCOUNT_READY))
    secret = look(Secret, account.spec.secret)
    refused = seen.foreign or user_problem(account.spec.userName)
    if not isinstance(seen.server, Server) or refused or (seen.waits and not account.deleting):
        return seen
    session = await world.session(seen.server)
    user = account.spec.userName
    try:
        found = await session.user(user)
        accepted = bool(found is not None and seen.password and await session.accepts(user, seen.password))
        former = found is not None and accepted and found.has_other_password(seen.password)
        holding = await world.holding(account, session, seen.server, Thing(USER, user))
    except AdapterError as error:
        raise seen.server.explain(error) from error
    grants = found.grants if found is not None else None
    behind = find_behind(account, secret, world.context) if former or (found is not None and not accepted) else ()
    return replace(seen, grants=grants, accepted=accepted, former=former, behind=behind, holding=holding)


def _inputs(account: MariaDBAccount, look: Looker, foreign: Blocked | None) -> Seen:
    """Read what the account needs from the caches; whatever is missing becomes a wait."""
    label = account.metadata.labels.get(DATABASE_LABEL, "")
    database = look(MariaDBDatabase, label) if label else None
    name = _server_name(account, database)
    secret = read_database_password(look(Secret, account.spec.secret), account.spec.secret, PASSWORD, ACCOUNT_READY)
    if not name:
        return Seen(None, waits=() if database or not label else (_missing(label, SERVER_READY),))
    server = find_server(name, look)
    waits = []
    if database is None or database.deleting:
        waits.append(_missing(label, DATABASE_READY))
    elif not database.status.completed and not schema_problem(database.schema):
        waits.append(Wait("MariaDBDatabaseNotReady", f"MariaDBDatabase {label} is not ready yet", DATABASE_READY))
    if isinstance(secret, Wait):
        waits.append(secret)
    return Seen(
        server,
        tuple(waits),
        foreign,
        database.schema if database is not None else "",
        "" if isinstance(secret, Wait) else secret,
    )


def _server_name(account: MariaDBAccount, database: MariaDBDatabase | None) -> str:
    """Return the Galera that has the user; if its MariaDBDatabase is gone, the Galera on which the user was created."""
    named = database.metadata.labels.get(SERVER_LABEL, "") if database is not None else ""
    return named or account.status.server


def _missing(database: str, condition: str) -> Wait:
    message = f"MariaDBDatabase {database} does not exist; create it, or correct the label {DATABASE_LABEL}"
    return Wait("MariaDBDatabaseMissing", message, condition, ends=Ends.BY_AUTHOR)


def decide(account: MariaDBAccount, seen: Seen) -> Plan:
    """Return the steps that give the user its password and exactly the rights that it needs."""
    _check(account, seen)
    if isinstance(seen.server, Absent):
        return Plan(waits=(seen.server.wait, *seen.waits))
    if seen.waits or seen.server is None:
        return Plan(waits=seen.waits)
    if schema_problem(seen.schema):
        return _out_of_reach(account, seen.server, seen)
    server, user = seen.server, account.spec.userName
    if seen.grants is None:
        owner = marks.owner_of(account) if seen.holding.mark is not None else ""
        return _do(CreateUser(server, user, seen.password, owner, reason="CreatingUser", condition=ACCOUNT_READY))
    wanted = needed_in(seen.schema)
    steps: list[Step] = []
    if mark := marks.adopted(account, seen.holding, known=bool(account.status.server)):
        steps.append(MarkUser(server, user, mark, reason="MarkingUser", condition=ACCOUNT_READY))
    if not seen.accepted or (seen.former and not seen.behind):
        reason = "RemovingFormerPassword" if seen.accepted else "ChangingPassword"
        keep = bool(seen.behind)
        steps.append(SetPassword(server, user, seen.password, keep, reason=reason, condition=ACCOUNT_READY))
    if not any(grant.scope == wanted.scope and grant.privileges >= wanted.privileges for grant in seen.grants):
        steps.append(GrantSchema(server, user, seen.schema, reason="Granting", condition=ACCOUNT_READY))
    if steps:
        return _do(*steps)
    # Excess rights are revoked last, so that the user never lacks the rights that it needs.
    excess = (grant.beyond(wanted) if grant.scope == wanted.scope else grant for grant in seen.grants)
    revoking = _revoking(server, user, (grant for grant in excess if grant is not None))
    return revoking if revoking.steps else _settled(account, seen)


def _settled(account: MariaDBAccount, seen: Seen) -> Plan:
    """Return what is said of a user that is as it should be: whether it has a former password, too, and until when."""
    if not seen.former:
        # What was said of a former password is over.
        return Plan(done=(ACCOUNT_READY,))
    behind = ", ".join(seen.behind).replace("/", " ")
    message = (
        f"User {account.spec.userName} can log in with its former password, too, until {behind} is Ready and all its "
        f"pods, and what reads from it, work with the one in Secret {account.spec.secret} or with another account; do "
        "not change the password again before"
    )
    return Plan(cautions=(Caution("FormerPasswordValid", message, ACCOUNT_READY),))


def _out_of_reach(account: MariaDBAccount, server: Server, seen: Seen) -> Plan:
    """Revoke rights that an earlier version gave in one of the server's own schemas; then refuse."""
    if seen.grants:
        return _revoking(server, account.spec.userName, seen.grants)
    label = account.metadata.labels.get(DATABASE_LABEL, "")
    message = f"MariaDBDatabase {label}: {schema_problem(seen.schema)}"
    raise Blocked(message, reason="SchemaReserved", condition=DATABASE_READY)


def _revoking(server: Server, user: str, grants: Iterable[Grant]) -> Plan:
    return _do(*(Revoke(server, user, grant, reason="Revoking", condition=ACCOUNT_READY) for grant in grants))


def _do(*steps: Step) -> Plan:
    return Plan(steps=steps)


def _check(account: MariaDBAccount, seen: Seen) -> None:
    """Refuse what only the author of the resource can fix."""
    spec = account.spec
    if spec.accountType == "System":
        raise Blocked(f"spec.accountType: {SYSTEM}", reason="NotSupported", condition=ACCOUNT_READY)
    for path, sentence in tls.problems(spec):
        raise Blocked(f"{path}: {sentence}", reason="NotSupported", condition=ACCOUNT_READY)
    if problem := _reserved(account, seen):
        advice = ", or create" if ";" in problem else "; create"
        message = f"spec.userName: {problem}{advice} a MariaDBAccount with another userName"
        raise Blocked(message, reason="UserReserved", condition=ACCOUNT_READY)
    if seen.server is None and not seen.waits:
        label = DATABASE_LABEL if DATABASE_LABEL not in account.metadata.labels else ""
        message = (
            f"metadata.labels.{label} is missing; set it to the name of a MariaDBDatabase"
            if label
            else f"The MariaDBDatabase of this account has no label {SERVER_LABEL}; set it to the name of a Galera"
        )
        raise Blocked(message, reason="LabelMissing", condition=SERVER_READY)
    if seen.foreign is not None:
        raise seen.foreign
    if _is_anothers(account, seen):
        thing = Thing(USER, account.spec.userName)
        raise marks.refusal(account, thing, seen.holding, "spec.userName", ACCOUNT_READY)


def _is_anothers(account: MariaDBAccount, seen: Seen) -> bool:
    """Return whether another resource owns the user, perhaps through another Galera for the same server."""
    return seen.grants is not None and marks.is_anothers(account, seen.holding)


def _reserved(account: MariaDBAccount, seen: Seen) -> str:
    """Return why we must not touch the user: it is the server's own, or an administrator that we did not create."""
    name = account.spec.userName
    if problem := user_problem(name):
        return problem.partition(";")[0]
    if isinstance(seen.server, Server) and bare(name) == bare(seen.server.user):
        return f"{name} is the server's own"
    if not account.status.server and any(grant.is_beyond_schemas for grant in seen.grants or ()):
        return f"{name} exists on the server, was not created for this resource and has rights beyond schemas"
    if _is_a_strangers(account, seen):
        return (
            f"{name} exists on the server, was not created for this resource, has rights in other schemas too, and its "
            f"password is not the one in Secret {account.spec.secret}; put its password there"
        )
    return ""


def _is_a_strangers(account: MariaDBAccount, seen: Seen) -> bool:
    """Return whether somebody else created the user.

    The status names the users that we created, but a status is lost if the resource is deleted. A user that accepts our
    password, or that has rights in no other schema, is therefore taken for ours, restored from a backup.
    """
    # If another resource owns the user, the mark says so, and that refusal names the owner.
    if account.status.server or seen.grants is None or seen.accepted or _is_anothers(account, seen):
        return False
    return any(grant.scope != needed_in(seen.schema).scope for grant in seen.grants)


def remove(account: MariaDBAccount, seen: Seen) -> Plan:
    """Return what is left to do before the resource can be deleted: its user is dropped, if the server still exists."""
    ours = (
        takes_along(account)
        and account.spec.accountType == "User"
        and not _reserved(account, seen)
        and not seen.foreign
        and marks.may_drop(account, seen.holding, known=bool(account.status.server))
    )
    if not ours or seen.server is None:
        return Plan()
    if isinstance(seen.server, Absent):
        return Plan() if seen.server.gone else Plan(waits=(seen.server.wait,))
    if seen.grants is None:
        return Plan()
    return _do(DropUser(seen.server, account.spec.userName, reason="DroppingUser", condition=ACCOUNT_READY))


def tell(account: MariaDBAccount, seen: Seen) -> MariaDBAccountStatus:
    """Return the status, updated with what was seen of the user."""
    if not isinstance(seen.server, Server) or seen.grants is None or _is_refused(account, seen):
        return account.status
    current = account.spec.secret if seen.accepted else account.status.currentSecret
    return msgspec.structs.replace(
        account.status,
        currentSecret=current,
        server=seen.server.name,
        formerPasswordUsers=seen.behind if seen.former else (),
        hash=marks.noted(account, seen.holding),
    )


def _is_refused(account: MariaDBAccount, seen: Seen) -> bool:
    return bool(_reserved(account, seen)) or _is_anothers(account, seen)


def takes_along(account: MariaDBAccount) -> bool:
    """Return whether the user is dropped with its resource; otherwise the resource needs no finalizer."""
    return account.spec.deletionPolicy == "Delete"


@external(
    of=MariaDBAccount,
    read=observe,
    decide=decide,
    remove=remove,
    finalizer=FINALIZER,
    tell=tell,
    pause=PAUSED,
    holds=takes_along,
)
async def accounts(step: UserStep, world: World) -> None:
    """Carry out one step."""
    session = await world.session(step.server)
    thing = Thing(USER, step.user)
    try:
        match step:
            case CreateUser():
                # The mark comes first: if we are killed in between, the next pass finds no user, and does both again.
                if step.owner:
                    await session.set_mark(thing, Mark(step.owner, made=True, galera=step.server.uid))
                await session.create_user(step.user, step.password)
            case MarkUser():
                await session.set_mark(thing, step.mark)
            case SetPassword():
                await session.set_password(step.user, step.password, keep=step.keep)
            case GrantSchema():
                await session.grant(step.user, step.schema)
            case Revoke():
                await session.revoke(step.user, step.grant)
            case DropUser():
                await session.drop_user(step.user)
                await session.remove_mark(thing)
    except AdapterError as error:
        raise step.server.explain(error, ACCOUNT_READY) from error
