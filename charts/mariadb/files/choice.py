"""Who forms the cluster, who joins it, and which node the clients talk to.

Pure: everything is read from one ConfigMap, except which pods run (`away` are those that do not). Each node publishes a
record of itself. The first that waits chooses who forms the cluster, and only when no node is in it and the position of
every node is known; a position that nobody can know blocks, because a guess could lose data.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

# What a node is doing. Only a node that has stopped has a position.
RECOVERING = "Recovering"
STOPPED = "Stopped"
BOOTSTRAPPING = "Bootstrapping"
JOINING = "Joining"
SYNCED = "Synced"
DISCONNECTED = "Disconnected"
LEAVING = "Leaving"

# The keys of the ConfigMap beside the nodes' own. The chart sets the number of replicas, people may set `force`.
CHOICE, ACTIVE, FORCE, FORMED, REPLICAS = "choice", "active", "force", "formed", "replicas"
# Why nobody forms the cluster: the world must heal, or somebody must act.
WAITING, BLOCKED = "waiting", "blocked"


@dataclass(frozen=True)
class Record:
    """What a node says of itself.

    `life` is another word each time that it starts over; `uid` is that of its pod. `seqno` is the last transaction in
    its data, None where that is unknown. `failed` is why it could not look for it, which it will do again. `empty`: it
    never had data. `interrupted`: it was being filled from another node. `safe`: it left last. `members` are the nodes
    that it last saw in the cluster. `broken` is why its own tables cannot be read. `root` tells which password root
    has, without saying it; only the node that clients use knows.
    """

    pod: str
    life: str = ""
    state: str = STOPPED
    uuid: str = ""
    seqno: int | None = None
    empty: bool = False
    interrupted: bool = False
    safe: bool = False
    members: tuple[str, ...] = ()
    broken: str = ""
    failed: str = ""
    root: str = ""
    uid: str = ""

    def text(self) -> str:
        """Return the record as it stands in the ConfigMap."""
        said = asdict(self)
        del said["pod"]
        # Asked by identity: 0 is a position.
        said = {key: value for key, value in said.items() if value is not False and value not in (None, "", ())}
        return json.dumps(said, sort_keys=True)


@dataclass(frozen=True)
class Choice:
    """Which node forms the cluster, in which of its lives."""

    pod: str
    life: str

    def text(self) -> str:
        """Return the choice as it stands in the ConfigMap."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True)
class Trouble:
    """Why nobody forms the cluster: `blocked` says that it stays so until somebody acts."""

    sentence: str
    blocked: bool = True


@dataclass(frozen=True)
class State:
    """What the ConfigMap says."""

    prefix: str
    replicas: int = 1
    records: dict[str, Record] = field(default_factory=dict)
    choice: Choice | None = None
    active: str = ""
    force: str = ""
    trouble: str = ""
    formed: str = ""

    @property
    def expected(self) -> tuple[str, ...]:
        """The nodes that should be there."""
        return tuple(f"{self.prefix}-{number}" for number in range(self.replicas))

    def those(self, *states: str) -> list[str]:
        """Return the expected nodes in one of these states."""
        return [name for name in self.expected if name in self.records and self.records[name].state in states]


def parse(data: dict[str, str], prefix: str) -> State:
    """Read the ConfigMap's data; what is not readable is as if it were not there."""
    records = {}
    for key, value in data.items():
        if ordinal(key, prefix) is not None:
            said = _json(value)
            members = tuple(said.pop("members", ()))
            known = {name: said[name] for name in said if name in Record.__dataclass_fields__}
            records[key] = Record(key, members=members, **known)
    choice = _json(data.get(CHOICE, ""))
    return State(
        prefix,
        int(data.get(REPLICAS) or 1),
        records,
        Choice(choice["pod"], choice["life"]) if {"pod", "life"} <= choice.keys() else None,
        data.get(ACTIVE, ""),
        data.get(FORCE, ""),
        data.get(BLOCKED) or data.get(WAITING, ""),
        data.get(FORMED, ""),
    )


def _json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def ordinal(pod: str, prefix: str) -> int | None:
    """Return a node's number, None for what is no node's name."""
    head, _, tail = pod.rpartition("-")
    return int(tail) if head == prefix and tail.isdecimal() else None


def speaks(state: State, me: str, away: frozenset[str] = frozenset()) -> bool:
    """Return whether this node says who forms the cluster: the first of those that wait for it and run.

    Node 0 may be on a machine that is gone, and then somebody else has to heed `force`. Two that think so at once do no
    harm: they say the same, and the second one is refused, since it has not read what the first one said.
    """
    return [name for name in state.those(STOPPED) if name == me or name not in away][:1] == [me]


