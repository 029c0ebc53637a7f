"""`stackwright validate`: tries a cloud with Tempest, in a pod, and says what does not work."""

import asyncio
import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterable
from typing import Any

import click

from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.cli import artifacts, exit_codes, resource_names
from stackwright.cli.connection import DEFAULT_CLUSTER, Where, client_of, cloud_options
from stackwright.cli.parameters import Duration
from stackwright.cli.questions import asker
from stackwright.cli.validation import report, results, running
from stackwright.cli.validation.manifests import Login, Request
from stackwright.cli.validation.results import Findings
from stackwright.foresight import mirror, tree
from stackwright.foresight.checks import cluster_state
from stackwright.foresight.objects import list_kind
from stackwright.foresight.tree import Branch, State
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.client import Client
from stackwright.kube.errors import ConfigError
from stackwright.local.progress import Progress, Shown
from stackwright.services.keystone import clouds as keystone_clouds
from stackwright.services.keystone.kinds import KeystoneAPI

TEXT, JSON = "text", "json"
# What the image manifest, and the folder of images/, call it.
IMAGE = "tempest"
INTERNAL, PUBLIC = "internal", "public"
_SETTING = re.compile(r"[A-Za-z_-]+\.[A-Za-z0-9_-]+")


class NotReady(click.ClickException):
    """The cloud cannot be tried yet; the message says what it waits for."""

    exit_code = exit_codes.NOT_READY


class Pattern(click.ParamType[str]):
    """A regular expression, checked before anything is started."""

    name = "pattern"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it as it is."""
        try:
            re.compile(str(value))
        except re.error as error:
            self.fail(f"{value!r} is not a regular expression: {error}", param, ctx)
        return str(value)


class Setting(click.ParamType[tuple[str, str]]):
    """An option of tempest.conf with its value: SECTION.OPTION=VALUE."""

    name = "setting"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return name and value."""
        if isinstance(value, tuple):
            return value
        name, sign, text = str(value).partition("=")
        if not sign or not _SETTING.fullmatch(name.strip()):
            self.fail(f"{value!r} is not an option; write SECTION.OPTION=VALUE", param, ctx)
        return name.strip(), text.strip()


@click.command(epilog=exit_codes.TABLE)
@click.argument("selections", nargs=-1, type=Pattern(), metavar="[TESTS]...")
@click.option("--exclude", type=Pattern(), default="", metavar="PATTERN", help="Do not run tests with such a name.")
@click.option("--list", "list_only", is_flag=True, help="Print the names of the tests, and run none.")
@click.option(
    "--workers", type=click.IntRange(min=1), help="How many tests run at once.  [default: one a CPU, at most 4]"
)
@click.option("--external-network", default="", metavar="NAME", help="Take floating IPs from this network.")
@click.option("--no-login", is_flag=True, help="Do not log in to servers.")
@click.option("--public", is_flag=True, help="Use the public endpoints instead of the internal ones.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    type=Setting(),
    metavar="SECTION.OPTION=VALUE",
    help="Set an option of tempest.conf; repeatable.",
)
@click.option("--image", default="", metavar="REFERENCE", help="Run this image instead of ours.")
@click.option("--yes", is_flag=True, help="Install packages that building the image needs without asking.")
@click.option("--timeout", type=Duration(least=60), default="2h", show_default=True, help="How long it may take.")
@click.option("--skipped", is_flag=True, help="Also print why tests were skipped.")
@click.option("-o", "--output", type=click.Choice([TEXT, JSON]), default=TEXT, show_default=True)
@cloud_options
def validate(*, where: Where, **options: Any) -> None:
    """Test a cloud with Tempest, OpenStack's own tests.

    \b
      stackwright validate
      stackwright validate tempest.api.compute tempest.api.network
      stackwright validate 'tempest.api.identity.*password' --exclude negative

    TESTS are names of tests, or regular expressions that are found in them; without any, the smoke tests are run. They
    run in a pod in the cloud's namespace, with users and projects of their own. What the cloud does not have is
    skipped. Everything that the tests make in the cloud is removed, also when you interrupt them. The exit code is 0 if
    no test failed, 1 if one failed or has no result, and 3 if the cloud is not ready.
    """  # noqa: D301  click keeps the lines after its mark as they are
    asked = Request(
        selections=options["selections"],
        exclude=options["exclude"],
        list_only=options["list_only"],
        workers=options["workers"] or 0,
        external_network=options["external_network"],
        login=not options["no_login"],
        settings=dict(options["settings"]),
        timeout=options["timeout"],
    )
    began = time.monotonic()
    with Shown() as progress:
        interface = PUBLIC if options["public"] else INTERNAL
        namespace, login = asyncio.run(_look(where, interface))
        image = options["image"] or provide(where, progress, yes=options["yes"])
        found = asyncio.run(_validate(where, namespace, image, login, asked, progress))
    if found.error:
        raise click.ClickException(found.error)
    if asked.list_only:
        click.echo("\n".join(found.names))
        return
    took = time.monotonic() - began
    lines = report.lines(found, took, skipped=options["skipped"])
    click.echo(json.dumps(results.as_json(found, took)) if options["output"] == JSON else "\n".join(lines))
    if not found.succeeded:
        raise click.exceptions.Exit(exit_codes.FAILED)


