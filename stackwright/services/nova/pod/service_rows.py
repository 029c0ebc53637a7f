"""Runs in a job's pod: deletes the rows of services whose pods are gone, or empties computes before they go.

It touches the hosts that HOSTS names, each as binary/host, and no other. WITNESSES names hosts of the same cell that
stay; it is not set where the whole cell goes. This text runs in Nova's own Python.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

LOGIN = Path("/etc/nova/login.json")
# A service counts as up for a minute after its last sign of life; its pod may need a while to end.
TRIES, PAUSE = 18, 10.0
GONE, CONFLICT = 404, 409
# The first microversion that lists computes of a cell whose database does not answer. Others leave them out. None lists
# its conductors and schedulers, nor computes that are not mapped.
DOWN_CELLS = "2.69"
REASON = "Its cell is being removed"


with contextlib.suppress(ImportError):  # Only Nova's Python has it; what is tested elsewhere does without.
    from keystoneauth1 import adapter, session  # type: ignore[import-not-found]  # as said
    from keystoneauth1.identity import generic  # type: ignore[import-not-found]  # as said


class UnreadError(Exception):
    """What is asked for cannot be known now."""


def connect() -> Any:
    """Return Nova's API; the microversion is the first in which rows of all cells have an id of their own."""
    login = json.loads(LOGIN.read_text(encoding="utf-8"))
    region = login.pop("region_name")
    return adapter.Adapter(
        session.Session(auth=generic.Password(**login)),
        service_type="compute",
        interface="internal",
        region_name=region,
        default_microversion="2.53",
        raise_exc=False,
    )


def find_rows(api: Any, hosts: Collection[str], witnesses: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return the rows of these hosts; give up if Nova cannot read some of them now.

    That one is missing says nothing as long as no row of its cell is read. Without `witnesses` nobody minds: a compute
    that is not mapped has never had servers, and goes with its cell.
    """
    answer = api.get("/os-services", microversion=DOWN_CELLS)
    answer.raise_for_status()
    listed = [(f"{row['binary']}/{row['host']}", row) for row in answer.json()["services"]]
    rows = [row for host, row in listed if host in hosts]
    if unread := sorted(row["host"] for row in rows if row["status"] == "UNKNOWN"):
        raise UnreadError(f"Nova cannot read the database of the cell of {', '.join(unread)}; bring it back first")
    read = {host for host, row in listed if row["status"] != "UNKNOWN"}
    if witnesses is not None and (missing := sorted(set(hosts) - read)) and read.isdisjoint({*hosts, *witnesses}):
        raise UnreadError(
            f"Nova lists no service of the cell of {', '.join(missing)}, so it may not reach the cell's database; "
            "bring that back, or start a service of the cell"
        )
    return rows


def delete_rows(
    api: Any,
    hosts: Collection[str],
    sleep: Callable[[float], None] = time.sleep,
    witnesses: Collection[str] | None = None,
) -> str:
    """Delete the rows of hosts as soon as they are down; return why one of them stays, "" if none does."""
    refused: dict[str, str] = {}
    left: list[str] = []
    for attempt in range(TRIES):
        if attempt:
            sleep(PAUSE)
        rows = [row for row in find_rows(api, hosts, witnesses) if row["host"] not in refused]
        left = []
        for row in rows:
            if row["state"] != "down":
                left.append(row["host"])
                continue
            answer = api.delete(f"/os-services/{row['id']}")
            if answer.status_code == CONFLICT:
                refused[row["host"]] = answer.json()["conflictingRequest"]["message"]
            elif answer.status_code != GONE:
                answer.raise_for_status()
        if not left:
            break
    if refused:
        return "; ".join(f"Nova keeps {host}: {why}" for host, why in sorted(refused.items()))
    return f"These still run: {', '.join(sorted(left))}" if left else ""


def empty_hosts(api: Any, hosts: Collection[str], sleep: Callable[[float], None] = time.sleep) -> str:
    """Keep new servers from hosts, and return which of them have servers, "" if none does.

    Those that have some are as before then: their cell stays.
    """
    rows = find_rows(api, hosts)
    enabled = [row for row in rows if row["status"] == "enabled"]
    for row in enabled:
        _set(api, row, {"status": "disabled", "disabled_reason": REASON})
    if enabled:
        # A server that was given a host just before is soon seen there.
        sleep(PAUSE)
    busy = []
    for row in rows:
        answer = api.get("/servers", params={"all_tenants": "1", "host": row["host"], "limit": "1"})
        answer.raise_for_status()
        if answer.json()["servers"]:
            busy.append(row["host"])
    if not busy:
        try:
            # Servers of a cell whose database went away meanwhile are not listed.
            find_rows(api, hosts)
        except UnreadError:
            for row in enabled:
                api.put(f"/os-services/{row['id']}", json={"status": "enabled"})
            raise
        return ""
    for row in rows:
        if row in enabled or row.get("disabled_reason") == REASON:
            _set(api, row, {"status": "enabled"})
    return f"These hosts have servers: {', '.join(sorted(busy))}; delete or migrate them"


def _set(api: Any, row: dict[str, Any], change: dict[str, str]) -> None:
    api.put(f"/os-services/{row['id']}", json=change).raise_for_status()


def main() -> None:
    """Do what the command line says to the hosts of the environment."""
    staying = os.environ.get("WITNESSES")
    witnesses = staying.split() if staying is not None else None
    acts: dict[str, Callable[..., str]] = {"delete": partial(delete_rows, witnesses=witnesses), "empty": empty_hosts}
    try:
        sentence = acts[sys.argv[1]](connect(), frozenset(os.environ["HOSTS"].split()))
    except UnreadError as error:
        sentence = str(error)
    if sentence:
        sys.stderr.write(f"{sentence}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
