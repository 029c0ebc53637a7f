"""Which cluster a command speaks to: the one that is named, and never one by surprise."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., None])


def connection_options(command: F) -> F:
    """Add --kubeconfig and --context to a command that speaks to a cluster."""
    context = click.option("--context", help="Use this context of the kubeconfig.")
    kubeconfig = click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path),
        help="Use this kubeconfig; else $KUBECONFIG. ~/.kube/config is used only together with --context.",
    )
    return kubeconfig(context(command))
