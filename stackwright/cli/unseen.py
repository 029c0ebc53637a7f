"""Says that no operator works in a namespace: nothing in it would get a status, and so no word of its own."""

import click

from stackwright.foresight import operators
from stackwright.kube.client import Client


async def tell_unseen(client: Client, namespace: str) -> None:
    """Say so on standard error, if no operator works in a namespace. A user who may not read it is told nothing."""
    if message := operators.describe_blindness(await operators.read(client), namespace):
        click.echo(message, err=True)
