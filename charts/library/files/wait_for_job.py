"""Wait until a Job is complete. A ConfigMap says which one, so that the waiting pod need not change with its name."""

import http.client
import json
import os
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ACCOUNT = Path(os.environ.get("SERVICE_ACCOUNT", "/var/run/secrets/kubernetes.io/serviceaccount"))
# Seconds after which the Job's name is read again, and between two tries.
WATCH = 30
PAUSE = 2.0


class Answer(Exception):
    """The API server did not give what was asked for."""


def read(name: str) -> str:
    """Read a file of the service account; the token is renewed, so it is read again for each request."""
    return (ACCOUNT / name).read_text(encoding="utf-8").strip()


def get(path: str) -> Iterator[dict[str, Any]]:
    """Ask the API server, and give the lines of its answer as they come."""
    context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
    connection = http.client.HTTPSConnection(host, port, context=context, timeout=WATCH + 10)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {read('token')}"})
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise Answer(f"{path.partition('?')[0]}: {response.status} {response.reason}")
        for line in response:
            yield json.loads(line)
    finally:
        connection.close()


def name_of(job: str) -> str:
    """Look up the Job's full name."""
    path = f"/api/v1/namespaces/{read('namespace')}/configmaps/{os.environ['CONFIG_MAP']}"
    for config_map in get(path):
        if job in config_map.get("data", {}):
            return str(config_map["data"][job])
    raise Answer(f"ConfigMap {os.environ['CONFIG_MAP']} names no Job {job}")


def states(name: str) -> Iterator[str]:
    """Watch the Job: its present state comes first, or nothing while there is none."""
    path = f"/apis/batch/v1/namespaces/{read('namespace')}/jobs"
    for event in get(f"{path}?watch=true&timeoutSeconds={WATCH}&fieldSelector=metadata.name%3D{name}"):
        if event["type"] == "ERROR":
            raise Answer(event["object"].get("message", "the watch ended with an error"))
        if event["type"] == "DELETED":
            return
        conditions = event["object"].get("status", {}).get("conditions", [])
        ended = [one["type"] for one in conditions if one["status"] == "True" and one["type"] in {"Complete", "Failed"}]
        yield ended[0] if ended else "Running"


def wait(job: str, said: set[str]) -> bool:
    """Follow the Job for a while; true when it is complete."""
    name = name_of(job)
    say(f"Waiting for Job {name}", said)
    for state in states(name):
        if state == "Complete":
            say(f"Job {name} is complete", said)
            return True
        if state == "Failed":
            say(f"Job {name} has failed, its log says why; waiting for another in its place", said)
    return False


def say(text: str, said: set[str]) -> None:
    """Say it, if it was not said before."""
    if text not in said:
        print(text, flush=True)
    said.add(text)


def main() -> None:
    """Wait, through whatever happens to the connection."""
    said: set[str] = set()
    while True:
        try:
            if wait(os.environ["JOB"], said):
                return
        except (Answer, OSError, ValueError, http.client.HTTPException) as error:
            say(f"Trying again: {error}", said)
            time.sleep(PAUSE)


if __name__ == "__main__":
    main()
