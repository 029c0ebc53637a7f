"""What the pods ask of the API server: a ConfigMap through which they talk, and how many members there shall be."""

import http.client
import json
import os
import ssl
import urllib.parse
from pathlib import Path
from typing import Any

Json = dict[str, Any]

ACCOUNT = Path(os.environ.get("SERVICE_ACCOUNT", "/var/run/secrets/kubernetes.io/serviceaccount"))
TIMEOUT = 10


class Unanswered(Exception):
    """The API server did not give what was asked for; `code` is its answer, 0 where there was none."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


def _read(name: str) -> str:
    # The token is renewed while we run, so it is read again for each request.
    return (ACCOUNT / name).read_text(encoding="utf-8").strip()


def call(method: str, path: str, body: Json | None = None) -> Json:
    """Ask the API server and return its answer."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
    try:
        headers = {"Authorization": f"Bearer {_read('token')}", "Content-Type": "application/merge-patch+json"}
        context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
        connection = http.client.HTTPSConnection(host, port, context=context, timeout=TIMEOUT)
        connection.request(method, path, body=None if body is None else json.dumps(body), headers=headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        if response.status == http.client.OK:
            answer: Json = json.loads(content)
            return answer
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Unanswered(f"{method} {path}: {error}") from error
    raise Unanswered(f"{method} {path}: {response.status} {response.reason}", response.status)


class StateMap:
    """The ConfigMap through which the pods talk. `data` is what was last read."""

    def __init__(self, name: str) -> None:
        self.data: dict[str, str] = {}
        self._version = ""
        self._path = f"/api/v1/namespaces/{_read('namespace')}/configmaps/{name}"

    def read(self) -> dict[str, str]:
        """Read it anew and return its data."""
        return self._took(call("GET", self._path))

    def write(self, changes: dict[str, str | None], *, checked: bool = False) -> dict[str, str]:
        """Set keys, None removes one; `checked` refuses if somebody changed it since it was read. Return the data."""
        if all(self.data.get(key) == value for key, value in changes.items()):
            return self.data
        body: Json = {"data": changes}
        if checked:
            body["metadata"] = {"resourceVersion": self._version}
        return self._took(call("PATCH", self._path, body))

    def _took(self, answer: Json) -> dict[str, str]:
        self.data = answer.get("data") or {}
        self._version = answer["metadata"]["resourceVersion"]
        return self.data


def read_workload(kind: str, name: str) -> Json | None:
    """Return a workload; None if it is being deleted or is gone."""
    try:
        body = call("GET", f"/apis/apps/v1/namespaces/{_read('namespace')}/{kind}/{name}")
    except Unanswered as error:
        if error.code == http.client.NOT_FOUND:
            return None
        raise
    return None if body["metadata"].get("deletionTimestamp") else body


def replicas(stateful_set: str) -> int | None:
    """Return how many members there shall be; None if the StatefulSet is being deleted or is gone."""
    body = read_workload("statefulsets", stateful_set)
    return int(body["spec"]["replicas"]) if body is not None else None


def nodes_of(workload: Json) -> set[str]:
    """Return the nodes on which a workload has pods."""
    labels = ",".join(f"{key}={value}" for key, value in sorted(workload["spec"]["selector"]["matchLabels"].items()))
    query = urllib.parse.urlencode({"labelSelector": labels})
    found = call("GET", f"/api/v1/namespaces/{_read('namespace')}/pods?{query}")["items"]
    return {pod["spec"]["nodeName"] for pod in found if pod["spec"].get("nodeName")}


def exists(kind: str, name: str) -> bool:
    """Return whether a workload is there, and shall stay."""
    return read_workload(kind, name) is not None
