"""What a node asks of the API server: the ConfigMap of the cluster's state, and the nodes' pods."""

import http.client
import json
import os
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]

ACCOUNT = Path(os.environ.get("SERVICE_ACCOUNT", "/var/run/secrets/kubernetes.io/serviceaccount"))
TIMEOUT = 10
WATCH_SECONDS = 5
# The code of a refused write: somebody changed the ConfigMap since it was read.
CONFLICT = http.client.CONFLICT


class Unanswered(Exception):
    """The API server did not give what was asked for; `code` is its answer, 0 where there was none."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


def _read(name: str) -> str:
    # The token is renewed while we run, so it is read again for each request.
    return (ACCOUNT / name).read_text(encoding="utf-8").strip()


def lines(method: str, path: str, body: Json | None = None) -> Iterator[Json]:
    """Ask the API server and give the lines of its answer, decoded, as they come."""
    headers = {"Authorization": f"Bearer {_read('token')}", "Content-Type": "application/merge-patch+json"}
    context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
    connection = http.client.HTTPSConnection(host, port, context=context, timeout=WATCH_SECONDS + TIMEOUT)
    try:
        connection.request(method, path, body=None if body is None else json.dumps(body), headers=headers)
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise Unanswered(f"{method} {path.partition('?')[0]}: {response.status} {response.reason}", response.status)
        for line in response:
            yield json.loads(line)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Unanswered(f"{method} {path.partition('?')[0]}: {error}") from error
    finally:
        connection.close()


def call(method: str, path: str, body: Json | None = None) -> Json:
    """Ask the API server and return its answer."""
    return next(lines(method, path, body), {})


class StateMap:
    """The ConfigMap through which the nodes talk. `data` and `version` are what was last read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.data: dict[str, str] = {}
        self.version = ""
        self._collection = f"/api/v1/namespaces/{_read('namespace')}/configmaps"

    def read(self) -> dict[str, str]:
        """Read it anew and return its data."""
        return self._took(call("GET", f"{self._collection}/{self.name}"))

    def changed(self) -> dict[str, str]:
        """Wait a few seconds for a change, and return the data after it or as it is."""
        query = f"fieldSelector=metadata.name%3D{self.name}&resourceVersion={self.version}"
        call("GET", f"{self._collection}?watch=true&timeoutSeconds={WATCH_SECONDS}&{query}")
        return self.read()

    def write(self, changes: dict[str, str | None], *, checked: bool = False) -> dict[str, str]:
        """Set keys, None removes one; `checked` refuses when somebody changed it since it was read. Return the data."""
        if all(self.data.get(key) == value for key, value in changes.items()):
            return self.data
        body: Json = {"data": changes}
        if checked:
            body["metadata"] = {"resourceVersion": self.version}
        return self._took(call("PATCH", f"{self._collection}/{self.name}", body))

    def _took(self, answer: Json) -> dict[str, str]:
        self.data = answer.get("data") or {}
        self.version = answer["metadata"]["resourceVersion"]
        return self.data


class Pods:
    """The nodes' pods: whether they run, and their labels."""

    def __init__(self, label: str) -> None:
        self.label = label
        self._collection = f"/api/v1/namespaces/{_read('namespace')}/pods"

    def _read(self, pod: str) -> Json:
        """Return a pod, nothing for one that is not there."""
        try:
            return call("GET", f"{self._collection}/{pod}")
        except Unanswered as error:
            if error.code == http.client.NOT_FOUND:
                return {}
            raise

    def away(self, pods: Mapping[str, str]) -> frozenset[str]:
        """Return which of these do not run any more. The value is the uid of the pod that ran, if that is known."""
        return frozenset(pod for pod, uid in pods.items() if not _runs(self._read(pod), uid))

    def has(self, pod: str) -> bool:
        """Return whether a pod has the label; one that is not there has not."""
        return self.label in self._read(pod).get("metadata", {}).get("labels", {})

    def mark(self, pod: str, *, marked: bool) -> None:
        """Set or remove the label where it is not so already."""
        if self.has(pod) != marked:
            body = {"metadata": {"labels": {self.label: "true" if marked else None}}}
            call("PATCH", f"{self._collection}/{pod}", body)


def _runs(pod: Json, uid: str) -> bool:
    """Return whether a pod is the one that ran, and is not being deleted."""
    metadata = pod.get("metadata", {})
    if "deletionTimestamp" in metadata:
        return False
    if uid:
        return bool(metadata.get("uid") == uid)
    # Programs of before do not tell their pod's uid.
    containers = pod.get("status", {}).get("containerStatuses", ())
    return any("running" in container.get("state", {}) for container in containers)
