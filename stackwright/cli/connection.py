"""Which cluster a command speaks to: the one that is named, and never one by surprise."""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    # A help text needs no certificates.
    from stackwright.kube.config import Connection

F = TypeVar("F", bound=Callable[..., None])

DEFAULT_CLUSTER = "default"


def connection_options(command: F) -> F:
    """Add --kubeconfig and --context to a command that speaks to a cluster."""
    context = click.option("--context", help="Use this context of the kubeconfig.")
    kubeconfig = click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path),
        help="Use this kubeconfig; else $KUBECONFIG. ~/.kube/config is used only together with --context.",
    )
    return kubeconfig(context(command))


@dataclass(frozen=True)
class Where:
    """Which cloud a command is about, as far as its caller said."""

    name: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None


def cloud_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --name, --kubeconfig, --context and --namespace, and hand them to the command as one `where`."""

    @functools.wraps(command)
    def gathered(
        *, cluster: str | None, kubeconfig: Path | None, context: str | None, namespace: str | None, **others: Any
    ) -> None:
        command(where=Where(cluster, kubeconfig, context, namespace), **others)

    names = click.option(
        "--name",
        "cluster",
        metavar="NAME",
        help="The cluster on this machine of that name. Unless a cluster is named here or by $KUBECONFIG, it is "
        f"{DEFAULT_CLUSTER}.",
    )
    namespaces = click.option(
        "-n",
        "--namespace",
        help="The cloud's namespace; else the only one with an OpenStackControlPlane, or openstack.",
    )
    return connection_options(names(namespaces(gathered)))


def connection_of(where: Where) -> "Connection":
    """Return the way to the cluster: the one that is named, else the one on this machine."""
    from stackwright.kube import config  # noqa: PLC0415  a help text needs none of it

    if where.kubeconfig is not None or where.context is not None:
        if where.name is not None:
            raise click.UsageError(
                "--name is a cluster on this machine; leave away --kubeconfig and --context, or --name"
            )
        return config.load(where.kubeconfig, where.context)
    if where.name is None and os.environ.get("KUBECONFIG"):
        return config.load()
    return config.load(_local(where.name))


def _local(name: str | None) -> Path:
    """Return the kubeconfig of a cluster on this machine that runs."""
    from stackwright.kube.errors import ConfigError  # noqa: PLC0415  a help text needs none of it
    from stackwright.local.cluster import layout, processes  # noqa: PLC0415  likewise

    place = layout.of(name or DEFAULT_CLUSTER)
    state = place.read_state()
    if state is not None and processes.alive(state.first):
        return place.kubeconfig
    if name is not None:
        raise ConfigError(f"The cluster {name} does not run on this machine; bring it up, or name another.")
    raise ConfigError(
        "No cluster is named, and none runs on this machine: bring one up with `stackwright up`, set KUBECONFIG or "
        "name a context; ~/.kube/config alone is not used, so that nobody's cluster is taken by surprise."
    )
