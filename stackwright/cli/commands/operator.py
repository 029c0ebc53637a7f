"""`stackwright operator`: the controllers, in one process or in one for each service."""

import asyncio
import importlib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stackwright.cli.connection import connection_options

if TYPE_CHECKING:
    # A help text needs none of it.
    from stackwright.controllers.operator_process import Operation

SYSTEM = "stackwright-system"


@dataclass(frozen=True)
class Options:
    """What stands on the command line."""

    services: str
    namespaces: tuple[str, ...]
    kubeconfig: Path | None
    context: str | None
    request_timeout: float
    images: Path | None
    charts: Path | None
    operators: Path | None
    leader_election: bool
    health_port: int
    webhooks: str
    webhook_port: int
    webhook_service: str
    network_policies: str
    api_server_ports: tuple[int, ...]
    verbose: bool


@click.command()
@click.option(
    "--services", default="", metavar="A,B", help="Run only the controllers of these services. By default all."
)
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    help="Work only on this namespace; repeatable. By default on all namespaces.",
)
@connection_options
@click.option(
    "--images",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="STACKWRIGHT_IMAGES",
    help="Which image each component runs: a file in the format of images/manifest.yaml. Also $STACKWRIGHT_IMAGES.",
)
@click.option(
    "--charts",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="STACKWRIGHT_CHARTS",
    help="The folder of the charts. By default that of the checkout or of the image. Also $STACKWRIGHT_CHARTS.",
)
@click.option(
    "--operators",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="With --services core, in a cluster: the folder with the Deployments of the services' operators.",
)
@click.option("--leader-election/--no-leader-election", default=True, help="Work only while holding the leases.")
@click.option("--health-port", default=8080, show_default=True, help="The port of /healthz, /readyz and /metrics.")
@click.option(
    "--webhooks",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Check resources when they are written.",
)
@click.option("--webhook-port", default=9443, show_default=True, help="The port of the webhooks.")
@click.option(
    "--webhook-service", default="stackwright-webhook", help="The Service in front of the webhooks, in a cluster."
)
@click.option(
    "--network-policies",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Close all connections between pods except those that services need.",
)
@click.option(
    "--api-server-port",
    "api_server_ports",
    type=click.IntRange(1, 65535),
    multiple=True,
    default=(443, 6443),
    show_default=True,
    help="The port at which pods may reach the cluster's own API; repeatable.",
)
@click.option("--verbose", is_flag=True, help="Log more.")
def operator(**options: Any) -> None:
    """Run the controllers of all services, or of some.

    It runs until it gets a signal. In a pod it uses the pod's service account; elsewhere it uses the cluster that
    --kubeconfig, --context or $KUBECONFIG names. Each service has a lease, so that only one operator works on it.
    """
    load_log()
    from stackwright.adapters.helm import packages  # noqa: PLC0415  a help text needs none of it
    from stackwright.cli import log_lines  # noqa: PLC0415  likewise
    from stackwright.controllers import dialling, operator_process  # noqa: PLC0415  likewise
    from stackwright.kube import config  # noqa: PLC0415  likewise

    asked = Options(**options)
    chosen = _teams(asked.services)
    inside = dialling.is_inside() and asked.kubeconfig is None and asked.context is None
    connection = config.in_cluster() if inside else config.load(asked.kubeconfig, asked.context)
    if asked.operators is not None and (chosen != ("core",) or not inside):
        raise click.UsageError(
            "--operators starts the services' own operators in a cluster; it goes with --services core"
        )
    operation = _operation(asked, chosen, connection.namespace if inside else "")
    log_lines.configure(verbose=asked.verbose)
    # What a killed operator has left would take the room of this one, for as long as their pod exists.
    packages.sweep(Path(tempfile.gettempdir()))
    asyncio.run(operator_process.operate(connection, operation))


def load_log() -> None:
    """Load structlog without rich, which would show tracebacks on terminals: an operator has none, and saves 4 MB."""
    if "rich" in sys.modules or "structlog" in sys.modules:
        return
    # What is None here cannot be imported.
    sys.modules["rich"] = None  # type: ignore[assignment]  # as the documentation of `import` says
    try:
        importlib.import_module("structlog")
    finally:
        # Others may still load it, to show how far a download is.
        del sys.modules["rich"]


def _operation(asked: Options, chosen: tuple[str, ...], own_namespace: str) -> "Operation":
    """Return what to do; an operator without a namespace of its own is outside of the cluster."""
    from stackwright.adapters.helm import Renderer  # noqa: PLC0415  a help text needs none of it
    from stackwright.blueprint.policies import Surroundings  # noqa: PLC0415  likewise
    from stackwright.cli import artifacts  # noqa: PLC0415  likewise
    from stackwright.cli.commands.crds import OLDEST_KUBERNETES  # noqa: PLC0415  likewise
    from stackwright.controllers.controlplane import read_prepared  # noqa: PLC0415  likewise
    from stackwright.controllers.operator_process import Operation, Webhooks  # noqa: PLC0415  likewise
    from stackwright.controllers.service import Environment  # noqa: PLC0415  likewise

    images, charts = artifacts.component_images(asked.images), artifacts.charts(asked.charts)
    around = Surroundings(own_namespace, asked.api_server_ports) if asked.network_policies == "on" else None
    webhooks = Webhooks(asked.webhook_service if own_namespace else "", asked.webhook_port)
    return Operation(
        environment=Environment(images, charts, renderer=Renderer(artifacts.helm(), trusted=charts), around=around),
        system=own_namespace or SYSTEM,
        oldest=OLDEST_KUBERNETES,
        inside=bool(own_namespace),
        services=chosen,
        namespaces=_namespaces(asked.namespaces),
        election=asked.leader_election,
        health_port=asked.health_port,
        webhooks=webhooks if asked.webhooks == "on" else None,
        operators=read_prepared(asked.operators, own_namespace) if asked.operators is not None else None,
        patience=asked.request_timeout,
    )


def _namespaces(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the namespaces, each once; an empty name stands for none, as it always did."""
    return tuple(dict.fromkeys(name for name in names if name))


def _teams(names: str) -> tuple[str, ...]:
    """Return the teams that a list with commas names; a name that is none is a wrong call."""
    from stackwright import services  # noqa: PLC0415  a help text needs none of it
    from stackwright.controllers.teams import team_of_kind  # noqa: PLC0415  likewise

    chosen = tuple(name.strip() for name in names.split(",") if name.strip())
    known = {team_of_kind(kind) for kind in services.kinds()}
    if unknown := [name for name in chosen if name not in known]:
        raise click.BadParameter(
            f"there is no service {unknown[0]}; there are {', '.join(sorted(known))}", param_hint="--services"
        )
    return chosen
