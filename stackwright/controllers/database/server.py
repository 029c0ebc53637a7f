"""The server that has a schema or an account, and how the operator logs in there."""

from dataclasses import dataclass, field

from stackwright.adapters.errors import AdapterError
from stackwright.adapters.mariadb import Connect, MariaDB, ServerLogin
from stackwright.adapters.mariadb_marks import Thing
from stackwright.api.mariadb import PORT
from stackwright.blueprint.secret_values import read_database_password, read_value
from stackwright.controllers import ownership
from stackwright.controllers.absent_servers import Absent, explained
from stackwright.controllers.database.marks import Holding
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.looks import Interests, Looker
from stackwright.kube.builtin import Secret
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.resource import CustomResource, Key
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.mariadb.service import ROOT_PENDING, root_pending, root_secret

SERVER_READY = "MariaDBServerReady"

# Seconds after which a server that did not answer is tried again.
TRY_AGAIN = 1.0
ROOT = "root"


@dataclass(frozen=True)
class World:
    """What the controllers of databases work with."""

    context: Context
    dialler: Dialler
    connect: Connect
    interests: Interests

    def looker(self, resource: CustomResource) -> Looker:
        """Return the looker for a pass over a resource; use it for every read before the first await."""
        return self.interests.begin(resource, self.context)

    def foreign(self, resource: CustomResource, condition: str) -> Blocked | None:
        """Return the error if another resource owns the schema or the user; None if none does."""
        return ownership.refusal(resource, self.context, {"spec.name": condition, "spec.userName": condition})

    async def holding(self, resource: CustomResource, session: MariaDB, server: "Server", thing: Thing) -> Holding:
        """Return who owns a schema or a user, as its server records it."""
        mark = await session.mark(thing)
        namespace, _, name = mark.owner.partition("/") if mark is not None else ("", "", "")
        here = namespace == resource.metadata.namespace
        gone = here and self.context.store(type(resource)).get(Key(namespace, name)) is None
        return Holding(mark, gone=gone, galera=server.uid, external=server.external)

    async def session(self, server: "Server") -> MariaDB:
        """Return a session with the server, reached from where this program runs."""
        try:
            host = await self.dialler.address(server.host)
        except Retry as error:
            raise Retry(str(error), reason=error.reason, condition=SERVER_READY) from error
        return self.connect(ServerLogin(host, server.port, server.user, server.password))


@dataclass(frozen=True)
class Server:
    """A server that accepts clients, and its administrator's login."""

    name: str
    host: str
    port: int
    user: str
    password: str = field(repr=False)
    source: str = ""
    multi_master: bool = False
    # The uid of the Galera; several clusters may use the same external server.
    uid: str = ""
    external: bool = False

    def explain(self, error: AdapterError, condition: str = SERVER_READY) -> Exception:
        """Return the error that a reconcile raises for an adapter's error."""
        source = f"Galera {self.name} takes it from {self.source}"
        return explained(error, condition, login=SERVER_READY, source=source, again=TRY_AGAIN)


def find_server(name: str, look: Looker) -> Server | Absent:
    """Return the server of a Galera in the namespace of the resource, or why there is none."""
    galera = look(Galera, name)
    if galera is None:
        message = f"Galera {name} does not exist; create it, or correct the label that names it"
        return Absent(Wait("MariaDBServerMissing", message, SERVER_READY, ends=Ends.BY_AUTHOR), gone=True)
    if galera.deleting:
        return Absent(Wait("MariaDBServerGoing", f"Galera {name} is being deleted", SERVER_READY), gone=True)
    if galera.spec.external is None and not galera.status.bootstrapped:
        return Absent(Wait("MariaDBServerNotReady", f"Galera {name} does not accept clients yet", SERVER_READY))
    if galera.spec.external is None and (pending := root_pending(galera, look)):
        # Nobody has to act: not asked, it does not refuse.
        return Absent(Wait(ROOT_PENDING, f"Galera {name}: {pending}", SERVER_READY))
    return _login(galera, look)


def _login(galera: Galera, look: Looker) -> Server | Absent:
    name, external = galera.metadata.name, galera.spec.external
    host = galera.status.hostname or f"{name}.{galera.metadata.namespace}.svc"
    port = galera.status.port or PORT
    if external is not None:
        host, port, source, key = external.hostname, external.port, external.secret, "password"
    else:
        source, key = root_secret(galera)
    secret = look(Secret, source)
    password = read_database_password(secret, source, key, SERVER_READY)
    user = ROOT if external is None else read_value(secret, source, "username", SERVER_READY)
    for value in (password, user):
        if isinstance(value, Wait):
            return Absent(value)
    return Server(
        name,
        host,
        port,
        str(user),
        str(password),
        f"Secret {source}, key {key}",
        galera.spec.enableMultiMaster,
        galera.metadata.uid,
        external is not None,
    )
