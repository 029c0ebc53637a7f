"""How a node becomes a member of a cluster that is there. It cannot begin one here.

RabbitMQ's own discovery sorts the nodes that answer by the size of their clusters and by age. A node that joins is the
oldest when the other one has just been restarted, selects itself, and begins a second cluster. So a node is told here
whom it joins, before its server starts.

All that happens in one Erlang: of two members one is no majority, so the other one stops as soon as a node that has
joined goes away, even for a moment.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import cluster
from volume import Volume

# What `rabbitmqctl stop_app` leaves running: the node has its name and its configuration, and no server.
PRELAUNCH = """\
    {ok, _} = application:ensure_all_started(rabbitmq_prelaunch),
    _ = application:load(rabbit)"""
# How long a join may take, in milliseconds, and how often a node asks for its turn: up to 8 s lie between two tries.
JOINING = 300_000
TURNS = 100
# The function is that of `rabbitmqctl join_cluster`. Nodes join one after the other: a lock goes with the node that has
# it. Where the member is lost, the join would wait for it without a word, and one that hangs would keep all others from
# their turn. The server starts when the mark is gone.
JOIN = """\
Member = '%(member)s',
Watch = fun Watch(Time) ->
    receive
        {nodedown, Member} -> io:format("~ts was lost meanwhile~n", [Member]), halt(1);
        begun -> Watch(%(joining)d);
        through -> ok
    after
        Time -> io:format("Joining ~ts has taken too long~n", [Member]), halt(1)
    end
end,
Lock = {stackwright_joins, self()},
try
%(prelaunch)s,
    Context = rabbit_prelaunch:get_context(),
    ok = rabbit_prelaunch_feature_flags:setup(Context),
    ok = rabbit_prelaunch_cluster:setup(Context),
    Watcher = spawn(fun() -> monitor_node(Member, true), Watch(infinity) end),
    global:set_lock(Lock, [Member], %(turns)d) orelse throw("other nodes joined all the time"),
    Watcher ! begun,
    ok = rabbit_db_cluster:join(Member, disc),
    ok = file:delete("%(marker)s"),
    Watcher ! through,
    global:del_lock(Lock, [Member])
of
    _ -> os:cmd("sync -f %(data)s"), io:format("This node is a member of the cluster of ~ts~n", [Member]), rabbit:boot()
catch
    _:Reason -> io:format("This node could not join ~ts: ~tp~n", [Member, Reason]), halt(1)
end."""
# A member asks the others before it starts Mnesia, and deletes its own tables where one with Mnesia running knows fewer
# members. So a copy is shown only when all who are reached have asked, and know all members that the copy knows; they
# wait then. Nodes that show a copy themselves never ask. Nobody reads the copy: as it has masters, Mnesia lets one of
# them load its own tables, even where this node has the lowest name, or saw all others go. Only who was reached is one,
# for others may show a copy as well. The list of members gets no master: that would permit what does not fit together.
# Who belongs to the cluster stands in the copy, too: nobody else may say so just after a loss of power.
SHOW = """\
Others = [%(others)s],
Hide = fun Hide() ->
    receive {hide, Asking} -> Asking ! {hidden, mnesia:stop()}, Hide() end
end,
IsShown = fun(Node) -> is_pid(rpc:call(Node, erlang, whereis, [stackwright_shows], 5000)) end,
Waits = fun(Node) ->
    Members = rpc:call(Node, mnesia, system_info, [db_nodes], 5000),
    rpc:call(Node, ets, lookup, [mnesia_gvar, use_dir], 5000) =:= [{use_dir, true}]
        andalso is_list(Members) andalso mnesia:system_info(db_nodes) -- Members =:= []
end,
Show = fun Show() ->
    All = lists:usort(Others ++ mnesia:system_info(db_nodes)) -- [node()],
    Reached = [Node || Node <- All, net_adm:ping(Node) =:= pong, not IsShown(Node)],
    case Reached =/= [] andalso lists:all(Waits, Reached) of
        true ->
            ok = mnesia:set_master_nodes(Reached),
            ok = mnesia:set_master_nodes(schema, []),
            ok = mnesia:start();
        false ->
            receive {hide, _} = Asked -> self() ! Asked after 500 -> Show() end
    end
end,
try
%(prelaunch)s,
    register(stackwright_shows, spawn(fun() ->
        try %(has_tables)s andalso Show()
        catch _:Reason -> io:format("The tables of a join cannot be shown: ~tp~n", [Reason])
        end,
        Hide()
    end))
catch
    _:Failed -> io:format("Erlang cannot run for the others: ~tp~n", [Failed]), halt(1)
