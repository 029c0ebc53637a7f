"""Two of every kind, all with their defaults, on a real API server: nothing of the first is touched, and all rests.

Two controllers that write one field in turn would go on for ever. That shows in the server's audit and nowhere else.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from stackwright.controllers.release.kinds import KINDS as MADE_KINDS
from stackwright.kube import paths
from stackwright.kube.client import Client
from stackwright.kube.errors import Invalid
from stackwright.kube.resource import JsonObject, Resource
from stackwright.kube.transport import Call
from stackwright.local.apiserver.server import ApiServer
from tests.chaos.fuzzing import watched
from tests.chaos.fuzzing.operator import NAME
from tests.chaos.fuzzing.scene import operated, settled
from tests.functional.crds.samples import KINDS, LEAST
from tests.functional.services.rows import rows

# For how long a settled cluster is watched, in seconds.
WINDOW = 60.0
# By these names others look for them.
NAMES = {
    "Galera": "openstack",
    "OpenStackDataPlaneRole": "compute",
    **{row.kind.kind.name: row.name for row in rows()},
}
# What others have not taken yet, and what the webhooks ask for.
SPECS: dict[str, JsonObject] = {
    "KeystoneEndpoint": {"serviceName": "orders"},
    "KeystoneService": {"serviceName": "orders", "serviceType": "orders", "serviceUser": "orders"},
    "MariaDBAccount": {"userName": "orders"},
    "NovaMetadata": {"apiDatabaseSecret": "database-by-hand"},
    "OpenStackDataPlaneRole": {"nodeTemplate": {"ansibleSSHPrivateKeySecret": "key"}},
}
# What the server itself writes.
UNSTABLE = ("managedFields", "resourceVersion", "generation")


async def things(client: Client, namespace: str) -> dict[str, JsonObject]:
    """Return all that is in the namespace, without statuses."""
    found: dict[str, JsonObject] = {}
    kinds: tuple[type[Resource], ...] = (*KINDS.values(), *MADE_KINDS)
    for kind in kinds:
        path = paths.collection(kind.kind, namespace)
        reply = await client.transport.request(Call("GET", path, {}, kind=kind.kind))
        for body in msgspec.json.decode(reply.body)["items"]:
            body.pop("status", None)
            metadata = {key: value for key, value in body["metadata"].items() if key not in UNSTABLE}
            found[f"{kind.kind.name} {metadata['name']}"] = {**body, "metadata": metadata}
    return found


async def ask(client: Client, namespace: str, suffix: str) -> dict[str, str]:
    """Ask for one of every kind; return which of them the webhooks refused, and why."""
    refused: dict[str, str] = {}
    for name, kind in KINDS.items():
        metadata = {"name": NAMES.get(name, name.lower()) + suffix, "namespace": namespace}
        try:
            await client.apply(
                kind, {"metadata": metadata, "spec": LEAST[name] | SPECS.get(name, {})}, field_manager="user"
            )
        except Invalid as error:
            refused[name] = str(error)
    return refused


@pytest.mark.parametrize("webhooks", [pytest.param(True, id="webhooks-on"), pytest.param(False, id="webhooks-off")])
async def test_a_second_one_of_every_kind_touches_nothing_of_the_first(
    kubernetes: dict[str, Path],
    private_apiserver: ApiServer,
    private_client: Client,
    private_namespace: str,
    tmp_path: Path,
    tell: Callable[[str], None],
    webhooks: bool,
) -> None:
    client, namespace, audit = private_client, private_namespace, private_apiserver.audit_log
    running = operated(
        private_apiserver, client, namespace, kubernetes["helm"], tmp_path / "operator", webhooks=webhooks
    )
    async with running as operator:
        assert await ask(client, namespace, "") == {}
        assert await settled(operator, audit) is not None, "the first ones did not come to rest"
        before = await things(client, namespace)
        refused = await ask(client, namespace, "2")
        assert await settled(operator, audit) is not None, "the second ones did not come to rest"
        after = await things(client, namespace)
        calm = datetime.now(UTC).isoformat()
        await asyncio.sleep(WINDOW)  # That is the time in which nothing must be written.
        written = Counter(watched.writes(audit, NAME, calm))
        tell(
            f"two of {len(KINDS)} kinds, webhooks {'on' if webhooks else 'off'}: {len(before)} things, then "
            f"{len(after)}; refused at once: {', '.join(refused) or 'none'}; "
            f"{sum(written.values())} writes in {WINDOW:g} s after that"
        )
    assert written == {}
    assert operator.troubles == []
    changed = {name: (said, after.get(name)) for name, said in before.items() if after.get(name) != said}
    assert changed == {}
