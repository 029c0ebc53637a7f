"""What a node knows of its cluster: the names of its peers, and how many there shall be."""

import http.client
import json
import os
import ssl
from pathlib import Path

ACCOUNT = Path(os.environ.get("SERVICE_ACCOUNT", "/var/run/secrets/kubernetes.io/serviceaccount"))
AMQP = 5672


class Unanswered(Exception):
    """The API server did not say how many nodes there shall be."""


def ordinal() -> int:
    """Return the number of this pod among its StatefulSet's."""
    return int(os.environ["POD_NAME"].rpartition("-")[2])


def host(number: int) -> str:
    """Return the name of the host of a node."""
    return f"{os.environ['STATEFUL_SET']}-{number}.{os.environ['NODES_SERVICE']}.{os.environ['POD_NAMESPACE']}.svc"


def node(number: int) -> str:
    """Return the name of a node, as Erlang has it."""
    return f"rabbit@{host(number)}"


def ask(path: str) -> tuple[int, bytes]:
    """Ask the API server; the token is renewed, so it is read again each time."""
    address, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
    try:
        context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
        connection = http.client.HTTPSConnection(address, port, context=context, timeout=10)
        token = (ACCOUNT / "token").read_text(encoding="utf-8").strip()
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        content = response.read()
        connection.close()
    except (OSError, http.client.HTTPException) as error:
        raise Unanswered(f"the API server cannot be asked: {error}") from error
    return response.status, content


def replicas() -> int | None:
    """Return how many nodes there shall be, None where the StatefulSet is going or gone."""
    namespace, name = os.environ["POD_NAMESPACE"], os.environ["STATEFUL_SET"]
    status, content = ask(f"/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}")
    if status == http.client.NOT_FOUND:
        return None
    if status != http.client.OK:
        raise Unanswered(f"the API server answered {status} for StatefulSet {name}")
    body = json.loads(content)
    return None if body["metadata"].get("deletionTimestamp") else int(body["spec"]["replicas"])
