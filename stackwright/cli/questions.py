"""How a question is asked, and when it is not."""

import sys
from collections.abc import Callable

import click


def asker(*, yes: bool) -> Callable[[str], bool]:
    """Return how to ask: not at all after --yes, or where nobody sits who could answer."""
    if yes or not sys.stdin.isatty():
        return lambda _: True
    return lambda question: click.confirm(question, default=True, err=True)
