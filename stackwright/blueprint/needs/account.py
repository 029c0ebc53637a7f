"""A database that another resource has made: the spec names the host, and the account that logs in."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from stackwright.api import paths
from stackwright.api.base import Resource
from stackwright.api.mariadb import DATABASE_LABEL, PORT, SERVER_LABEL, MariaDBAccount, MariaDBDatabase
from stackwright.blueprint.needs.database import DATABASE, PASSWORD, DatabaseFacts
from stackwright.blueprint.needs.need import Need, Places, Resolved
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import read_database_password
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait


@dataclass(frozen=True, kw_only=True)
class Account(Need):
    """The schema of the MariaDBAccount that the field at `account` names, on the host that stands at `hostname`.

    `instead` is the field by which a Secret can give the same.
    """

    hostname: str
    account: str
    instead: str = ""
    condition: str = "InputReady"
    labelled: ClassVar[bool] = True
    reads: ClassVar[tuple[type[Resource], ...]] = (Secret, MariaDBDatabase, MariaDBAccount)

    @property
    def word(self) -> str:
        """The word of what is connected to."""
        return DATABASE

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return how to log in, once the account and its schema were made."""
        name = str(paths.find(resource.spec, self.account))
        account = sight(MariaDBAccount, name)
        if account is None:
            advice = f", or give the database as a Secret in spec.{self.instead}" if self.instead else ""
            return self._wait(
                "AccountMissing", f"MariaDBAccount {name} does not exist; create it{advice}", Ends.BY_AUTHOR
            )
        host = str(paths.find(resource.spec, self.hostname) or "")
        if not host:
            message = f"spec.{self.hostname} is empty; say where the database of MariaDBAccount {name} is"
            return self._wait("HostnameMissing", message, Ends.BY_USER)
        database = sight(MariaDBDatabase, account.metadata.labels.get(DATABASE_LABEL, ""))
        if not account.status.currentSecret or database is None:
            return self._wait("AccountNotReady", f"MariaDBAccount {name} is not ready yet")
        secret = account.spec.secret
        password = read_database_password(sight(Secret, secret), secret, PASSWORD, self.condition)
        if isinstance(password, Wait):
            return Resolved(ready=False, waits=(password,))
        server = database.metadata.labels.get(SERVER_LABEL, "")
        fact = DatabaseFacts(host, PORT, database.spec.name, account.spec.userName, password, server)
        return Resolved(ready=True, fact=fact)

    def _wait(self, reason: str, message: str, ends: Ends = Ends.BY_ITSELF) -> Resolved:
        return Resolved(ready=False, waits=(Wait(reason, message, self.condition, ends=ends),))

    def used(self, resource: Any, sight: Sight) -> Iterator[Secret]:
        """Yield nothing: an account is retired by whoever made it."""
        return iter(())

    def server(self, resource: Any, fact: Any) -> str:
        """Return the server of the account."""
        return str(fact.server) if fact is not None else ""

    def places(self, fact: DatabaseFacts) -> Places:
        """Return where the server is."""
        return ((fact.hostname, fact.port),)

    def pods(self, fact: DatabaseFacts) -> str:
        """Return what the server's pods are called."""
        return "mariadb"
