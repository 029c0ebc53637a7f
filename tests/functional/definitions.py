"""Our kinds in the server that a run shares: installed when a test first asks for them, and not again for each test.

To apply all of them when nothing is to be changed costs the server most of a second, and hundreds of tests need them.
"""

from collections.abc import Iterable
from functools import cache

from stackwright import services
from stackwright.kube.builtin import CustomResourceDefinition
from stackwright.kube.client import Client
from stackwright.kube.crd import generate, install
from stackwright.kube.resource import JsonObject, Resource
from tests.functional.watching import some

# What this process has put where: the server's authority, which no other server has, and the definition's name.
_installed: dict[tuple[str, str], JsonObject] = {}
# To write all of them anew takes a third of a second, which a test would spend for nothing.
_manifest = cache(generate.manifest)


async def defined(client: Client, kinds: Iterable[type[Resource]] | None = None) -> None:
    """See to it that the server knows these kinds, or else all that we have."""
    manifests = [_manifest(kind) for kind in (services.kinds() if kinds is None else kinds)]
    server = client.connection.certificate_authority
    missing = [body for body in manifests if _installed.get((server, body["metadata"]["name"])) != body]
    if missing:
        await install.install(client, missing)
        _installed.update({(server, body["metadata"]["name"]): body for body in missing})


async def undefined(client: Client) -> None:
    """See to it that the server knows none of our kinds."""
    for kind in services.kinds():
        await client.delete(CustomResourceDefinition, kind.kind.crd_name)
    ours = {kind.kind.crd_name for kind in services.kinds()}
    await some(client, CustomResourceDefinition, "", lambda found: not ours & {one.metadata.name for one in found})
    for place in [place for place in _installed if place[0] == client.connection.certificate_authority]:
        del _installed[place]