def choose(state: State, *, unheard: bool = False, away: frozenset[str] = frozenset()) -> Choice | Trouble:
    """Return the Choice of who forms the cluster, or the Trouble that there is with it.

    `unheard`: `force` has stood there for so long that nobody lives who is in a cluster or forms one; it would have
    taken `force` away. What such a node said last stays in the ConfigMap when its machine is gone. So does what one
    said that is `away`; if it had stopped, that is where its data ends, because it says so before it starts again.
    """
    if state.force in state.those(STOPPED):
        return _forced(state, state.records[state.force], unheard=unheard)
    if there := state.those(SYNCED):
        sentence = f"The cluster is there, as {_listed(there)} said last; if a node is gone for good"
        return Trouble(f"{sentence}, {_force(state)}", blocked=False)
    stopped, never = state.those(STOPPED), _never_there(state)
    missing = [name for name in state.expected if name not in stopped and name not in never]
    if missing:
        return _missing(state, missing)
    return _present(state, _newest(state, [state.records[name] for name in stopped]), away)


def _missing(state: State, names: list[str]) -> Trouble:
    sentence = f"Waits for {_listed(names)} to say where its data ends"
    sentence = f"{sentence}; all nodes must be there when none is left in the cluster. If a node is gone for good"
    return Trouble(f"{sentence}, {_force(state)}", blocked=False)


def _never_there(state: State) -> list[str]:
    """Return the nodes that said nothing since there is a cluster: each speaks before it starts a server.

    What a node that was there once may have, nobody can know without it: it can come back to the cluster, and serve
    clients there, while the API server is away.
    """
    return [name for name in state.expected if state.formed and name not in state.records]


def _present(state: State, best: Choice | Trouble, away: frozenset[str]) -> Choice | Trouble:
    """Return the Choice of a node that runs and whose data is as new as that of the best, or the Trouble."""
    if isinstance(best, Trouble):
        return best
    equals = [name for name in state.those(STOPPED) if _is_equal(state.records[name], state.records[best.pod])]
    if (standing := _standing(state)) in equals and not (standing in away and state.records[standing].uid):
        # It may be about to form the cluster, and a program of before that tells no uid would not see another choice.
        equals, best = [standing], Choice(standing, state.records[standing].life)
    here = [name for name in (best.pod, *equals) if name not in away]
    if here:
        return Choice(here[0], state.records[here[0]].life)
    sentence = f"Waits for {best.pod}, which is to form the cluster and does not run; if it is gone for good"
    return Trouble(f"{sentence}, {_force(state)}", blocked=False)


def _standing(state: State) -> str:
    """Return the node that was chosen in the life that it has, an empty text where there is none."""
    if state.choice is None or state.choice.pod not in state.those(STOPPED):
        return ""
    return state.choice.pod if state.choice.life == state.records[state.choice.pod].life else ""


def _is_equal(record: Record, best: Record) -> bool:
    """Return whether the data of two nodes ends at the same transaction."""
    if record.empty or record.interrupted or record.seqno is None:
        return record == best
    return (record.uuid, record.seqno) == (best.uuid, best.seqno)


def _forced(state: State, record: Record, *, unheard: bool) -> Choice | Trouble:
    running = [name for name in state.those(SYNCED, BOOTSTRAPPING) if name != record.pod]
    if running and not unheard:
        sentence = f"{record.pod} forms the cluster in two minutes, unless {_listed(running)} still runs"
        return Trouble(f"{sentence} and takes the key {FORCE} away", blocked=False)
    if record.empty and (others := _with_data(state)):
        # The others would copy its nothing over what they have.
        return Trouble(
            f"{record.pod} has no data to use, unlike {_listed(others)}; write another name under the key {FORCE} of "
            f"ConfigMap {state.prefix}-state, or delete the key of each node there whose data is to be given up"
        )
    return Choice(record.pod, record.life)


def _with_data(state: State) -> list[str]:
    """Return the nodes that have data of their own, as far as is known; also those that should not be there."""
    passing = (RECOVERING, BOOTSTRAPPING, JOINING)
    return sorted(
        name
        for name, record in state.records.items()
        if not record.empty and not record.interrupted and record.state not in passing
    )


def _newest(state: State, expected: list[Record]) -> Choice | Trouble:
    counted = [record for record in expected if not record.empty and not record.interrupted]
    if unknown := [record for record in counted if record.seqno is None]:
        return _unknown(state, unknown)
    if not counted:
        if outside := _with_data(state):
            return Trouble(
                f"The data is on {_listed(outside)}, which goes beyond the number of replicas, {state.replicas}; scale "
                f"up again, or {_way_out(state)}"
            )
        if state.formed or any(not record.empty or record.interrupted for record in expected):
            return Trouble(f"There was a cluster, and no node has its data now; {_way_out(state)}")
        return Choice(expected[0].pod, expected[0].life)
    best = max(counted, key=lambda record: (record.seqno, record.safe, -ordinal(record.pod, state.prefix)))
    others = sorted({record.uuid for record in counted} - {best.uuid})
    if others:
        pods = [record.pod for record in counted if record.uuid != best.uuid]
        return Trouble(f"{_listed(pods)} and {best.pod} have data of different clusters; {_way_out(state)}")
    return _outside(state, best) or Choice(best.pod, best.life)


