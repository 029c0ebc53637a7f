"""What a member of a database cluster decides: how it starts, whom it removes, what it sets next. Pure.

The members agree through a ConfigMap. Its key `cluster` is the id of the one cluster that there is: who made it says
so, or, where the ConfigMap was lost, who has a leader. From then on nobody makes another, so that a member without data
joins the others, or waits for them, however long that takes. Each member has a key of its own, named after its pod:
what its file says. `removed` lists the servers that were taken out of the cluster, so that one that comes back with
such a file joins anew. People may set `force` to the name of a pod: that one makes a new cluster of what it has, when
the majority of the old one is lost. While there is a majority, it removes `force` again, whomever it names.
"""

import json
import re
from dataclasses import asdict, dataclass, field

CLUSTER, FORCE, REMOVED = "cluster", "force", "removed"
# For how many seconds the first member waits for what others say of their data, before it makes a cluster without them.
PATIENCE = 60
# For how many seconds a member that is forced waits: whoever has a leader says so meanwhile, by removing `force`.
OBJECTION = 30
# After how many milliseconds without a word a member that shall not be there any more is removed by the leader.
SILENCE = 30_000
# How many removed servers are remembered.
REMEMBERED = 32
_SERVER = re.compile(r"^\s+(\w+) \(\w+ at (\S+?)\)( \(self\))?.*?(?: last msg (\d+) ms ago)?$")


@dataclass(frozen=True)
class File:
    """What the file of a database says: of which cluster it is, and which server of it. A new one knows no cluster.

    That of a single server, such as a backup, is of none.
    """

    server: str = ""
    cluster: str = ""
    is_backup: bool = False


@dataclass(frozen=True)
class Record:
    """What a member says of itself. `state` is for people; `index` is where its data end."""

    server: str = ""
    cluster: str = ""
    state: str = ""
    index: int = 0

    def __str__(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True)
class Server:
    """A server as the cluster knows it: the beginning of its id, its address, and when it last spoke to this one."""

    server: str
    address: str
    is_self: bool = False
    silence: int | None = None


@dataclass(frozen=True)
class Status:
    """What a running server says of its cluster."""

    status: str = ""
    role: str = ""
    leader: str = ""
    timer: int = 0
    index: int = 0
    servers: tuple[Server, ...] = ()

    @property
    def is_member(self) -> bool:
        """Whether it is a member of the cluster."""
        return self.status == "cluster member"

    @property
    def leads(self) -> bool:
        """Whether it leads the cluster."""
        return self.is_member and self.role == "leader"

    @property
    def is_led(self) -> bool:
        """Whether a majority works, as far as this member knows."""
        return self.is_member and self.leader not in ("", "unknown")


@dataclass(frozen=True)
class Agreement:
    """What the ConfigMap says."""

    cluster: str = ""
    force: str = ""
    removed: tuple[str, ...] = ()
    records: dict[str, Record] = field(default_factory=dict)


@dataclass(frozen=True)
class Create:
    """Make the cluster; if `kept`, of what the file has."""

    kept: bool = False


@dataclass(frozen=True)
class Join:
    """Join the cluster; if `aside`, the file is put aside first, because it is of a server that does not count."""

    aside: bool = False


@dataclass(frozen=True)
class Serve:
    """Go on with the file as it is."""


@dataclass(frozen=True)
class Wait:
    """Wait, for a reason."""

    why: str


Start = Create | Join | Serve | Wait


def parse_agreement(data: dict[str, str], stateful_set: str) -> Agreement:
    """Read the data of the ConfigMap; what cannot be read is as if it were not there."""
    records = {key: _record(text) for key, text in data.items() if ordinal(key, stateful_set) is not None}
    removed = tuple(filter(None, data.get(REMOVED, "").split(",")))
    return Agreement(data.get(CLUSTER, ""), data.get(FORCE, ""), removed, records)


def _record(text: str) -> Record:
    try:
        said = json.loads(text)
        return Record(str(said["server"]), str(said["cluster"]), str(said["state"]), int(said.get("index", 0)))
    except (ValueError, KeyError, TypeError):
        return Record()


def ordinal(pod: str, stateful_set: str) -> int | None:
    """Return the number of a pod of the StatefulSet, None for other names."""
    found = re.fullmatch(rf"{re.escape(stateful_set)}-(\d+)", pod)
    return int(found[1]) if found else None


def parse_status(text: str) -> Status:
    """Read what `cluster/status` prints."""
    said = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}
    servers = []
    for line in text.partition("Servers:")[2].splitlines():
        if found := _SERVER.match(line):
            silence = int(found[4]) if found[4] else None
            servers.append(Server(found[1], found[2], bool(found[3]), silence))
    timer, log = said.get("Election timer", ""), re.findall(r"\d+", said.get("Log", ""))
    return Status(
        status=said.get("Status", ""),
        role=said.get("Role", ""),
        leader=said.get("Leader", ""),
        timer=int(timer) if timer.isdigit() else 0,
        index=int(log[-1]) if log else 0,
        servers=tuple(servers),
    )


