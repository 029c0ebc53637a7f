"""A node of the cluster: keeps one mariadbd running, and agrees with the other nodes on who forms the cluster.

It needs no operator: the nodes talk through one ConfigMap (choice.py says what they decide). The server is started
again by this program, so its crash is no crash of the container, which Kubernetes would start ever more slowly.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import choice
from kubernetes import CONFLICT, Pods, StateMap, Unanswered
from server import Answers, Server, Status, Upgrade, describe, fingerprint

LABEL = "openstack.org/galera-active"
# Seconds from one look at the server to the next; of that, what the API server is asked, and root's password.
LOOK, REFRESH = 1.0, 30.0
# After how long a node that lost the majority says so, and stops when all others wait for it.
LOST, LONELY = 3.0, 10.0
# For how long a server is waited for that stops, other nodes that leave before, and Services that forget this node.
STOPPING, TURN, FORGETTING = 80.0, 30.0, 2.0
# After how long nobody lives who would have taken away what a person forces: who is in a cluster does that in REFRESH.
UNHEARD = 120.0
# What Galera calls the state of a node that is neither filled nor fills another.
SYNCED = 4
# The pause before the server's own tables are upgraded once more.
AGAIN = 300.0
# The pause after a server that ended soon after its start; another one would, too.
PAUSE, SOON = 2.0, 10.0
# After how long a node speaks in place of one that should, and says nothing. Its machine may be gone, which takes
# minutes to be known.
SILENT = 30.0
# The pause before mariadbd looks once more where the data ends: it may have had no memory, or a full disk.
LOOK_AGAIN = 30.0


class Node:
    """One node, for the time of its container."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.name = environment["POD_NAME"]
        self.prefix = self.name.rpartition("-")[0]
        # A pod of before has none, and may start with the programs of now.
        self.uid = environment.get("POD_UID", "")
        self.service = environment["SERVICE"]
        self.address = environment["POD_IP"]
        self.password_file = Path(environment["ROOT_PASSWORD_FILE"])
        self.server = Server(Path(environment.get("VOLUME", "/var/lib/mysql")), self.name)
        self.server.configure(environment.get("SST_METHOD", "rsync"), Path(environment["INCLUDED"]))
        self.map = StateMap(f"{self.prefix}-state")
        self.pods = Pods(LABEL)
        self.record = choice.Record(self.name)
        self.status = Status()
        self.stopping = threading.Event()
        self.said = ""
        self.force, self.force_since = "", 0.0

    def say(self, text: str) -> None:
        """Log a sentence, once in a row."""
        if text != self.said:
            print(f"node: {text}", flush=True)
        self.said = text

    # One life after the other.

    def run(self) -> None:
        """Live until told to stop."""
        while not self.stopping.is_set():
            began = time.monotonic()
            try:
                self.recover()
                move = self.agree()
                if move:
                    self.live(bootstrap=move == "bootstrap")
            except (Unanswered, OSError, subprocess.SubprocessError) as error:
                self.say(f"trying again: {describe(error)}")
            self.status = Status()
            self.server.stop(STOPPING)
            if time.monotonic() < began + SOON:
                self.stopping.wait(PAUSE)
        self.say("stopped")
        self.attempt(self.recover)

    def recover(self) -> None:
        """Find out where the data ends, and tell the others."""
        life = secrets.token_hex(4)
        self.map.read()
        self.publish(choice.Record(self.name, life, choice.RECOVERING))
        if self.map.data.get(choice.ACTIVE) == self.name:
            # The next of those that are there takes the clients, without waiting for this one.
            self.map.write({choice.ACTIVE: None})
        self.pods.mark(self.name, marked=False)
        self.publish(self.server.record(life, self.say))

    def agree(self) -> str:
        """Wait until this node may form the cluster or join it; the first that waits chooses meanwhile.

        Nothing is returned where this node first has to look again where its data ends.
        """
        state = self.state(self.map.data)
        began = since = time.monotonic()
        while not self.stopping.is_set():
            move = self.decide(state)
            if move != "wait":
                return move
            if self.record.failed and time.monotonic() > began + LOOK_AGAIN:
                return ""
            # It may have been read anew.
            state = self.state(self.map.data)
            self.heed(state.force)
            # Where nobody can say it, none is away: what was found out about this node's data still holds.
            away = self.attempt(self.away, state) or frozenset()
            silent = time.monotonic() > since + SILENT and self.name in state.expected
            if silent or choice.speaks(state, self.name, away):
                self.choose(state, away)
            if self.state(self.map.data) == state:
                self.map.changed()
            if self.state(self.map.data) != state:
                since = time.monotonic()
            state = self.state(self.map.data)
            self.say(state.trouble or "waits until the cluster is formed")
        return ""

    def decide(self, state: choice.State) -> str:
        """Return what to do now. Who is to form the cluster says so first, and may not where anything has changed.

        Somebody else may have been chosen meanwhile, and there would be two clusters.
        """
        move = choice.move(state, self.name)
        while move == "bootstrap":
            record = replace(self.record, state=choice.BOOTSTRAPPING)
            try:
                self.map.write({self.name: record.text()}, checked=True)
            except Unanswered as error:
                if error.code != CONFLICT:
                    raise
                self.map.read()
                move = choice.move(self.state(self.map.data), self.name)
            else:
                self.record = record
                break
        return move

    def away(self, state: choice.State) -> frozenset[str]:
        """Return the nodes that wait, as they said last, and whose pods do not run any more."""
        waiting = [name for name in state.those(choice.STOPPED) if name != self.name]
        return self.pods.away({name: state.records[name].uid for name in waiting})

    def heed(self, force: str) -> None:
        """Remember since when a person forces a node."""
        if force != self.force:
            self.force, self.force_since = force, time.monotonic()

    def choose(self, state: choice.State, away: frozenset[str] = frozenset()) -> None:
        """Say who forms the cluster, or why nobody does."""
        chosen = choice.choose(state, unheard=time.monotonic() > self.force_since + UNHEARD, away=away)
        told = {choice.WAITING: None, choice.BLOCKED: None}
        if isinstance(chosen, choice.Choice):
            self.say(f"{chosen.pod} forms the cluster")
            told[choice.CHOICE] = chosen.text()
        else:
            told[choice.BLOCKED if chosen.blocked else choice.WAITING] = chosen.sentence
        try:
            self.map.write(told, checked=True)
        except Unanswered as error:
            # Somebody said something meanwhile that may change the choice.
            self.say(f"choosing again: {error}")
            self.map.read()

    def live(self, *, bootstrap: bool) -> None:
        """Run the server until it ends, or until it has to."""
        state = self.state(self.map.data)
        self.say("forms the cluster" if bootstrap else "joins the cluster")
        if bootstrap and self.record.empty:
            self.server.install()
        if not bootstrap:
            self.server.set_mark("joining")
            self.publish(replace(self.record, state=choice.JOINING))
        peers = [] if bootstrap else [f"{name}.{self.service}" for name in state.those(choice.SYNCED)]
        self.server.start(self.record, peers, self.address, donors=choice.donors(state), bootstrap=bootstrap)
        watched = Living(self)
        answers = Answers(time.monotonic())
        while self.server.running and not self.stopping.is_set():
            self.status = answers.take(self.server.status(), time.monotonic())
            if self.attempt(watched.look, self.status):
                self.say("stops, because all others wait for where its data ends")
                break
            self.stopping.wait(LOOK)
        watched.end()
        if self.stopping.is_set():
            self.attempt(watched.hand_over)
            self.attempt(watched.take_turn)
        elif not self.server.running:
            self.say(f"the server ended with {self.server.process.returncode}")
            # At once, whatever has to be waited for before it starts again.
            self.attempt(self.publish, replace(self.record, state=choice.RECOVERING))

    # What the others are told.

    def state(self, data: dict[str, str]) -> choice.State:
        """Read the ConfigMap's data."""
        try:
            return choice.parse(data, self.prefix)
        except (TypeError, ValueError) as error:
            # People write there, too. A slip must not end the program, and the server with it, on all nodes at once.
            raise Unanswered(f"ConfigMap {self.prefix}-state has what nobody can read: {error}") from error

    def publish(self, record: choice.Record) -> None:
        """Tell the others about this node; nothing is written where nothing changed."""
        self.record = replace(record, uid=self.uid)
        self.map.write({self.name: self.record.text()})

    def attempt(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do what the API server or the database may refuse; it is tried again with the next look."""
        try:
            return work(*arguments)
        except (Unanswered, OSError, subprocess.SubprocessError) as error:
            self.say(f"trying again: {describe(error)}")
        return None

    @property
    def ready(self) -> bool:
        """Whether clients can be let in; a server that has just ended was looked at before that."""
        return self.status.serves and self.server.running

    def password(self) -> str:
        """Return root's password as the Secret has it now, nothing where that is no password."""
        try:
            return self.password_file.read_text(encoding="utf-8").rstrip("\n")
        except UnicodeDecodeError:
            return ""


class Living:
    """What a node does while its server runs."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.view: tuple[str, ...] = ()
        self.broken = ""
        self.refreshed = 0.0
        self.lonely_since: float | None = None
        self.is_active = False
        self.upgrade: Upgrade | None = None
        # When it begins: never again in this life once it succeeded.
        self.upgrade_due: float | None = 0.0
        self.lost: dict[str, str] = {}

    def look(self, status: Status) -> bool:
        """Keep the marks, the record and the clients' node up to date; return whether the server has to stop."""
        if status.synced:
            self.lonely_since = None
            self._in_cluster(status)
            self._upgrade(status)
            return False
        if self.node.record.state == choice.BOOTSTRAPPING:
            self._form()
        if self.node.record.state in (choice.SYNCED, choice.DISCONNECTED):
            return self._alone(status)
        return False

    def _in_cluster(self, status: Status) -> None:
        node = self.node
        if node.server.members() != status.view:
            # Before any client is let in: who has data that others must not miss.
            node.server.set_mark("members", json.dumps(status.view))
        for mark in ("joining", "fresh"):
            node.server.clear_mark(mark)
        now = time.monotonic()
        if (status.view, status.broken) == (self.view, self.broken) and now < self.refreshed + REFRESH:
            return
        said = f", and cannot read its own tables: {status.broken}" if status.broken else ""
        node.say(f"is in the cluster of {', '.join(status.view)}{said}")
        node.map.read()
        record = choice.Record(node.name, node.record.life, choice.SYNCED, members=status.view, broken=status.broken)
        node.publish(replace(record, root=node.record.root if self.is_active else ""))
        self._serve(node.state(node.map.data), status)
        self.view, self.broken, self.refreshed = status.view, status.broken, now

    def _upgrade(self, status: Status) -> None:
        """Bring the server's own tables to its release, beside all else: it serves clients with older ones as well.

        A node that fills another one has to keep its tables as they are meanwhile.
        """
        now = time.monotonic()
        if self.upgrade is not None:
            ended = self.upgrade.ended
            if ended is None:
                return
            self.upgrade, self.upgrade_due = None, None if ended == 0 else now + AGAIN
            if ended:
                self.node.say(f"the server's own tables are those of another release, trying again: {ended}")
        elif self.upgrade_due is not None and now >= self.upgrade_due and status.state == SYNCED and not status.broken:
            self.upgrade = self.node.server.upgrade()

    def end(self) -> None:
        """End what works beside the server, before that ends."""
        if self.upgrade is not None:
            self.upgrade.stop()

    def _form(self) -> None:
        """Take away what forces another node, as long as this one forms the cluster: there would be two of them."""
        node, now = self.node, time.monotonic()
        if now < self.refreshed + REFRESH:
            return
        self.refreshed = now
        if node.map.read().get(choice.FORCE, node.name) != node.name:
            node.map.write({choice.FORCE: None})

    def _serve(self, state: choice.State, status: Status) -> None:
        """Make this node the clients' where that one is gone; then see that it and no other has the label."""
        node = self.node
        done = dict.fromkeys((choice.FORCE, choice.WAITING, choice.BLOCKED, choice.CHOICE))
        # What somebody else said meanwhile comes with the answer; a claim must not be made without it.
        state = node.state(node.map.write({**done, choice.FORMED: state.formed or node.name}))
        if choice.claims(state, node.name, status.view):
            node.map.write({choice.ACTIVE: node.name}, checked=True)
            state = node.state(node.map.data)
        self.is_active = state.active == node.name
        if self.is_active:
            node.pods.mark(node.name, marked=True)
            for name in state.expected:
                if name != node.name:
                    node.pods.mark(name, marked=False)
            if not status.broken:
                # Whatever becomes of it: clients are better served with the former password than not at all.
                node.attempt(self._keep_root)
            self._miss(status.view)
        else:
            node.pods.mark(node.name, marked=False)

    def _miss(self, view: tuple[str, ...]) -> None:
        """Say of a node whose machine is gone that it is not in the cluster; the others would wait for it to notice.

        It has to be missed twice: this node may not have seen yet that it came back.
        """
        node = self.node
        state = node.state(node.map.data)
        lost = choice.lost(state, view)
        for name, life in lost.items():
            if self.lost.get(name) == life:
                record = replace(state.records[name], state=choice.DISCONNECTED)
                node.map.write({name: record.text()}, checked=True)
        self.lost = lost

    def _keep_root(self) -> None:
        """Give root the password of the Secret, and say which one it has: the Secret comes here a minute late."""
        node, password = self.node, self.node.password()
        if not password:
            # Nobody could log in with that, and the server with its clients is worth more.
            node.say("root keeps its password: what the Secret has is empty or no text")
            return
        if node.server.keep_root(password):
            node.say("root has the password of the Secret")
        node.publish(replace(node.record, root=fingerprint(password, node.record.life)))

    def _alone(self, status: Status) -> bool:
        """Say that the majority is lost; stop when the others have all stopped and wait for this node."""
        node, now = self.node, time.monotonic()
        self.lonely_since = self.lonely_since or now
        self.view = ()
        if status.primary or now < self.lonely_since + LOST:
            return False
        node.map.read()
        node.publish(replace(node.record, state=choice.DISCONNECTED))
        # Where it only is too busy, and nobody waits for it, a stop would make its clients wait for longer.
        state = node.state(node.map.data)
        return now > self.lonely_since + LONELY and choice.gives_up(state, node.name, answered=status.answered)

    def hand_over(self) -> None:
        """Let clients find another node before this one goes."""
        node = self.node
        if not self.is_active:
            return
        if heir := choice.heir(node.state(node.map.read()), node.name, self.view):
            node.say(f"hands the clients over to {heir}")
            node.map.write({choice.ACTIVE: heir})
            node.pods.mark(heir, marked=True)
        node.pods.mark(node.name, marked=False)

    def take_turn(self) -> None:
        """Wait until nobody else leaves who goes first; meanwhile Services forget this node."""
        node = self.node
        if len(self.view) < 2:
            return
        node.publish(replace(node.record, state=choice.LEAVING))
        end = time.monotonic() + TURN
        time.sleep(FORGETTING)
        while not choice.leaves_first(node.state(node.map.read()), node.name) and time.monotonic() < end:
            time.sleep(LOOK)


def serve(node: Node, port: int) -> None:
    """Answer the kubelet: `/ready` when clients can be served; `/live` always, for no recovery is too long."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503 if self.path == "/ready" and not node.ready else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing of requests."""

    server = ThreadingHTTPServer(("", port), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main() -> int:
    """Run the node until SIGTERM."""
    node = Node(os.environ)
    for number in (signal.SIGTERM, signal.SIGINT):
        # In a thread of its own: the handler interrupts the main one, which may hold the event's lock.
        signal.signal(number, lambda *_: threading.Thread(target=node.stopping.set).start())
    serve(node, int(os.environ.get("STATUS_PORT", "8080")))
    node.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
