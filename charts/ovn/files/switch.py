"""The switch of a node: its database, the daemon, and how both stop without losing flows.

Usage: switch.py database | switch | save | wait

`database` and `switch` are the two containers. Before the pod stops, `save` writes the flows to a file of the node, and
`wait` holds the database until the daemon has ended. The daemon's next start puts the flows back before it forwards.
A switch that is another OVNController's is left alone (`tenure`).
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import tenure
from programs import Failed, run, say

STATE, RUN = Path("/etc/openvswitch"), Path("/run/openvswitch")
FILE, SOCKET = STATE / "conf.db", RUN / "db.sock"
CONTROL = RUN / "ovs-vswitchd.ctl"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
FLOWS = STATE / "flows.sh"
# There once the daemon has ended; the database may then end.
ENDED = RUN / "switch-ended"
# What forwards packets on this node.
DATAPATH = RUN / "datapath"
PATIENCE = 45


def prepare_database() -> None:
    """Make the file of the database, or bring it to this release's schema, and make it small."""
    if not FILE.exists():
        run("ovsdb-tool", "create", str(FILE), SCHEMA)
        return
    if run("ovsdb-tool", "needs-conversion", str(FILE), SCHEMA) == "yes":
        run("ovsdb-tool", "convert", str(FILE), SCHEMA, seconds=60)
    run("ovsdb-tool", "compact", str(FILE), seconds=60)


def serve_database() -> None:
    """Become the server of the database, once the switch of this node is ours."""
    tenure.take()
    prepare_database()
    for left in (SOCKET, RUN / "ovsdb-server.ctl", RUN / "ovsdb-server.pid", ENDED):
        left.unlink(missing_ok=True)
    os.execvp(  # noqa: S606  the container is the server from here on
        "ovsdb-server",
        [
            "ovsdb-server",
            "-vfile:off",
            "-vconsole:info",
            f"--remote=punix:{SOCKET}",
            "--remote=db:Open_vSwitch,Open_vSwitch,manager_options",
            f"--unixctl={RUN / 'ovsdb-server.ctl'}",
            f"--pidfile={RUN / 'ovsdb-server.pid'}",
            str(FILE),
        ],
    )


def choose_datapath() -> str:
    """Return what forwards packets: the kernel if it has the module, else Open vSwitch itself."""
    for attempt in (["ovs-dpctl", "dump-dps"], ["modprobe", "openvswitch"], ["ovs-dpctl", "dump-dps"]):
        try:
            run(*attempt)
        except Failed as error:
            last = str(error)
            continue
        if attempt[0] == "ovs-dpctl":
            return "system"
    say(f"the kernel has no module openvswitch ({last}): packets are forwarded by Open vSwitch itself")
    return "netdev"


def log_level() -> str:
    """Return how much the daemon logs."""
    said = json.loads(Path(os.environ["SETTINGS"]).read_text(encoding="utf-8"))
    return str(said["ovsLogLevel"])


def start_switch() -> subprocess.Popen[bytes]:
    """Start the daemon; if flows were saved, it forwards nothing before they are back."""
    for left in (CONTROL, RUN / "ovs-vswitchd.pid", ENDED):
        left.unlink(missing_ok=True)
    DATAPATH.write_text(choose_datapath(), encoding="utf-8")
    vsctl("init")
    # It is in the database itself: a stop that saved nothing must not hold back the next start.
    if FLOWS.exists():
        vsctl("set", "Open_vSwitch", ".", "other_config:flow-restore-wait=true")
    else:
        vsctl("remove", "Open_vSwitch", ".", "other_config", "flow-restore-wait")
    process = subprocess.Popen(
        [
            "ovs-vswitchd",
            f"unix:{SOCKET}",
            "-vfile:off",
            f"-vconsole:{log_level()}",
            f"--unixctl={CONTROL}",
            f"--pidfile={RUN / 'ovs-vswitchd.pid'}",
        ]
    )
    if FLOWS.exists():
        restore()
    return process


def restore() -> None:
    """Put the saved flows back, and let the daemon forward."""
    for _ in range(50):
        if CONTROL.exists():
            break
        time.sleep(0.2)
    try:
        run("sh", str(FLOWS), seconds=60)
        say("the flows are back")
    except Failed as error:
        say(f"the flows could not be put back: {error}")
    FLOWS.unlink(missing_ok=True)
    vsctl("remove", "Open_vSwitch", ".", "other_config", "flow-restore-wait")


def vsctl(*command: str) -> str:
    """Ask or change the database of the switch, without waiting for the daemon."""
    return run("ovs-vsctl", f"--db=unix:{SOCKET}", "--no-wait", *command)


def run_switch() -> int:
    """Run the daemon until the pod ends, and then say that it has ended."""
    while tenure.read_owner() != tenure.own_name() or not SOCKET.exists():
        time.sleep(0.2)
    # A start is not cut in the middle, because flows may be on their way back: whoever asks for the end then, gets it
    # after the start. The signal is not ignored: the daemon would inherit that, and never end when asked.
    asked = False

    def note(*_: object) -> None:
        nonlocal asked
        asked = True

    signal.signal(signal.SIGTERM, note)
    process = start_switch()
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    if asked:
        process.terminate()
    level = log_level()
    while not ended_within(process, 2):
        wanted = log_level()
        if wanted != level:
            run("ovs-appctl", "-t", str(CONTROL), "vlog/set", f"console:{wanted}")
            level = wanted
    ENDED.touch()
    return max(process.returncode, 0)


def ended_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end of the daemon, so long at most."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def save() -> None:
    """Write a script that puts the flows of all bridges back."""
    bridges = vsctl("list-br").split()
    if bridges:
        # What the script reads must outlive the container, as the script does.
        os.environ["TMPDIR"] = str(STATE)
        script = run("/usr/share/openvswitch/scripts/ovs-save", "save-flows", *bridges, seconds=30)
        new = FLOWS.with_suffix(".new")
        new.write_text(f"{script}\n", encoding="utf-8")
        new.replace(FLOWS)


def wait() -> None:
    """Wait until the daemon has ended."""
    end = time.monotonic() + PATIENCE
    while not ENDED.exists() and time.monotonic() < end:
        time.sleep(0.2)


def main() -> int:
    """Do what the argument says."""
    # The first process of a container does not end by a signal that it does not handle, and it may wait for long.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if sys.argv[1] in ("save", "wait") and tenure.find_other():
        return 0
    match sys.argv[1]:
        case "database":
            serve_database()
        case "switch":
            return run_switch()
        case "save":
            save()
        case "wait":
            wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
