"""`stackwright explain`: what a resource waits for, down to a pod's own reason; or, if it is ready, what took long."""

import asyncio
import shutil
import sys
from dataclasses import replace

import click

from stackwright import services
from stackwright.adapters.errors import AdapterError
from stackwright.adapters.identity import Credentials, OtherApi, Session
from stackwright.api.base import CustomResource
from stackwright.blueprint.interfaces import PUBLIC
from stackwright.blueprint.things import Thing
from stackwright.cli import exit_codes, resource_names
from stackwright.cli.commands import openrc, status
from stackwright.cli.connection import Where, client_of, cloud_options
from stackwright.cli.printing import explanation_report
from stackwright.cli.unseen import tell_unseen
from stackwright.foresight import critical_path, explanation, reasons, snapshot, things, tree
from stackwright.foresight.kinds import service_kinds
from stackwright.foresight.objects import Objects, list_kind, resource_name_of
from stackwright.foresight.reasons import Reason
from stackwright.foresight.snapshot import Snapshot
from stackwright.foresight.tree import State
from stackwright.kube import clock
from stackwright.kube.resource import ResourceName

TEXT, JSON = "text", "json"


@click.command(epilog=exit_codes.TABLE)
@click.argument("resource", shell_complete=resource_names.complete_resource)
@click.option("-o", "--output", type=click.Choice([TEXT, JSON]), default=TEXT, show_default=True)
@cloud_options
def explain(*, where: Where, resource: str, output: str) -> None:
    """Say what a resource waits for, down to the pod.

    If the resource is ready, say what took the time. RESOURCE is for example keystone, galera/openstack or
    openstackcontrolplane/openstack. The command follows what it waits for through the resources that it needs, to Jobs
    and pods: an image that cannot be pulled, a volume that is not bound, a probe that fails, the last lines that a
    container wrote before it ended.

    RESOURCE may also be a port of the cloud, as port/ID: then Neutron is asked, as the administrator, why the port has
    no chassis.
    """
    thing = things.find_thing(resource)
    asked = _explain_thing(where, *thing, output) if thing is not None else _explain(where, resource, output)
    code = asyncio.run(asked)
    if code:
        raise click.exceptions.Exit(code)


async def _explain(where: Where, word: str, output: str) -> int:
    async with client_of(where) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        found = await snapshot.read(client, namespace)
        await tell_unseen(client, namespace)
        target = resource_name_of(status.choose(found.objects, word))
        if names := namesakes(found.objects, word, target):
            chosen = f"{target[0].lower()}/{target[1]}"
            click.echo(f"This is about {chosen}; {word} is also the name of {', '.join(names)}.", err=True)
        reason = explanation.explain(found, target)
        logs = [entry.log.log for entry in reasons.flatten(reason) if entry.log is not None]
        if logs:
            found = replace(found, logs=await snapshot.read_logs(client, namespace, logs))
            reason = explanation.explain(found, target)
    _print(namespace, found, target, reason, output)
    return status.code_of(status.trees_below(found.objects, target))


async def _explain_thing(where: Where, thing: Thing, name: str, output: str) -> int:
    async with client_of(where) as client:
        namespace = await resource_names.namespace_of(client, where.namespace)
        provider = services.providers()[thing.type]
        served = [provider.offer(item).urls for item in await list_kind(client, provider.kind, namespace)]
    url = next((urls[PUBLIC] for urls in served if PUBLIC in urls), "")
    if not url:
        raise openrc.NotReady(f"No {provider.kind.kind.name} in namespace {namespace} serves {thing.noun}s yet.")
    auth = (await openrc.read_cloud(where, internal=False))["auth"]
    login = Credentials(auth["username"], auth["password"], auth["project_name"])
    api = OtherApi(Session(auth["auth_url"], login), url)
    try:
        reason = await things.explain(thing, name, api.read)
    except AdapterError as error:
        raise click.ClickException(f"{error}.") from error
    if output == JSON:
        click.echo(explanation_report.report(namespace, reason.state, reason, None))
    else:
        click.echo("\n".join(explanation_report.lines(reason, clock.now())))
    return exit_codes.DONE if reason.state is State.READY else exit_codes.IN_ERROR


def namesakes(objects: Objects, word: str, target: ResourceName) -> list[str]:
    """Return the other resources that a bare word may have meant, but for what the chosen one keeps under its name.

    Pure.
    """
    below = {(node.kind, node.name) for node in tree.flatten(status.trees_below(objects, target))}
    others = [
        resource
        for resource in objects.all()
        if isinstance(resource, CustomResource)
        and resource.metadata.name == word
        and resource_name_of(resource) != target
    ]
    known = service_kinds()
    meant = (one for one in others if type(one) in known or resource_name_of(one) not in below)
    return sorted(resource_names.label(one) for one in meant)


def _print(namespace: str, found: Snapshot, target: ResourceName, reason: Reason, output: str) -> None:
    path = critical_path.trace(found, target)
    if output == JSON:
        state = tree.worst(status.trees_below(found.objects, target))
        click.echo(explanation_report.report(namespace, state, reason, path))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else explanation_report.ENDLESS
    shown = explanation_report.lines(reason, found.now, width)
    if path is not None:
        shown += ["", *explanation_report.path_lines(path, *target)]
    click.echo("\n".join(shown))