def _unknown(state: State, records: list[Record]) -> Choice | Trouble:
    """Return what is to be done with nodes of which nobody knows where their data ends."""
    if all(record.failed for record in records):
        why = "; ".join(f"{record.pod} looks again where its data ends, because {record.failed}" for record in records)
        return Trouble(f"{why}. If that does not help, {_force(state)}", blocked=False)
    unknown = [record.pod for record in records if not record.failed]
    if state.expected == records[0].members == (records[0].pod,) and _with_data(state) == unknown:
        # It was alone, and nobody else has data: there is nothing to compare with.
        return Choice(records[0].pod, records[0].life)
    return Trouble(f"Nobody knows where the data of {_listed(unknown)} ends; {_way_out(state)}")


def _outside(state: State, best: Record) -> Trouble | None:
    """Return the Trouble with nodes that were in the cluster and whose data is not here to compare."""
    if unknown := [name for name in best.members if name in _never_there(state)]:
        # Somebody took away what they said.
        return _missing(state, unknown)
    lost = [
        name
        for name in best.members
        if name in state.expected and state.records[name].empty and not state.records[name].interrupted
    ]
    if lost:
        return Trouble(f"{_listed(lost)} was in the cluster and has no data now; {_way_out(state)}")
    for name in best.members:
        record = state.records.get(name)
        if name in state.expected:
            continue
        if record is None or record.state != STOPPED or record.seqno is None or record.seqno > best.seqno:
            return Trouble(
                f"{name} was in the cluster and may have newer data, but is not one of {state.replicas} replicas; "
                f"scale up again, or {_way_out(state)}"
            )
    return None


def _listed(names: list[str]) -> str:
    return " and ".join(names)


def _way_out(state: State) -> str:
    return f"bring the volume back, or {_force(state)}"


def _force(state: State) -> str:
    return (
        f"write the name of the node whose data is to be used under the key {FORCE} of ConfigMap {state.prefix}-state"
    )


def move(state: State, me: str) -> str:
    """Return what a stopped node does next: `join`, `bootstrap` or `wait`.

    It joins once the cluster has noticed that its last life is over: a second one of the same node, before that, keeps
    the others from agreeing on who is left.
    """
    record = state.records[me]
    if state.force == me:
        # It joins nobody: those that would have it are gone, or take `force` away.
        return "bootstrap" if state.choice == Choice(me, record.life) else "wait"
    there = [state.records[name] for name in state.those(SYNCED) if name != me]
    if there:
        return "wait" if any(me in other.members for other in there) else "join"
    if state.choice == Choice(me, record.life):
        return "bootstrap"
    return "wait"


def lost(state: State, view: tuple[str, ...]) -> dict[str, str]:
    """Return the nodes, with their lives, whose last word was that they are in the cluster, and that are not in it."""
    return {name: state.records[name].life for name in state.those(SYNCED) if name not in view}


def donors(state: State) -> str:
    """Return from whom a node asks to be filled first; by the comma at the end it then takes any other.

    Whoever fills another by rsync lets nobody write meanwhile, so the node that clients use comes last.
    """
    others = [name for name in state.those(SYNCED) if name != state.active]
    return f"{','.join(others)}," if others else ""


def gives_up(state: State, me: str, *, answered: bool) -> bool:
    """Return whether a node without a majority stops: all others wait for its position, or its data is to be used.

    Where there are no others it stops to form the cluster anew, unless it only is too busy to answer (not `answered`).
    """
    never = {*_never_there(state)} - {*state.records[me].members}
    others = [name for name in state.expected if name != me and name not in never]
    stopped = state.those(STOPPED)
    return state.force == me or (all(name in stopped for name in others) if others else answered)


def leaves_first(state: State, me: str) -> bool:
    """Return whether it is this node's turn to leave; two that left at once could look like two that died.

    The last one goes first, so that node 0 stays to the end. One that should not be there any more counts, too.
    """
    leaving = [name for name, record in state.records.items() if record.state == LEAVING]
    return not [name for name in leaving if ordinal(name, state.prefix) > ordinal(me, state.prefix)]


def claims(state: State, me: str, view: tuple[str, ...]) -> bool:
    """Return whether this node makes itself the one that clients talk to: that one is gone, and it is the first left.

    All members of a view that has a majority agree on the view, so one of them claims; who only joins does not count,
    nor does who is broken.
    """
    there = _serving(state, view, {*state.those(SYNCED), me})
    return state.active not in there and me == _first(state, there)


def heir(state: State, me: str, view: tuple[str, ...]) -> str:
    """Return to which node this one hands the clients before it goes, an empty text where there is none."""
    return _first(state, _serving(state, view, {*state.those(SYNCED)} - {me}))


def _serving(state: State, view: tuple[str, ...], synced: set[str]) -> list[str]:
    """Return which nodes of a view can serve clients."""
    return [name for name in view if name in synced and not _is_broken(state, name)]


def _is_broken(state: State, name: str) -> bool:
    return name in state.records and bool(state.records[name].broken)


def _first(state: State, names: list[str]) -> str:
    ours = [name for name in names if ordinal(name, state.prefix) is not None]
    return min(ours, key=lambda name: ordinal(name, state.prefix), default="")
