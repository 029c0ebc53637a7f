"""What is in a namespace, less what differs between two runs that came to the same: uids, versions, times."""

import base64
import gzip
import json
import re
from collections.abc import Iterable
from typing import Any

from stackwright import services
from stackwright.api.annotations import CONFIGURED_WITH, GENERATED_FOR
from stackwright.blueprint.use import CONTENT
from stackwright.controllers import release
from stackwright.controllers.controlplane import passwords
from stackwright.kube import paths
from stackwright.kube.builtin import ReplicaSet, Secret
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject, Kind, Resource
from stackwright.kube.transport import Call
from tests.functional.clockwork import is_by_clock

_DROPPED = {
    "uid",
    "resourceVersion",
    "generation",
    "observedGeneration",
    "managedFields",
    "creationTimestamp",
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "healthCheckNodePort",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastScheduleTime",
    "startTime",
    "completionTime",
    "stackwright/applied-configuration",
    CONFIGURED_WITH,
    "openstack.org/turned-at",
    "openstack.org/primary-until",
    "batch.kubernetes.io/controller-uid",
    "controller-uid",
    "modifiedAt",
    "first_deployed",
    "last_deployed",
    "pod-template-hash",
    "volumeName",
    "volume.kubernetes.io/selected-node",
}
# What is on a Secret whose content was made up.
_GENERATED = {GENERATED_FOR, passwords.GENERATED}
_DIGESTS = {"openstack.org/release-digest", CONTENT}
# The fields of statuses that are maps of hashes.
_HASHES = ("hash", "registeredCells", "discoveredCells")
# The hash of a pod template at the end of a name: a number of up to ten digits, so it may be shorter, in the letters
# in which Kubernetes writes it, of which no word is made.
_TEMPLATE = "-[bcdfghjklmnpqrstvwxz2456789]{4,10}$"


async def everything(client: Client, namespace: str) -> dict[str, JsonObject]:
    """Return the objects of a namespace by kind and name, as they compare between runs."""
    listed: tuple[type[Resource], ...] = (*release.KINDS, *services.kinds(), ReplicaSet)
    kinds = {kind.kind for kind in listed}
    listed_all = [item for kind in sorted(kinds, key=str) for item in await _listed(client, kind, namespace)]
    found = list(_readable(listed_all))
    text = json.dumps(found, sort_keys=True).replace(namespace, "NAMESPACE")
    for name, value in _hashes(found):
        text = text.replace(value, f"HASH-OF-{name}")
    return {f"{item['kind']}/{_name(item)}": _normal(_ours(item)) for item in json.loads(text)}


async def credentials(client: Client, namespace: str) -> dict[str, str]:
    """Return what was generated to log in or to encrypt with, as it stands in the Secrets, by where it stands."""
    return {place: value for value, place in _generated(await _listed(client, Secret.kind, namespace)).items()}


def _generated(found: Iterable[JsonObject]) -> dict[str, str]:
    """Return where each generated value stands."""
    return {
        value: f"{item['metadata']['name']}/{key}"
        for item in found
        if item["kind"] == "Secret" and _GENERATED & item["metadata"].get("annotations", {}).keys()
        for key, value in _decoded(item).items()
    }


def _readable(found: list[JsonObject]) -> Iterable[JsonObject]:
    """Yield Secrets as texts in which a generated value is where it comes from: it is another one in every run."""
    places = sorted(_generated(found).items(), key=lambda entry: -len(entry[0]))
    for item in found:
        if item["kind"] != "Secret" or "release" in (item.get("data") or {}):
            yield item
            continue
        texts = _decoded(item)
        for value, place in places:
            texts = {key: text.replace(value, f"THE-VALUE-OF-{place}") for key, text in texts.items()}
        yield {**item, "data": texts}


def _decoded(item: JsonObject) -> dict[str, str]:
    return {key: base64.b64decode(value).decode() for key, value in (item.get("data") or {}).items()}


def _ours(item: JsonObject) -> JsonObject:
    """Return an object without a status that Kubernetes writes: it names what is random, and is not ours."""
    ours = item["kind"] in {kind.kind.name for kind in services.kinds()}
    return item if ours else {key: value for key, value in item.items() if key != "status"}


# A status has the digest of a release record under the same key.
_LONGEST_DIGEST = 100


async def _listed(client: Client, kind: Kind, namespace: str) -> list[JsonObject]:
    reply = await client.transport.request(Call("GET", paths.collection(kind, namespace), {}, kind=kind))
    items: list[JsonObject] = json.loads(reply.body)["items"]
    return [{"kind": kind.name, **item} for item in items if not _by_kubernetes(item)]


def _by_kubernetes(item: JsonObject) -> bool:
    """Return whether Kubernetes made an object at a time of its own: a clock's Job, the cluster's authorities."""
    return is_by_clock(item["metadata"].get("annotations", {})) or item["metadata"]["name"] == "kube-root-ca.crt"


def _hashes(found: Iterable[JsonObject]) -> list[tuple[str, str]]:
    """Return the hashes of each service's parts: hosts are in what they are of, and so the namespace's name."""
    told = ((item, (item.get("status") or {}).get(field) or {}) for item in found for field in _HASHES)
    return sorted(
        (f"{item['metadata']['name']}-{part}", value) for item, parts in told for part, value in parts.items()
    )


def _name(item: JsonObject) -> str:
    name: str = item["metadata"]["name"]
    # A ReplicaSet is named by the hash of its pods, whose configuration names the namespace.
    return re.sub(_TEMPLATE, "-TEMPLATE", name) if item["kind"] == "ReplicaSet" else name


def _normal(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _read(key, entry) for key, entry in value.items() if key not in _DROPPED | _DIGESTS}
    if isinstance(value, list):
        return [_normal(entry) for entry in value]
    return value


def _read(key: str, value: Any) -> Any:
    if key == "release" and isinstance(value, str) and len(value) > _LONGEST_DIGEST:
        # A release record: its size depends on how well names compress, its content on the namespace.
        record = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(value))))
        return {"version": record["version"], "status": record["info"]["status"]}
    if key in {"name", "generateName"} and isinstance(value, str):
        return re.sub("(keystone|nova-[a-z0-9-]+)" + _TEMPLATE, r"\1-TEMPLATE", value)
    return _normal(value)
