"""Say whether the node serves: it runs, no alarm stops its publishers, and it is not apart from the others."""

import base64
import http.client
import json
import socket
import sys
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cluster

USER = Path("/etc/rabbitmq/conf.d/20-default-user.conf")
MANAGEMENT = 15672
COLUMNS = "running,mem_alarm,disk_free_alarm,partitions"


def login(text: str) -> dict[str, str]:
    """Return the default user's header; the text has RabbitMQ's own form."""
    pairs = [line.split("=", 1) for line in text.splitlines() if "=" in line]
    values = {name.strip(): value.strip() for name, value in pairs}
    credentials = f"{values['default_user']}:{values['default_pass']}"
    return {"Authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"}


def trouble(status: int, body: Mapping[str, Any]) -> str:
    """Return what is wrong with a node according to the management API, an empty text where nothing is."""
    if status == http.client.UNAUTHORIZED:
        # It runs. The user may have been changed by hand since the first start; the rest cannot be asked then.
        return ""
    if status != http.client.OK:
        return f"the management API answers {status}"
    problems = [name for name in ("mem_alarm", "disk_free_alarm") if body.get(name)]
    problems += ["partitioned from others"] if body.get("partitions") else []
    problems += [] if body.get("running") else ["not running"]
    return ", ".join(problems)


def ask() -> str:
    """Ask the node itself, and return what is wrong with it."""
    name = urllib.parse.quote(cluster.node(cluster.ordinal()), safe="")
    try:
        socket.create_connection(("127.0.0.1", cluster.AMQP), timeout=5).close()
        connection = http.client.HTTPConnection("127.0.0.1", MANAGEMENT, timeout=8)
        headers = login(USER.read_text(encoding="utf-8"))
        connection.request("GET", f"/api/nodes/{name}?columns={COLUMNS}", headers=headers)
        response = connection.getresponse()
        content = response.read()
        return trouble(response.status, json.loads(content) if response.status == http.client.OK else {})
    except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
        return f"the node does not answer ({type(error).__name__})"


def main() -> int:
    """Say what is wrong, if anything is."""
    problem = ask()
    if problem:
        print(problem)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
