"""A schema of the service's own, and an account that may use it.

Both outlive the service: one that is made again under the same name finds its data. Another account in the spec rotates
the password: the service logs in with the new one, and the old one is retired when no pod uses it any more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import msgspec

from stackwright.api import paths
from stackwright.api.annotations import CONFIGURED_WITH, GENERATED_FOR
from stackwright.api.base import JsonObject, ObjectMeta, Resource
from stackwright.api.mariadb import (
    DATABASE_LABEL,
    FIRST,
    IDENTITY_KEY,
    SERVER_LABEL,
    MariaDBAccount,
    MariaDBAccountSpec,
    MariaDBAccountStatus,
    MariaDBDatabase,
    MariaDBDatabaseSpec,
    MariaDBDatabaseStatus,
)
from stackwright.blueprint import names, value_types
from stackwright.blueprint.claims import ANOTHER_NAME, NAME, Claim, claim_object
from stackwright.blueprint.digests import digest
from stackwright.blueprint.needs.need import (
    KEEP,
    MAKE,
    Imagination,
    Need,
    Noted,
    Places,
    Provision,
    Resolved,
    Retirement,
)
from stackwright.blueprint.passwords import NewSecret
from stackwright.blueprint.providers import Provider, Sight
from stackwright.blueprint.secret_values import read_database_password
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.shapes.belonging import made_for, maker_of, not_anothers
from stackwright.kube.shapes.child import Child, child

# The word of what provides it.
DATABASE = "database"
# The chart's own job that makes a schema and its account.
DB_CREATE = "db-create"


@dataclass(frozen=True)
class DatabaseServer:
    """A database server. `address` says which server it is for one that runs elsewhere, or seems to.

    Two resources may stand for the same one. `connections` is how many it takes at once; 0 where nobody knows.
    """

    hostname: str
    port: int
    started: bool
    administrator: JsonObject = field(default_factory=dict)
    address: str = ""
    connections: int = 0


@dataclass(frozen=True)
class DatabaseFacts:
    """A schema, and an account that may use it."""

    hostname: str
    port: int
    schema: str
    user: str
    password: str = field(repr=False)
    # The resource that provides it; "" where it runs elsewhere and nothing here stands for it.
    server: str = ""
    # Tells the schema from one of the same name that was lost; "" for the first one.
    identity: str = ""

    @property
    def place(self) -> dict[str, str]:
        """Which schema this is, for what is done once in each."""
        known = {"identity": self.identity} if self.identity else {}
        return {"hostname": self.hostname, "schema": self.schema, **known}


# The key of an account's Secret.
PASSWORD = "DatabasePassword"  # noqa: S105  the name of a key, not a password


def _own_name(resource: Any) -> str:
    return str(resource.metadata.name)


@dataclass(frozen=True, kw_only=True)
class Database(Need):
    """A schema on the server that the field at `instance` names, with the account that the field at `account` names.

    `database` is the name of the MariaDBDatabase, by default that of the resource; the schema is named after it, with
    underscores. `usual_account` is the account of a resource that names none. `made` and `login` are the conditions
    that follow the two.
    """

    name: str = "database"
    instance: str = "databaseInstance"
    account: str = "databaseAccount"
    database: Callable[[Any], str] = _own_name
    usual_account: Callable[[Any], str] | None = None
    made: str = "DBReady"
    login: str = "MariaDBAccountReady"
    reads: ClassVar[tuple[type[Resource], ...]] = (Secret, MariaDBDatabase, MariaDBAccount)
    # An account that was rotated away goes; a schema never does.
    keeps: ClassVar[Mapping[type[Resource], frozenset[str]]] = {MariaDBDatabase: MAKE, MariaDBAccount: KEEP}
    provisions: ClassVar[tuple[Provision, ...]] = (
        Provision(
            DB_CREATE,
            "database",
            value_types.DATABASE,
            "DBReady",
            several="databases",
            words="Further schemas, by the name of each; "
            "a Job <release>-db-create-<name>-<hash> makes it and its account.",
        ),
    )
    everywhere: ClassVar[tuple[str, ...]] = (DATABASE,)
    labelled: ClassVar[bool] = True
    credential: ClassVar[type[Resource] | None] = MariaDBAccount
    retirement: ClassVar[str] = "AccountRetired"

    @property
    def word(self) -> str:
        """The word of what provides it."""
        return DATABASE

    def provided_by(self, resource: Any) -> str:
        """Return the name of the server."""
        return str(paths.find(resource.spec, self.instance) or "")

    def account_of(self, resource: Any) -> str:
        """Return the name of the account."""
        named = str(paths.find(resource.spec, self.account) or "")
        return named or (self.usual_account(resource) if self.usual_account is not None else "")

    def credential_of(self, resource: Any) -> str:
        """Return the name of the account, if a resource stands for it."""
        return "" if self._is_by_job(resource) else self.account_of(resource)

    def schemas(self, resource: Any) -> Iterator[str]:
        """Yield the schema."""
        yield names.schema(self.database(resource))

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return the login, once schema and account were made."""
        return self._by_job(resource, sight) if self._is_by_job(resource) else self._by_operator(resource, sight)

    def _is_by_job(self, resource: Any) -> bool:
        # The chart's Job makes the schema that is named after the resource, and no other.
        return resource.spec.provisioning == "Job" and self.database is _own_name

    def _by_operator(self, resource: Any, sight: Sight) -> Resolved:
        if (wait := self._refuse_move(resource, sight)) is not None:
            return Resolved(ready=False, waits=(wait,))
        account = sight(MariaDBAccount, self.account_of(resource))
        secret_name = account.spec.secret if account else names.account_secret(self.account_of(resource))
        children = self._children(resource, account, secret_name)
        secret = sight(Secret, secret_name)
        if secret is None:
            return Resolved(ready=False, children=children, secrets=(_new_secret(secret_name),))
        server = sight.provider(self.word, self.provided_by(resource))
        fact = self._fact(server, sight(MariaDBDatabase, self.database(resource)), account, secret)
        waits = (self._missing(server),) if server.offer is None else ()
        return Resolved(ready=fact is not None, fact=fact, children=children, waits=waits)

    def _refuse_move(self, resource: Any, sight: Sight) -> Wait | None:
        """Return why a schema stays where it is: on another server there would be an empty one.

        The field cannot be changed. But what it stands in can be removed and come back, as a cell or a whole resource.
        A label that names no server is only a label that somebody changed.
        """
        present, wanted = sight(MariaDBDatabase, self.database(resource)), self.provided_by(resource)
        server = present.metadata.labels.get(SERVER_LABEL, "") if present is not None else ""
        if present is None or server in ("", wanted) or sight.provider(self.word, server).offer is None:
            return None
        message = (
            f"MariaDBDatabase {present.metadata.name} is on Galera {server}, and spec.{self.instance} names {wanted}, "
            f"where it would be empty; name {server}, or delete the MariaDBDatabase to begin with an empty one"
        )
        return Wait("DatabaseElsewhere", message, self.made, ends=Ends.BY_USER)

    def _children(self, resource: Any, account: MariaDBAccount | None, secret: str) -> tuple[Child, ...]:
        name = self.database(resource)
        # An account that is there already keeps its name: on the server it cannot be renamed.
        user = account.spec.userName if account else names.database_user(self.account_of(resource))
        database = MariaDBDatabase(
            metadata=ObjectMeta(name=name, labels={SERVER_LABEL: self.provided_by(resource)}),
            spec=MariaDBDatabaseSpec(name=names.schema(name)),
        )
        wanted = MariaDBAccount(
            metadata=ObjectMeta(name=self.account_of(resource), labels={DATABASE_LABEL: name}),
            spec=MariaDBAccountSpec(userName=user, secret=secret),
        )
        return child(database, condition=self.made, kept=True), child(wanted, condition=self.login, kept=True)

    def _fact(
        self, server: Provider, database: MariaDBDatabase | None, account: MariaDBAccount | None, secret: Secret
    ) -> DatabaseFacts | None:
        """Return how to log in, once schema and account were made; that they cannot be seen now changes nothing."""
        # What is wrong with it, its account says.
        password = read_database_password(secret, secret.metadata.name, PASSWORD, "")
        at: DatabaseServer | None = server.offer
        if at is None or not at.hostname or isinstance(password, Wait):
            return None
        if database is None or not database.status.completed or account is None or not account.status.currentSecret:
            return None
        identity = database.status.hash.get(IDENTITY_KEY, FIRST)
        fact = DatabaseFacts(at.hostname, at.port, database.schema, account.spec.userName, password, server.name)
        return fact if identity == FIRST else replace(fact, identity=identity)

    def _by_job(self, resource: Any, sight: Sight) -> Resolved:
        """Return how the chart's own Job makes schema and account: no resource of ours stands for them."""
        secret_name = names.account_secret(self.account_of(resource))
        secret = sight(Secret, secret_name)
        if secret is None:
            return Resolved(ready=False, secrets=(_new_secret(secret_name),))
        server = sight.provider(self.word, self.provided_by(resource))
        at: DatabaseServer | None = server.offer
        if at is None or not at.started:
            wait = self._missing(server) if at is None else Wait("MariaDBServerNotReady", server.why, self.made)
            return Resolved(ready=False, waits=(wait,))
        password = read_database_password(secret, secret_name, PASSWORD, self.login)
        if isinstance(password, Wait):
            return Resolved(ready=False, waits=(password,))
        schema, user = names.schema(self.database(resource)), names.database_user(self.account_of(resource))
        fact = DatabaseFacts(at.hostname, at.port, schema, user, password, server.name)
        made = _job(at, fact, secret_name)
        # Another password is another Job, and its digest does not reveal it. So is another list of privileges: the Job
        # grants them to existing accounts.
        made["hash"] = digest({**made, "password": password, "privileges": sorted(sight.privileges)})
        return Resolved(ready=True, fact=fact, values={"provision": {"database": made}})

    def _missing(self, server: Provider) -> Wait:
        message = f"{server} does not exist; create it, or name another one in spec.{self.instance}"
        return Wait("MariaDBServerMissing", message, self.made, ends=Ends.BY_AUTHOR)

    def note_settled(self, resource: Any, sight: Sight) -> Iterator[Noted]:
        """Yield the version of the Secret on the account, if the server still accepts the former password, too."""
        name = self.credential_of(resource)
        account = sight(MariaDBAccount, name) if name else None
        secret = sight(Secret, account.spec.secret) if account and account.status.formerPasswordUsers else None
        if account is None or secret is None:
            return
        version = secret.metadata.resourceVersion
        if account.metadata.annotations.get(CONFIGURED_WITH) != version:
            yield Noted(account, CONFIGURED_WITH, version)

    def kept(self, resource: Any, sight: Sight) -> Iterator[Resource]:
        """Yield the schema, and the account where it is of this schema: another's rests or goes on with that one."""
        name = self.database(resource)
        account = sight(MariaDBAccount, self.account_of(resource))
        ours = account is not None and account.metadata.labels.get(DATABASE_LABEL) == name
        found = (sight(MariaDBDatabase, name), account if ours else None)
        yield from (item for item in found if item is not None and not_anothers(item, resource))

    def claims(self, resource: Any, sight: Sight) -> Iterator[Claim]:
        """Yield schema and account, as resources and on the server."""
        account, path, advice = self.account_of(resource), f"spec.{self.account}", "name another account"
        name, server = self.database(resource), sight.provider(self.word, self.provided_by(resource))
        yield claim_object(MariaDBDatabase, name)
        yield claim_object(MariaDBAccount, account, path, advice)
        yield claim_schema(names.schema(name), server)
        if sight(MariaDBAccount, account) is None:
            # One that is there speaks for its user itself.
            yield claim_object(Secret, names.account_secret(account), path, advice)
            yield claim_user(names.database_user(account), server, path, advice)

    def places(self, fact: DatabaseFacts) -> Places:
        """Return where the server is."""
        return ((fact.hostname, fact.port),)

    def pods(self, fact: DatabaseFacts) -> str:
        """Return what the server's pods are called."""
        return "mariadb"

    def retired(self, resource: Any, fact: Any, sight: Sight, known: Iterable[Resource]) -> Iterator[Retirement]:
        """Yield the accounts that the service used before."""
        for account in known:
            if not isinstance(account, MariaDBAccount) or account.deleting:
                continue
            metadata = account.metadata
            # One that the user made is used, and stays the user's.
            ours = made_for(account, resource) and metadata.labels.get(DATABASE_LABEL) == self.database(resource)
            if not ours or metadata.name == self.account_of(resource):
                continue
            yield self.retire(account, resource, sight)

    def logs_in_with(self, resource: Any, item: Resource) -> bool:
        """Return whether an account is of the schema: a former one goes when the service has rolled."""
        return isinstance(item, MariaDBAccount) and item.metadata.labels.get(DATABASE_LABEL) == self.database(resource)

    @classmethod
    def retire(cls, item: MariaDBAccount, resource: Any, sight: Sight) -> Retirement:
        """Return how an account goes that was made for a resource.

        The user at the server goes with its resource only when that says so, and only by the hand of its own
        controller: an account is first told so, and deleted when its controller holds it.
        """
        name = item.metadata.name
        # It is looked at, so that we are woken when its controller holds it.
        sight(MariaDBAccount, name)
        secret = sight(Secret, names.account_secret(name))
        generated = secret is not None and secret.metadata.annotations.get(GENERATED_FOR) == maker_of(resource)
        return Retirement(
            item,
            cls.retirement,
            prepare=None if item.metadata.finalizers else {"spec": {"deletionPolicy": "Delete"}},
            secret=secret if generated else None,
        )

    def imagine(self, resource: Any, world: Imagination) -> None:
        """Put the server there, where the user says that it is, or where it would be."""
        spec = {"storageClass": "", "storageRequest": "10G"}
        server = world.provider(self.word, self.provided_by(resource), spec)
        status, outside = server.status, world.outside
        host, port = outside.database_host or status.hostname, outside.database_port or status.port
        found = msgspec.structs.replace(status, hostname=host, port=port, bootstrapped=True)
        world.add(msgspec.structs.replace(server, status=found))

    def finish(self, resource: Any, made: Resource, world: Imagination) -> Resource:
        """Return schema and account as they are once they were made."""
        match made:
            case MariaDBDatabase():
                return msgspec.structs.replace(made, status=MariaDBDatabaseStatus(completed=True))
            case MariaDBAccount():
                return msgspec.structs.replace(made, status=MariaDBAccountStatus(currentSecret=made.spec.secret))
        return made

    def provision(self, resource: Any, facts: Any, sight: Sight) -> JsonObject:
        """Return what the chart's Job makes where no operator does: the resource's own schema, or one of several."""
        account = sight(MariaDBAccount, self.account_of(resource))
        server = sight.provider(self.word, self.provided_by(resource))
        assert account is not None  # noqa: S101  it was imagined
        made = _job(server.offer, self.fact_of(facts), account.spec.secret)
        made["hash"] = digest(made)
        # The one that is named after the resource is the only one of most services. Others are told apart by name.
        return {"database": made} if self.database is _own_name else {"databases": {self.database(resource): made}}


def claim_schema(name: str, server: Provider, path: str = NAME) -> Claim:
    """Return the claim on a schema of a server; to some servers, names that differ in case only are one."""
    advice = "name another schema" if path != NAME else ANOTHER_NAME
    return Claim("schema", name.casefold(), _scope(server), path, advice)


def claim_user(name: str, server: Provider, path: str, advice: str = "use another userName") -> Claim:
    """Return the claim on a user of a server."""
    return Claim("user", name, _scope(server), path, advice)


def _scope(server: Provider) -> str:
    """Return how a server is called: two resources that stand for one server are one."""
    at: DatabaseServer | None = server.offer
    return at.address if at is not None and at.address else str(server)


def _new_secret(name: str) -> NewSecret:
    return NewSecret(name, lambda source: {PASSWORD: source.password()})


def _job(server: DatabaseServer, fact: DatabaseFacts, secret: str) -> JsonObject:
    """Return what a chart's Job makes: a schema, and an account whose password is in a Secret."""
    return {
        "host": fact.hostname,
        "port": fact.port,
        "name": fact.schema,
        "admin": server.administrator,
        "account": {"username": fact.user, "secret": secret, "key": PASSWORD},
    }