async def _look(where: Where, interface: str) -> tuple[str, Login]:
    """Return the cloud's namespace, and how a pod logs in there; raise an error if the cloud is not ready."""
    async with client_of(where) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        require_ready(tree.build(await mirror.read(client, namespace)), namespace)
        return namespace, await read_login(client, namespace, interface)


async def _validate(
    where: Where, namespace: str, image: str, login: Login, asked: Request, progress: Progress
) -> Findings:
    # Whoever ends us, as a job of CI does whose time is up, ends the tests as Ctrl-C does.
    task = asyncio.current_task()
    if task is not None and threading.current_thread() is threading.main_thread():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        async with client_of(where) as client:
            reference = image or await operators_image(client, namespace)
            return await running.validate(client, namespace, reference, login, asked, progress)
    except asyncio.CancelledError:
        raise click.Abort from None


def require_ready(nodes: Iterable[Branch], namespace: str) -> None:
    """Raise an error that says what a cloud waits for, if it is not ready. Pure."""
    roots = tuple(nodes)
    planes = tuple(node for node in roots if node.kind == OpenStackControlPlane.kind.name) or roots
    if not planes:
        raise NotReady(f"There is no cloud in namespace {namespace}; create an OpenStackControlPlane there.")
    for node in planes:
        if node.state is not State.READY:
            why = node.message or "its operator has not reported on it yet"
            raise NotReady(f"{node.kind} {node.name} is not ready: {why} `stackwright status` shows all of it.")


async def read_login(client: Client, namespace: str, interface: str) -> Login:
    """Return where a pod finds the administrator's login; the password itself is not read here."""
    keystone = next(iter(await list_kind(client, KeystoneAPI, namespace)), None)
    config = await client.find(ConfigMap, keystone_clouds.CONFIG, namespace)
    secret = await client.find(Secret, keystone_clouds.SECRET, namespace)
    if keystone is None or config is None or secret is None:
        raise NotReady(
            f"Nobody can log in: namespace {namespace} has no ConfigMap {keystone_clouds.CONFIG} or Secret "
            f"{keystone_clouds.SECRET}. Keystone's operator writes both when it is ready."
        )
    return login_at(keystone, interface)


def login_at(keystone: KeystoneAPI, interface: str) -> Login:
    """Return the login at one of Keystone's endpoints. Pure."""
    url = keystone.status.apiEndpoints.get(interface, "").rstrip("/")
    return Login(
        config=keystone_clouds.CONFIG,
        secret=keystone_clouds.SECRET,
        cloud=keystone_clouds.CLOUD,
        auth_url=f"{url}/v3" if url and not url.endswith("/v3") else url,
        interface=interface,
        authorities=keystone.spec.tls.caBundleSecretName or "",
    )


def provide(where: Where, progress: Progress, *, yes: bool) -> str:
    """Have the image in a cluster on this machine, built from here if it is missing; return its reference.

    Other clusters pull it: then this returns nothing, and their operators know its name.
    """
    elsewhere = where.kubeconfig is not None or where.context is not None
    if elsewhere or (where.name is None and os.environ.get("KUBECONFIG")):
        return ""
    if not (artifacts.CHECKOUT / "images" / IMAGE).is_dir():
        return ""
    from stackwright.local.images import building, loading  # noqa: PLC0415  only a cluster on this machine needs it

    first = loading.node_of(where.name or DEFAULT_CLUSTER)
    images = building.build([IMAGE], building.catalogue(), ask=asker(yes=yes), progress=progress)
    loading.load(images, first, progress=progress)
    return images[0].reference


async def operators_image(client: Client, namespace: str) -> str:
    """Return the image that the operators of a cluster name, or that this checkout does."""
    stated = cluster_state.images_of(await cluster_state.read(client, namespace)) or {}
    if IMAGE in stated:
        return stated[IMAGE].reference
    raise ConfigError(
        f"The operators of this cluster name no image {IMAGE}. Push ours with `stackwright image push {IMAGE}`, and "
        "name it with --image."
    )