def begin(pod: str, stateful_set: str, file: File | None, agreed: Agreement, replicas: int, waited: float) -> Start:
    """Return how a member starts, given its file, what the members agreed, and for how many seconds it has waited."""
    if agreed.force == pod:
        return _forced(pod, file, agreed, waited)
    if file is not None and file.is_backup:
        # Only people put one there, perhaps while they still copy it; it is theirs to say when it counts.
        holders = agreed.cluster or any(record.cluster for other, record in agreed.records.items() if other != pod)
        return Wait(f"a backup is there; to begin with it, set force to {pod}") if holders else Create(kept=True)
    if file is not None and file.cluster:
        if not agreed.cluster:
            return Serve()
        return Join(aside=True) if is_past(file, agreed) else Serve()
    if agreed.cluster:
        return Join(aside=file is not None)
    return _first(pod, stateful_set, agreed, replicas, waited)


def _forced(pod: str, file: File | None, agreed: Agreement, waited: float) -> Create | Wait:
    """Return what a member does that people force to make a new cluster: all others put their data aside for it."""
    if waited < OBJECTION:
        return Wait("it shall make a new cluster: members that have a majority may object")
    if file is not None and (file.cluster or file.is_backup):
        return Create(kept=True)
    holders = [other for other, record in agreed.records.items() if other != pod and record.cluster]
    if holders:
        return Wait(
            f"it shall make a new cluster and has no data, but {' and '.join(holders)} has: set force to that one; if "
            "its data are lost, remove its key from the ConfigMap"
        )
    return Create()


def _first(pod: str, stateful_set: str, agreed: Agreement, replicas: int, waited: float) -> Create | Wait:
    """Return what a member without data does before there is a cluster: the first one makes it, if nobody has data."""
    if not replicas:
        return Wait("nobody says how many members there shall be")
    number = ordinal(pod, stateful_set)
    expected = [f"{stateful_set}-{other}" for other in range(replicas) if other != number]
    if any(agreed.records[other].cluster for other in expected if other in agreed.records):
        return Wait("another member has data, and has not said yet that its cluster is the one")
    if number != 0:
        return Wait(f"{stateful_set}-0 makes the cluster")
    missing = [other for other in expected if other not in agreed.records]
    # Data count where a majority has them. Where a majority has none, there was no cluster.
    is_majority = len(missing) * 2 < replicas
    if missing and not (is_majority and waited > PATIENCE):
        return Wait(f"{', '.join(missing)} must say first whether there are data")
    return Create()


def is_past(file: File, agreed: Agreement) -> bool:
    """Return whether a running member must start over: the cluster is another one now, or it was removed."""
    if not agreed.cluster or not file.cluster:
        return False
    return agreed.cluster != file.cluster or any(file.server.startswith(server) for server in agreed.removed)


def stale(status: Status, agreed: Agreement, addresses: dict[str, str], replicas: int | None) -> list[Server]:
    """Return the servers that the leader has to remove.

    `addresses` are those of pods. Stale is the former self of a member that lost its volume and joins anew, and a
    member that shall not be there any more and has not left by itself.
    """
    found = []
    pods = {address: pod for pod, address in addresses.items()}
    for server in status.servers:
        if server.is_self:
            continue
        pod = pods.get(server.address, "")
        known = agreed.records.get(pod, Record())
        is_former = bool(known.server) and not known.server.startswith(server.server)
        number = int(pod.rpartition("-")[2]) if pod else None
        is_surplus = (
            replicas is not None
            and number is not None
            and number >= max(replicas, 1)
            and (server.silence is None or server.silence > SILENCE)
        )
        if is_former or is_surplus:
            found.append(server)
    return found


def unknown(status: Status, agreed: Agreement) -> list[str]:
    """Return the servers that say that they are members, and that the leader does not know: they must start over.

    Such one was removed while it was away, or before anybody could note it. Its file opens no more, or it waits for a
    leader that never speaks to it.
    """
    members = {record.server for record in agreed.records.values() if record.cluster and record.server}
    others = {record.server for record in agreed.records.values() if record.cluster != agreed.cluster}
    return [
        server
        for server in sorted(members - others - set(agreed.removed))
        if status.leads and not any(server.startswith(known.server) for known in status.servers)
    ]


def is_newer(version: str, than: str) -> bool:
    """Return whether the version of a schema is newer than another one."""
    return [int(part) for part in version.split(".")] > [int(part) for part in than.split(".")]


def next_timer(present: int, wanted: int) -> int:
    """Return the election timer to set next: it at most doubles at a time, because the servers refuse more."""
    return min(wanted, present * 2)


def full_id(short: str, address: str, agreed: Agreement, addresses: dict[str, str]) -> str:
    """Return the id of a server by its beginning, as its own record has it, else the beginning itself."""
    pod = next((name for name, known in addresses.items() if known == address), "")
    whole = agreed.records.get(pod, Record()).server
    return whole if whole.startswith(short) else short


def remember(removed: tuple[str, ...], server: str) -> str:
    """Return what `removed` says with one more server."""
    return ",".join([*(known for known in removed if known != server), server][-REMEMBERED:])
