"""Make a schema and the account that uses it; what is there already stays, the account gets the Secret's password."""

import os
import re
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

import pymysql

# Seconds that the server may take to come up, before the Job counts this try as failed.
PATIENCE = 300
PAUSE = 2
# As in a MariaDBDatabase that names none.
TEXT = ("utf8", "utf8_general_ci")
ACCESS_DENIED = (1044, 1045, 1698)

# What a service does in its schema, as in a MariaDBAccount.
NEEDED = (
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "ALTER",
    "DROP",
    "INDEX",
    "REFERENCES",
    "LOCK TABLES",
    "CREATE TEMPORARY TABLES",
    "TRIGGER",
)
# The server's own. Some servers do not tell upper from lower case in names of schemas, and all of them leave out the
# blanks at the end of a user's name.
SYSTEM_SCHEMAS = ("mysql", "sys", "information_schema", "performance_schema", "stackwright_ledger")
SYSTEM_USERS = ("root", "mysql", "public", "debian-sys-maint", "event_scheduler")
SYSTEM_PREFIXES = ("mysql.", "mariadb.")
AROUND = " \t\r\n\v\f\0`'\""
SCHEMA = re.compile(r"[0-9a-zA-Z_$-]{1,64}")


def bare(name: str) -> str:
    """Return a name without blanks and quotes around it, and without a difference between upper and lower case."""
    return unicodedata.normalize("NFKC", name).strip(AROUND).casefold().removeprefix("#mysql50#").strip(AROUND)


def problems(name: str, username: str, admin: str) -> Iterator[str]:
    """Yield what is wrong with the names of schema and account, and what to do."""
    user = bare(bare(username).partition("@")[0])
    if bare(name) in SYSTEM_SCHEMAS:
        yield f"provision.database.name: {name} is a schema of the server itself; choose another name"
    elif not SCHEMA.fullmatch(name):
        yield f"provision.database.name: {name!r} is no name for a schema; use letters, digits, _, $ and -, at most 64"
    if user in (*SYSTEM_USERS, bare(admin)) or user.startswith(SYSTEM_PREFIXES):
        yield f"provision.database.account.username: {username} is the server's own; choose another name"
    elif not username or username != username.strip() or not username.isprintable():
        yield (
            f"provision.database.account.username: {username!r} is no name that the server keeps as it is; use "
            "printable characters, and no blank at the beginning or the end"
        )


def connect() -> Any:
    """Connect as the administrator, once the server answers."""
    user, password = os.environ["ADMIN_USERNAME"], os.environ["ADMIN_PASSWORD"]
    host, port = os.environ["DATABASE_HOST"], int(os.environ["DATABASE_PORT"])
    end = time.monotonic() + PATIENCE
    said = ""
    while True:
        try:
            return pymysql.connect(host=host, port=port, user=user, password=password, connect_timeout=10)
        except pymysql.err.OperationalError as error:
            if error.args[0] in ACCESS_DENIED:
                sys.exit(f"{host} refuses user {user}: provision.database.admin must name a Secret with its password")
            if time.monotonic() > end:
                sys.exit(f"{host}:{port} did not answer for {PATIENCE} s: {error.args[-1]}")
            if said != (said := f"Waiting for {host}:{port}: {error.args[-1]}"):
                print(said, flush=True)
        time.sleep(PAUSE)


def quoted(name: str) -> str:
    """Quote an identifier for a statement with arguments."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def pattern(name: str) -> str:
    """Return a schema's name as a grant reads it: there, _ and % stand for any character."""
    return name.replace("_", r"\_").replace("%", r"\%")


def excess(name: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    """Return which privileges in the schema an account has and no service needs; earlier charts gave all of them."""
    given = {privilege for schema, privilege in rows if schema == pattern(name)}
    return sorted(given - {*NEEDED, "USAGE"})


def main() -> None:
    """Say what should be; each statement is true again when it is run again."""
    name, username, password = (os.environ[key] for key in ("DATABASE_NAME", "ACCOUNT_USERNAME", "ACCOUNT_PASSWORD"))
    found = list(problems(name, username, os.environ["ADMIN_USERNAME"]))
    if found:
        sys.exit("\n".join(found))
    account = (username, password)
    scope = f"{quoted(pattern(name))}.*"
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_notes = %s", (0,))
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {quoted(name)} CHARACTER SET %s COLLATE %s", TEXT)
        cursor.execute("CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", account)
        cursor.execute("ALTER USER %s@'%%' IDENTIFIED BY %s", account)
        cursor.execute(f"GRANT {', '.join(NEEDED)} ON {scope} TO %s@'%%'", (username,))
        listed = (
            "SELECT TABLE_SCHEMA, PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE BINARY GRANTEE = %s"
        )
        cursor.execute(listed, (f"'{username}'@'%'",))
        if more := excess(name, cursor.fetchall()):
            cursor.execute(f"REVOKE {', '.join(more)} ON {scope} FROM %s@'%%'", (username,))
    print(f"Schema {name} and account {username} are there")


if __name__ == "__main__":
    main()
