"""The real client in its pod, loaded once: commands run in forks of this program, and none spends seconds on imports.

`openstack` in the PATH of this pod hands over its arguments, its environment and its terminal.
"""

import contextlib
import io
import json
import os
import signal
import socket
import sys
from pathlib import Path

import openstack.connection  # type: ignore[import-not-found]  # noqa: F401  only the pod has it; most commands load it
from openstackclient import shell  # type: ignore[import-not-found]  # likewise

SOCKET, CALLER = Path("/tmp/client"), Path("/tmp/bin/openstack")
# -S leaves out what only other programs need, and is ten times as quick.
CALL = f"""#!{sys.executable} -ES
import json, os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect("{SOCKET}")
said = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
socket.send_fds(connection, [len(said).to_bytes(4, "big")], [0, 1, 2])
connection.sendall(said)
sys.exit(int(connection.recv(8) or b"70"))
"""
# Commands of each service: their modules are loaded when they are first asked for.
LOADED = ("token issue", "server list", "network agent list", "image list", "secret list", "resource provider list")


def run(arguments: list[str]) -> int:
    """Run a command of the client."""
    sys.argv = ["openstack", *arguments]
    try:
        return int(shell.main(arguments))
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1


def answer(connection: socket.socket) -> None:
    """Run one command with what its caller handed over, and say how it ended."""
    size, files, _, _ = socket.recv_fds(connection, 4, 3)
    said = b""
    while len(said) < int.from_bytes(size, "big"):
        said += connection.recv(65536)
    arguments, environment, folder = json.loads(said)
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    code = run(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(str(code).encode())


def load() -> None:
    """Load what commands need: a login, and the help of some."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for words in (LOADED[0], *(f"{words} --help" for words in LOADED)):
            run(words.split())


def main() -> None:
    """Answer callers until the pod ends."""
    load()
    CALLER.parent.mkdir(exist_ok=True)
    CALLER.write_text(CALL)
    CALLER.chmod(0o755)
    # Nobody asks for the end of a fork: its caller was told.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        SOCKET.unlink(missing_ok=True)
        listening.bind(str(SOCKET))
        listening.listen()
        while True:
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    answer(connection)
                    os._exit(0)


main()