end."""
HIDE = """\
stackwright_shows ! {hide, self()},
receive {hidden, Said} -> Said after 5000 -> not_yet end."""
# How many seconds a question may take. For one with data, this is the time that it has for all of its questions.
ANSWER = 60.0
VIEW = "{rabbit_nodes:list_members(), rabbit_nodes:list_running()}."


@dataclass(frozen=True)
class View:
    """What a node says of its cluster: who belongs to it, and who of them runs."""

    members: frozenset[str]
    running: frozenset[str]


def say(text: str) -> None:
    """Say it in the log."""
    print(text, flush=True)


def control(number: int, *words: str, seconds: float = ANSWER) -> str:
    """Return what a node says; nothing where it does not answer, or refuses."""
    command = ["rabbitmqctl", "--longnames", "--node", cluster.node(number), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout if done.returncode == 0 else ""


def read(printed: str, asked: int) -> View | None:
    """Return what a node printed of its cluster; None where it says nothing that makes sense."""
    lists = [frozenset(re.findall(r"\w+@[\w.-]+", found)) for found in re.findall(r"\[([^\]]*)\]", printed)]
    view = View(*lists) if len(lists) == 2 else None
    return view if view is not None and cluster.node(asked) in view.members else None


def view(number: int, seconds: float = ANSWER) -> View | None:
    """Ask a node for its cluster."""
    return read(control(number, "eval", VIEW, seconds=seconds), number)


def is_disowned(declared: int, serving: Iterable[int]) -> bool:
    """Return whether most of the nodes that shall be there serve together, and none of them knows this one.

    Somebody has forced it out. RabbitMQ does not start with its data then, and does not begin anew by itself.
    """
    numbers = list(serving)
    if 2 * len(numbers) <= declared:
        return False
    views: dict[str, View] = {}
    begin = time.monotonic()
    for place, number in enumerate(numbers):
        # Nobody takes the time of those that are asked after it. Who does not answer says nothing.
        found = view(number, (ANSWER - (time.monotonic() - begin)) / (len(numbers) - place))
        if found is not None and cluster.node(cluster.ordinal()) in found.members:
            return False
        if found is not None:
            views[cluster.node(number)] = found
    return 2 * len(views) > declared and all(views.keys() <= found.running for found in views.values())


def forget(number: int) -> bool:
    """Let the cluster forget an earlier life of this node; return whether this one is no member of it now.

    As long as its former self is a member, RabbitMQ refuses to join.
    """
    mine, found = cluster.node(cluster.ordinal()), view(number)
    if found is not None and mine in found.members:
        control(number, "forget_cluster_node", mine)
        found = view(number)
    return found is not None and mine not in found.members


def command(program: str) -> list[str]:
    """Return what starts Erlang as the server does, and runs a program in place of the server."""
    return ["env", "RABBITMQ_NODE_ONLY=1", "rabbitmq-server", "-eval", program]


def start(own: Volume, number: int) -> list[str]:
    """Return the command with which a node joins another and then serves; all that it writes is marked until then."""
    own.mark()
    member = cluster.node(number)
    say(f"Joining {member}")
    bounds = {"joining": JOINING, "turns": TURNS}
    return command(JOIN % {"prelaunch": PRELAUNCH, "member": member, "marker": own.marker, "data": own.data, **bounds})


@contextmanager
def shown(own: Volume) -> Iterator[subprocess.Popen[bytes]]:
    """Let Erlang run for the time of a block, with the tables that a join has copied, if there are any.

    Others may wait for that before they serve: one that is no majority without this node, and one that was restarted
    while this node copied its tables, because this one might have gone on alone.
    """
    words = {"others": ", ".join(f"'{each}'" for each in others(own)), "has_tables": str(own.has_tables).lower()}
    program = command(SHOW % {"prelaunch": PRELAUNCH, **words})
    running = subprocess.Popen(program, start_new_session=True)
    try:
        yield running
    finally:
        end(running)


def others(own: Volume) -> list[str]:
    """Return all other nodes that belong to the cluster, or may."""
    try:
        declared = cluster.replicas() or 0
    except cluster.Unanswered:
        declared = 0
    return sorted({*own.members, *map(cluster.node, range(declared))} - {own.name})


def end(running: subprocess.Popen[bytes]) -> None:
    """End a program and all that it started: no second Erlang can have the name of the node."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(running.pid, sent)
        with suppress(subprocess.TimeoutExpired):
            running.wait(30)


def hide(running: subprocess.Popen[bytes]) -> bool:
    """Show the tables no longer: who shows any is not forgotten. Return whether that is so; Erlang itself runs on."""
    return running.poll() is not None or "stopped" in control(cluster.ordinal(), "eval", HIDE)
