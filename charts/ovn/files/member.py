"""Watch over one member of a database cluster: start it, apply what is set, let it leave when there shall be fewer.

What it decides stands in cluster.py, what it does in database.py. Settings are read again and again from a mounted
file, so that a change restarts nothing.
"""

import http.client
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cluster
import database
import kubernetes
from programs import Failed, say

PAUSE = 2
# Between two looks at the ConfigMap while all is well.
LOOK = 10
# How long a member has to leave the cluster, and the first one to see the others leave.
LEAVING = 240
# After how many seconds a member that was not taken into the cluster tries anew.
JOINING = 120
# How often a change of what others change as well is tried.
ATTEMPTS = 10


class Member:
    """One member, and what it knows."""

    def __init__(self) -> None:
        self.pod = os.environ["POD_NAME"]
        self.stateful_set = self.pod.rpartition("-")[0]
        self.database = database.DATABASES[os.environ["ROLE"]]
        self.path = Path(os.environ.get("DATA", "/var/lib/ovn")) / f"{os.environ['ROLE']}.db"
        self.state = kubernetes.StateMap(os.environ["STATE"])
        self.replicas: int | None = None
        self.server: database.Server | None = None
        self.file = cluster.File()
        self.ending = False
        self.said = ""
        self.looked = 0.0

    @property
    def agreed(self) -> cluster.Agreement:
        """What the members agreed, as it was last read."""
        return cluster.parse_agreement(self.state.data, self.stateful_set)

    def settings(self) -> dict[str, Any]:
        """Return what the user set."""
        said: dict[str, Any] = json.loads(Path(os.environ["SETTINGS"]).read_text(encoding="utf-8"))
        return said

    def address(self, pod: str) -> str:
        """Return the address of a member for the others: a name, because the addresses of pods change."""
        return f"tcp:{pod}.{self.stateful_set}.{domain()}:{self.database.raft}"

    def addresses(self) -> dict[str, str]:
        """Return the addresses of all members that there are or were, by pod."""
        count = max(self.replicas or 1, 32)
        return {pod: self.address(pod) for pod in (f"{self.stateful_set}-{number}" for number in range(count))}

    def tell(self, state: str, index: int = 0) -> None:
        """Say in the log and in the ConfigMap what this member does; nothing is written if nothing changed."""
        if state != self.said:
            say(state)
            self.said = state
        record = cluster.Record(self.file.server, self.file.cluster, state, index)
        known = self.agreed.records.get(self.pod, cluster.Record())
        # Where the data end matters only when no majority is left; it moves with every change.
        if index and (record.server, record.cluster, record.state) == (known.server, known.cluster, known.state):
            return
        self.state.write({self.pod: str(record)})

    def look(self) -> None:
        """Read anew what the members agreed, and how many there shall be."""
        self.state.read()
        self.replicas = kubernetes.replicas(self.stateful_set)
        self.looked = time.monotonic()

    def start(self) -> bool:
        """Start the server as soon as it is clear how; return whether it was started."""
        begun, forced = time.monotonic(), ""
        while not self.ending:
            try:
                self.look()
                if self.agreed.force != forced:
                    # Who is forced waits again, however long it has waited for something else.
                    begun, forced = time.monotonic(), self.agreed.force
                found = database.read_file(self.path)
                self.file = found or cluster.File()
                waited = time.monotonic() - begun
                match cluster.begin(self.pod, self.stateful_set, found, self.agreed, self.replicas or 0, waited):
                    case cluster.Wait(why):
                        self.tell(f"waits: {why}")
                    case cluster.Create(kept):
                        self.halt()
                        self.create(kept=kept)
                    case cluster.Join(aside):
                        self.join(aside=aside)
                    case cluster.Serve():
                        self.tell("starts with its data")
                        self.serve()
                        return True
            except (kubernetes.Unanswered, Failed, OSError) as error:
                say(str(error))
            time.sleep(PAUSE)
        return False

    def create(self, *, kept: bool) -> None:
        """Make the cluster: first on disk, then known to all; whoever is told so last starts over."""
        timer = int(self.settings()["electionTimer"])
        self.tell("makes the cluster" + (" of the data that it has" if kept else ""))
        database.create(self.database, self.path, self.address(self.pod), timer, kept=kept)
        self.file = database.read_file(self.path) or cluster.File()
        # One that nobody forced gives way to data of which it did not know; the next look tells.
        is_forced = self.agreed.force == self.pod
        said = {cluster.CLUSTER: self.file.cluster, cluster.FORCE: None, cluster.REMOVED: None}
        self.state.write(said, checked=not is_forced)

    def join(self, *, aside: bool) -> None:
        """Join the others; the server tries them again and again until one answers."""
        others = [self.address(f"{self.stateful_set}-{number}") for number in range(max(self.replicas or 1, 1))]
        own = self.address(self.pod)
        others = [other for other in others if other != own]
        if not others:
            self.tell(self.bereft())
            return
        self.halt()
        if aside and self.file.cluster:
            database.put_aside(self.path)
        elif aside:
            # It never joined, so nothing is in it. What was put aside before may be all that is left of the data.
            self.path.unlink(missing_ok=True)
        database.join(self.database, self.path, own, others)
        self.file = database.read_file(self.path) or cluster.File()
        self.tell("joins the cluster")
        self.serve()
        self.wait_until_joined()

    def bereft(self) -> str:
        """Return what a member says that has no data, and nobody to get them from."""
        others = {pod: record for pod, record in self.agreed.records.items() if pod != self.pod}
        holders = [pod for pod, record in others.items() if record.cluster == self.agreed.cluster]
        removed = [pod for pod in holders if others[pod].server in self.agreed.removed]
        if holders == removed != []:
            # They left one after the other, and this one was no member yet: the last cannot leave, and is marked.
            return (
                f"has no data; {' and '.join(holders)} has them, and was to leave: set force to {holders[0]} in the "
                "ConfigMap, then raise replicas again"
            )
        if holders:
            return f"has no data; {' and '.join(holders)} has them: raise replicas again, until this member has joined"
        return (
            f"has no data, and nobody else has those of cluster {self.agreed.cluster}; put a backup at {self.path}, if "
            f"you have one, and set force to {self.pod} in the ConfigMap; without one it begins with an empty database"
        )

    def wait_until_joined(self) -> None:
        """Wait until the cluster has taken this member; give up when it must start over."""
        server, cluster_then, begun = self.server, self.agreed.cluster, time.monotonic()
        assert server is not None  # noqa: S101  it was just started
        while not self.ending and server.process.poll() is None:
            if server.status().is_member:
                self.file = database.read_file(self.path) or cluster.File()
                return
            self.look()
            # Its former self may speak after it: a pod that was deleted by force ends a moment later than its object.
            self.tell("joins the cluster")
            # A server that has heard of one cluster joins no other.
            is_other = self.agreed.cluster != cluster_then
            if self.agreed.force == self.pod or is_other or time.monotonic() - begun > JOINING:
                server.stop()
                return
            time.sleep(PAUSE)

    def halt(self) -> None:
        """Stop the server, if it runs: it would go on with a file that was put aside."""
        if self.server is not None and self.server.process.poll() is None:
            self.server.stop()

    def serve(self) -> None:
        """Start the server, if it does not run."""
        if self.server is None or self.server.process.poll() is not None:
            self.server = database.Server(self.database, self.path, str(self.settings()["logLevel"]))

    def watch(self) -> int:
        """Keep the server as it shall be until the pod ends; return how the pod ends."""
        while not self.ending:
            server = self.server
            assert server is not None  # noqa: S101  watched only once it was started
            if server.process.poll() is not None:
                say(f"the server ended with {server.process.returncode}")
                return 1
            status = server.status()
            # The cluster is looked after also where a setting, or a new schema, is refused for good.
            attempt(partial(self.apply, server, status))
            if time.monotonic() - self.looked > LOOK or not status.is_led:
                attempt(self.look, partial(self.mind, server, status))
            time.sleep(PAUSE)
        return self.end()

    def apply(self, server: database.Server, status: cluster.Status) -> None:
        """Set what the user asks for, where it differs: by each member, or by the one that leads."""
        settings = self.settings()
        server.set_level(str(settings["logLevel"]))
        if not status.leads:
            return
        server.convert()
        if server.has_table():
            server.listen(int(settings["inactivityProbe"]))
        wanted = int(settings["electionTimer"])
        if status.timer and status.timer != wanted:
            timer = cluster.next_timer(status.timer, wanted)
            say(f"the election timer becomes {timer} ms, after {status.timer} ms")
            server.tell("cluster/change-election-timer", self.database.name, str(timer))

    def mind(self, server: database.Server, status: cluster.Status) -> None:
        """Look after the cluster: say how it is, remove those that are gone, start over when it is another one."""
        if self.agreed.force and status.is_led:
            # Also if it names a member that is away: it would come back with old data, and all would begin with these.
            say(f"force is ignored: {self.agreed.force} shall make a new cluster, but this one has a leader")
            self.state.write({cluster.FORCE: None})
        elif self.agreed.force == self.pod or cluster.is_past(self.file, self.agreed):
            # It starts over in a new container: how, is decided there.
            self.tell("starts over", status.index)
            server.stop()
            return
        if status.is_led and not self.agreed.cluster:
            # Where the agreement was lost, a majority says which cluster there is, not the first that starts: that one
            # may have an old file.
            self.state.write({cluster.CLUSTER: self.file.cluster}, checked=True)
        if status.is_led:
            self.tell("serves", 0)
        else:
            self.report(status)
        if status.leads:
            # Asked after the others have spoken: who has joined meanwhile is known to it.
            self.clear(server, server.status())

    def clear(self, server: database.Server, status: cluster.Status) -> None:
        """Remove the servers that are gone, and let those start over that the cluster does not know."""
        addresses = self.addresses()
        for one in cluster.stale(status, self.agreed, addresses, self.replicas):
            say(f"{one.server} at {one.address} is removed from the cluster")
            whole = cluster.full_id(one.server, one.address, self.agreed, addresses)
            if len(whole) > len(one.server):
                # First: who is removed and does not know it can neither serve nor join.
                self.remove(whole)
            server.tell("cluster/kick", self.database.name, one.server)
        for unknown in cluster.unknown(status, self.agreed):
            say(f"{unknown} is not in the cluster, and starts over")
            self.remove(unknown)

    def remove(self, server: str) -> None:
        """Note that a server counts no more; of two who do so at once, neither loses the other's word."""
        for _ in range(ATTEMPTS):
            try:
                self.state.write({cluster.REMOVED: cluster.remember(self.agreed.removed, server)}, checked=True)
                return
            except kubernetes.Unanswered as error:
                if error.code != http.client.CONFLICT:
                    raise
            self.state.read()
        raise Failed(f"{cluster.REMOVED} was not written: others change the ConfigMap all the time")

    def report(self, status: cluster.Status) -> None:
        """Say that no majority answers, and where the data of this member end."""
        if not status.status:
            # It starts, has more to do than to answer, or was removed. The leader must know which server this is.
            self.tell(self.said)
            return
        is_alone = status.is_member or status.status.startswith("disconnected")
        state = "has no majority" if is_alone else status.status
        if state != self.said:
            say(state)
            self.said = state
        self.state.write({self.pod: str(cluster.Record(self.file.server, self.file.cluster, state, status.index))})

    def end(self) -> int:
        """Stop; leave the cluster first, and for good, where there shall be fewer members."""
        server = self.server
        if server is None:
            return 0
        try:
            self.look()
        except (kubernetes.Unanswered, OSError) as error:
            say(f"does not leave the cluster: {error}")
            self.replicas = None
        number = cluster.ordinal(self.pod, self.stateful_set) or 0
        try:
            if self.replicas is not None and number >= max(self.replicas, 1):
                self.depart(server)
            elif self.replicas == 0:
                self.see_off(server)
        except (kubernetes.Unanswered, Failed, OSError) as error:
            say(str(error))
        server.stop()
        return 0

    def depart(self, server: database.Server) -> None:
        """Leave the cluster and drop the file: a later start joins anew. One that no other could replace stays."""
        status = server.status()
        if not status.is_led or len(status.servers) < 2:
            say("does not leave the cluster: no other member would have the data")
            return
        self.tell("leaves the cluster")
        # Whatever becomes of this, the file is of no use afterwards, and the next start must know it.
        self.remove(self.file.server)
        if not server.leave(LEAVING):
            say("nobody confirmed it in time; the leader removes this member later")
            return
        server.stop()
        self.path.unlink(missing_ok=True)
        self.state.write({self.pod: None})

    def see_off(self, server: database.Server) -> None:
        """Wait until the others have left, so that this member alone is a majority when it comes back."""
        end = time.monotonic() + LEAVING
        while len(server.status().servers) > 1 and time.monotonic() < end:
            time.sleep(PAUSE)


def attempt(*steps: Callable[[], None]) -> None:
    """Take steps until one fails, and say why; they are taken again later."""
    try:
        for step in steps:
            step()
    except (kubernetes.Unanswered, Failed, OSError, ValueError) as error:
        say(str(error))


def domain() -> str:
    """Return what stands behind the name of a Service in this namespace, as the pod's resolver has it."""
    for line in Path(os.environ.get("RESOLVER", "/etc/resolv.conf")).read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[:1] == ["search"]:
            found = [word for word in words[1:] if ".svc." in f"{word}."]
            if found:
                return found[0]
    return f"{os.environ.get('POD_NAMESPACE', 'default')}.svc.cluster.local"


def main() -> int:
    """Run one member."""
    member = Member()

    def end(*_: object) -> None:
        member.ending = True

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    if not member.start():
        return member.end()
    return member.watch()


if __name__ == "__main__":
    sys.exit(main())
