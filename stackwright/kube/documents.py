"""YAML: what programs wrote, read quickly, and what programs in Go read, written so that they take it as it is meant.

What people write, `handwritten` reads.
"""

import re
from typing import Any

import yaml

# The reader in C takes a seventh of the time of the one in Python; PyYAML may have been built without it.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What helm and kubectl take for a number, once they have left out every `_`, or for an answer.
_NOT_TEXT = re.compile(r"[-+]?((\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|0[oO][0-7]+|0[xX][\da-fA-F]+|0[bB][01]+)|[yYnN]")


def read(text: str) -> list[Any]:
    """Return the documents of a text, without the empty ones."""
    return [body for body in yaml.load_all(text, Loader=_Loader) if body is not None]


class WithoutAliases(yaml.SafeDumper):
    """Writes a value that occurs twice twice: an alias is easily overlooked."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  the signature is PyYAML's
        """Return that nothing is written as a reference to what stands above."""
        return True


class Dumper(WithoutAliases):
    """Writes text of several lines as a block that a person can read, and every text so that it stays one."""


def _string(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    # PyYAML does not take 12e45, 0_9 or y for anything but a text, and would not quote it.
    plain = "'" if _NOT_TEXT.fullmatch(value.replace("_", "")) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else plain)


Dumper.add_representer(str, _string)
