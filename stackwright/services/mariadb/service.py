"""MariaDB with Galera holds the services' data, on one node or on three that replicate each other."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from stackwright.api.base import JsonObject
from stackwright.api.mariadb import PORT
from stackwright.blueprint import my_cnf, storage_classes, volume_sizes
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.generated import Generated
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs.database import DATABASE, DatabaseServer
from stackwright.blueprint.network import Listen, Network
from stackwright.blueprint.providers import Provides, Sight
from stackwright.blueprint.service import Component, ConfigFile, Service, Told
from stackwright.blueprint.value_types import WORKLOAD, client_service, closed, described
from stackwright.blueprint.workloads import Port
from stackwright.kube.builtin import ConfigMap, Secret, StatefulSet
from stackwright.kube.conditions import Finding
from stackwright.services.mariadb import root_password
from stackwright.services.mariadb.addresses import server_at
from stackwright.services.mariadb.kinds import Galera, GaleraAttributes

NODE = "python3 /var/lib/stackwright/node/node.py"
# The folder with further settings of MariaDB; its files are read in the order of their names.
SETTINGS = "/etc/mysql/stackwright.d"
# The shared keys of the ConfigMap through which the nodes agree; each other key belongs to one node.
AGREED = frozenset({"choice", "active", "blocked", "force", "formed", "replicas", "waiting"})
# The reason of a server that refuses root's new password, because it does not have it yet.
ROOT_PENDING = "RootPasswordPending"
# The state of a node that serves, and what a node does in each of the other states.
SYNCED = "Synced"
STATES = {
    "Recovering": "is not running and looks for the last transaction in its data",
    "Stopped": "is not running and waits for the cluster",
    "Bootstrapping": "forms the cluster",
    "Joining": "joins the cluster",
    "Disconnected": "has lost the other nodes",
    "Leaving": "leaves the cluster",
}

LIVE: JsonObject = {"httpGet": {"path": "/live", "port": "status"}, "timeoutSeconds": 5}
READY: JsonObject = {"httpGet": {"path": "/ready", "port": "status"}, "timeoutSeconds": 5}
ROOT_SECRET = {
    "name": described("The name of the Secret.", {"type": "string"}),
    "key": described("The key of the password in it.", {"type": "string", "minLength": 1}),
}
# The server reads its options, prints those that it refuses, and ends. A wrong value for InnoDB does not fail it.
TRIAL = r"""
cat /var/lib/openstack/config/*.cnf > /tmp/trial.cnf || exit 1
mariadbd --defaults-file=/tmp/trial.cnf --verbose --help > /dev/null 2> /tmp/said
code=$?
sed 's/^[-0-9]\{10\} *[0-9:]* [0-9]* //; /^\[Warning\]/d; /^\[Note\]/d; s/^\[ERROR\] //' /tmp/said | sort -u
if grep -q "Parsing options for plugin 'InnoDB' failed" /tmp/said; then exit 1; fi
exit $code
"""
GENERATED = """\
[mariadbd]
max_connections = 1024
innodb_buffer_pool_size = 256M
"""


def files(resource: Galera, facts: Facts) -> tuple[ConfigFile, ...]:
    """Return our settings and, after them, the user's."""
    named = (("01-mariadb.cnf", GENERATED), ("02-mariadb-override.cnf", resource.spec.customServiceConfig))
    return tuple(ConfigFile(name, content, f"{SETTINGS}/{name}") for name, content in named)


def root_secret(resource: Galera) -> tuple[str, str]:
    """Return the Secret with root's password, and its key."""
    if resource.spec.secret:
        return resource.spec.secret, "DbRootPassword"
    return f"{resource.metadata.name}-mariadb-root", "DatabasePassword"


def offer(resource: Galera) -> DatabaseServer:
    """Return what services need to know about a server: its address, and the Secret of its administrator."""
    status, external = resource.status, resource.spec.external
    if external is None:
        secret, key = root_secret(resource)
        administrator = {"username": "root", "secret": secret, "key": key}
        connections = my_cnf.number(f"{GENERATED}{resource.spec.customServiceConfig}", "max_connections")
        return DatabaseServer(status.hostname, status.port, status.bootstrapped, administrator, connections=connections)
    administrator = {"secret": external.secret, "usernameKey": "username", "key": "password"}
    address = server_at(external.hostname, external.port, resource.metadata.namespace)
    return DatabaseServer(status.hostname, status.port, status.bootstrapped, administrator, address)


def values(resource: Galera, facts: Facts) -> JsonObject:
    """Return the values of the chart beside those of its component."""
    name, key = root_secret(resource)
    return {
        "rootSecret": {"name": name, "key": key},
        "sst": resource.spec.sst,
        "enableMultiMaster": resource.spec.enableMultiMaster,
    }


def storage(resource: Galera, facts: Facts) -> JsonObject:
    """Return the storage of each node."""
    return {"storage": {"class": resource.spec.storageClass or "", "request": resource.spec.storageRequest}}


def problems(resource: Galera, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that a Galera cannot work with, and why."""
    spec = resource.spec
    if spec.external is not None:
        return
    if spec.replicas == 2:
        yield "spec.replicas", "two nodes cannot tell which of them is right if they lose each other; use one or three"
    yield from storage_classes.problems(resource, "spec.storageClass", spec.storageClass, look)


def limits(resource: Galera, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that the volumes that are there cannot follow, and why."""
    if resource.spec.external is None:
        yield from volume_sizes.limits(*_volumes(resource), look)


def advice(resource: Galera, sight: Sight) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that is accepted with a warning, and the warning."""
    if resource.spec.external is None:
        yield from volume_sizes.advice(*_volumes(resource), sight.look)


def _volumes(resource: Galera) -> tuple[str, str, str, int]:
    """Return which field says the size of whose volumes, that size, and how many there are."""
    spec = resource.spec
    return "spec.storageRequest", f"{resource.metadata.name}-galera", spec.storageRequest or "", spec.replicas


def tell(resource: Galera, facts: Facts | None, look: Look) -> Told[Galera]:
    """Return where the server is, whether it accepts clients, and what keeps its nodes from forming a cluster."""
    name, external = resource.metadata.name, resource.spec.external
    if external is not None:
        found = msgspec.structs.replace(
            resource.status, hostname=external.hostname, port=external.port, bootstrapped=True
        )
        return Told(found)
    nodes = look(StatefulSet, f"{name}-galera")
    agreed = look(ConfigMap, f"{name}-galera-state")
    said = agreed.data if agreed is not None else {}
    status = msgspec.structs.replace(
        resource.status,
        hostname=f"{name}.{resource.metadata.namespace}.svc",
        port=PORT,
        # A node is ready a moment before its label directs clients to it.
        bootstrapped=nodes is not None and nodes.status.get("readyReplicas", 0) > 0 and bool(said.get("active")),
        attributes=attributes(said),
        safeToBootstrap=_chosen(said),
        rootDatabaseSecret=root_secret(resource)[0],
    )
    return Told(status, (*findings(resource, said), *_root_findings(resource, look)))


def findings(resource: Galera, said: Mapping[str, str]) -> Iterable[Finding]:
    """Yield what keeps a Galera from being ready, as its nodes report it; this is sooner than the probes fail."""
    if blocked := said.get("blocked", ""):
        yield Finding("DeploymentReady", "False", "RecoveryBlocked", blocked, "Error")
    nodes = [f"{resource.metadata.name}-galera-{number}" for number in range(resource.spec.replicas)]
    records = {pod: _record(said.get(pod, "")) for pod in nodes}
    broken = {pod: str(record["broken"]) for pod, record in records.items() if record.get("broken")}
    if broken:
        yield Finding("DeploymentReady", "False", "SystemTablesBroken", _way_out(broken, nodes), "Error")
    if away := [sentence for pod in nodes if (sentence := _away(pod, records))]:
        # Once the cluster has formed, a missing node matters more than the number of ready pods.
        severity = "Warning" if said.get("formed") else "Info"
        if waiting := _waiting(said, records):
            away.append(waiting)
        yield Finding("DeploymentReady", "False", "ServerNotReady", "; ".join(away), severity)


def root_pending(resource: Galera, look: Look) -> str:
    """Return the sentence that root's login is refused, from when its Secret has another password until the server has.

    Empty otherwise.
    """
    (name, key), agreed = root_secret(resource), look(ConfigMap, f"{resource.metadata.name}-galera-state")
    said = agreed.data if agreed is not None else {}
    if not root_password.is_pending(look(Secret, name), key, _record(said.get(said.get("active", ""), ""))):
        return ""
    return (
        f"The server has not taken root's new password from Secret {name} yet, and refuses logins with it; this takes "
        "up to two minutes"
    )


def _root_findings(resource: Galera, look: Look) -> Iterable[Finding]:
    if sentence := root_pending(resource, look):
        yield Finding("DeploymentReady", "False", ROOT_PENDING, sentence, "Warning")


def _way_out(broken: Mapping[str, str], nodes: Sequence[str]) -> str:
    alike: dict[str, list[str]] = {}
    for pod, error in broken.items():
        alike.setdefault(error, []).append(pod)
    why = "; ".join(
        f"{' and '.join(pods)} cannot read the server's own tables: {error}" for error, pods in alike.items()
    )
    if len(broken) < len(nodes):
        return f"{why}; delete its PersistentVolumeClaim and its pod, and it copies all data from another node"
    return f"{why}; restore them from a backup before a server stops, because it would not start again"


def _away(pod: str, records: Mapping[str, JsonObject]) -> str:
    """Return what a node does instead of serving; "" if it serves, or if its state is not known yet."""
    state = records[pod].get("state", "")
    if state in STATES:
        return f"{pod} {STATES[state]}"
    others = [record for other, record in records.items() if other != pod and record.get("state") == SYNCED]
    if state == SYNCED and any(pod not in record.get("members", (pod,)) for record in others):
        return f"{pod} is not seen by the other nodes"
    return ""


def _waiting(said: Mapping[str, str], records: Mapping[str, JsonObject]) -> str:
    """Return what the nodes of a cluster that was there wait for; "" as long as one of them may end that."""
    waits = all(record.get("state") in ("Stopped", "Disconnected", None) for record in records.values())
    return said.get("waiting", "") if waits and said.get("formed") else ""


def attributes(said: Mapping[str, str]) -> dict[str, GaleraAttributes]:
    """Return what the nodes report about the last transaction in their data."""
    found = {}
    for pod, text in sorted(said.items()):
        record = _record(text) if pod not in AGREED else {}
        if "seqno" in record:
            found[pod] = GaleraAttributes(
                seqno=str(record["seqno"]),
                uuid=str(record.get("uuid", "")),
                safe_to_bootstrap=bool(record.get("safe", False)),
            )
    return found


def _chosen(said: Mapping[str, str]) -> str:
    return str(_record(said.get("choice", "")).get("pod", ""))


def _record(text: str) -> JsonObject:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _password(resource: Galera, password: Callable[[int], str]) -> Mapping[str, str]:
    return {"DatabasePassword": password(32)}


SERVICE = Service(
    name="mariadb",
    kind=Galera,
    facts=Facts,
    user="mysql",
    components=(
        Component(
            "server",
            command=lambda _: NODE,
            files=files,
            values=storage,
            description="The servers: a StatefulSet.",
            workload="StatefulSet",
            suffix="galera",
            nodes="galera",
            ports=(
                Port("mysql", PORT),
                Port("galera", 4567),
                Port("ist", 4568),
                Port("sst", 4444),
                Port("status", 8080, probed=True),
            ),
            # A node that copies data from another, or recovers, is alive but not ready for as long as that takes.
            probes={
                "startup": {**LIVE, "periodSeconds": 1, "failureThreshold": 120},
                "liveness": {**LIVE, "periodSeconds": 20, "timeoutSeconds": 15, "failureThreshold": 6},
                "readiness": {**READY, "periodSeconds": 2, "failureThreshold": 3},
            },
            data="/var/lib/mysql",
            # Time for the server to write its memory to disk; a killed server has to recover, which takes longer.
            finish=115,
            requests={"cpu": "100m", "memory": "512Mi"},
            own_values={"replicas": {**WORKLOAD["replicas"], "enum": [0, 1, 3]}},
            trial=TRIAL,
        ),
    ),
    secrets=(
        Generated(
            name=lambda resource: root_secret(resource)[0],
            content=_password,
            wanted=lambda resource: not resource.spec.secret and resource.spec.external is None,
            # The node that clients use sets root's password to the one in the Secret.
            renewable=True,
        ),
    ),
    provides=Provides(DATABASE, offer),
    # The nodes copy data from each other, and agree through a ConfigMap.
    network=Network(listens=(Listen(PORT, by=DATABASE),), peers=True, kubernetes=True),
    values=values,
    own_values={
        "rootSecret": described("The Secret with root's password.", closed(ROOT_SECRET, required=["key"])),
        "sst": described("How a joining node copies all data from another one.", {"enum": ["rsync", "mariabackup"]}),
        "enableMultiMaster": described(
            "Whether clients are spread over all nodes; otherwise all of them use one node.", {"type": "boolean"}
        ),
        **client_service("ClusterIP", "NodePort", "LoadBalancer"),
    },
    problems=problems,
    advice=advice,
    limits=limits,
    elsewhere=lambda resource: resource.spec.external is not None,
    tell=tell,
    unread=("logToDisk",),
    objects=("galera", "galera-state", "galera-programs"),
)
