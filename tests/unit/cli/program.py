"""The program, run as a user runs it."""

import subprocess
import sys


def run(*arguments: str, environment: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "stackwright.cli", *arguments]
    clean = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **(environment or {})}
    return subprocess.run(command, env=clean, capture_output=True, text=True, check=False, timeout=60)
