"""A Go module like ours in small: a binary that two programs share, and one that stands alone."""

from pathlib import Path

from stackwright.local.programs import Program

PROGRAMS = {
    "left": Program("left", "tiny", "servers"),
    "right": Program("right", "tiny", "servers"),
    "alone": Program("alone", "tiny", "alone"),
}
MAIN = """\
package main

import (
	"os"
	"path/filepath"
)

var version = "unknown"

func main() {
	os.Stdout.WriteString(filepath.Base(os.Args[0]) + " " + version + "\\n")
}
"""


def write_module(folder: Path) -> Path:
    for package in ("servers", "alone"):
        (folder / package).mkdir(parents=True)
        (folder / package / "main.go").write_text(MAIN)
    (folder / "go.mod").write_text("module example.invalid/tiny\n\ngo 1.21\n")
    (folder / "go.sum").write_text("")
    return folder


class Said:
    """Keeps what is said, for a test to read."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.updates: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def update(self, text: str) -> None:
        self.updates.append(text)
