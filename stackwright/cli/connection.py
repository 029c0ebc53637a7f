"""Which cluster a command speaks to: the one that is named, and never one by surprise."""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stackwright.cli.parameters import Duration

if TYPE_CHECKING:
    # A help text needs no certificates.
    from stackwright.kube.client import Client
    from stackwright.kube.config import Connection

F = TypeVar("F", bound=Callable[..., None])

DEFAULT_CLUSTER = "default"
# Whose the fields are that a command sets.
FIELD_MANAGER = "stackwright"


# How long a person waits for a silent server; kubectl's option of the same name says another time.
PATIENCE = 20.0


def connection_options(command: F) -> F:
    """Add --kubeconfig, --context and --request-timeout to a command that speaks to a cluster."""
    patience = click.option(
        "--request-timeout",
        type=Duration(least=1),
        default=f"{PATIENCE:g}s",
        show_default=True,
        help="How long the cluster has to answer a request: 5s, 1m.",
    )
    context = click.option("--context", help="Use this context of the kubeconfig.")
    kubeconfig = click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path),
        help="Use this kubeconfig. By default $KUBECONFIG. ~/.kube/config is used only together with --context.",
    )
    return kubeconfig(context(patience(command)))


@dataclass(frozen=True)
class Where:
    """Which cloud a command is about, as far as its caller said."""

    name: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None
    # Not a part of where it is.
    patience: float = field(default=PATIENCE, compare=False)


def cloud_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --name, --kubeconfig, --context and --namespace, and hand all of them to the command as one `where`."""

    @functools.wraps(command)
    def gather(
        *,
        cluster: str | None,
        kubeconfig: Path | None,
        context: str | None,
        namespace: str | None,
        request_timeout: float,
        **others: Any,
    ) -> None:
        command(where=Where(cluster, kubeconfig, context, namespace, request_timeout), **others)

    names = click.option(
        "--name",
        "cluster",
        metavar="NAME",
        help=f"Use the cluster of this name on this machine. By default {DEFAULT_CLUSTER}, unless $KUBECONFIG or "
        "another option names a cluster.",
    )
    namespaces = click.option(
        "-n",
        "--namespace",
        help="The cloud's namespace. By default the only one with an OpenStackControlPlane, or openstack.",
    )
    return connection_options(names(namespaces(gather)))


def client_of(where: Where, *, field_manager: str = FIELD_MANAGER) -> "Client":
    """Return a client of the cluster that is meant."""
    return client_on(connection_of(where), where.patience, field_manager=field_manager)


def client_on(connection: "Connection", patience: float, *, field_manager: str = FIELD_MANAGER) -> "Client":
    """Return a client for a command: whoever waits for it hears of a silent server in time."""
    from stackwright.kube.client import Client  # noqa: PLC0415  a help text needs none of it

    return Client(connection, field_manager=field_manager, timeout=patience, patience=patience)


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
