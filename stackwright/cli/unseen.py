"""Says that no operator works in a namespace: nothing in it would get a status, and so no word of its own."""

import click

from stackwright.foresight import operators
from stackwright.kube.builtin import Namespace
from stackwright.kube.client import Client
from stackwright.kube.errors import Denied


async def tell_unseen(client: Client, namespace: str) -> None:
    """Say so on standard error, if no operator works in a namespace. A user who may not read it is told nothing."""
    if message := operators.describe_blindness(await operators.read(client), namespace):
        missing = f"There is no namespace {namespace}; see whether its name is right."
        click.echo(message if await _is_there(client, namespace) else missing, err=True)


async def _is_there(client: Client, namespace: str) -> bool:
    """Return whether there is a namespace, or may be one that nobody lets us see."""
    try:
        return await client.find(Namespace, namespace) is not None
    except Denied:
        return True
