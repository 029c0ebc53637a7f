"""Make a schema and the account that uses it; what is there already stays, the account gets the Secret's password."""

import os
import sys
import time
from typing import Any

import pymysql

# Seconds that the server may take to come up, before the Job counts this try as failed.
PATIENCE = 300
PAUSE = 2
# As in a MariaDBDatabase that names none.
TEXT = ("utf8", "utf8_general_ci")
ACCESS_DENIED = (1044, 1045, 1698)


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


def main() -> None:
    """Say what should be; each statement is true again when it is run again."""
    name, username, password = (os.environ[key] for key in ("DATABASE_NAME", "ACCOUNT_USERNAME", "ACCOUNT_PASSWORD"))
    account = (username, password)
    # In a grant, _ and % stand for any character.
    pattern = name.replace("_", r"\_").replace("%", r"\%")
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_notes = %s", (0,))
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {quoted(name)} CHARACTER SET %s COLLATE %s", TEXT)
        cursor.execute("CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", account)
        cursor.execute("ALTER USER %s@'%%' IDENTIFIED BY %s", account)
        cursor.execute(f"GRANT ALL PRIVILEGES ON {quoted(pattern)}.* TO %s@'%%'", (username,))
    print(f"Schema {name} and account {username} are there")


if __name__ == "__main__":
    main()
