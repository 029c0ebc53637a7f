"""The programs of Open vSwitch and OVN that ours start and ask."""

import subprocess


class Failed(Exception):
    """A program failed; the message is what it said."""


def run(*command: str, seconds: float = 15) -> str:
    """Run a program and return what it printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except (subprocess.TimeoutExpired, OSError) as error:
        raise Failed(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(command[:4])}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout.strip()


def say(text: str) -> None:
    """Print a line at once."""
    print(f"stackwright: {text}", flush=True)
