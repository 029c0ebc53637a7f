"""The examples of Nova become clouds. Servers of databases, and the users of brokers, are played."""

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright import services
from stackwright.controllers.controlplane import controller as umbrella
from stackwright.controllers.service import controllers
from stackwright.kube.builtin import Deployment, Secret, StatefulSet
from stackwright.kube.runtime import Runtime
from stackwright.local.apiserver.server import Shared
from stackwright.services.glance.service import SERVICE as GLANCE
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.neutron.kinds import NeutronAPI
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.services import NovaConductor
from stackwright.services.nova.service import SERVICES
from stackwright.services.placement.service import SERVICE as PLACEMENT
from stackwright.services.rabbitmq.service import SERVICE as RABBITMQ
from tests.functional import neighbours
from tests.functional.commands import command
from tests.functional.running import running
from tests.functional.services.case import CLASS, ServiceCase
from tests.functional.services.cases.nova import CASES
from tests.functional.services.place import PLAYED, Place
from tests.functional.watching import PATIENCE, eventually, is_ready, names

EXAMPLES = Path(__file__).parents[3] / "examples" / "cloud"
PUBLIC = {"public": {"endpointURL": "http://keystone.example.org:5000"}}


@dataclass(frozen=True)
class Example:
    """What an example becomes: its cells, what it has of metadata services, computes and files for machines outside."""

    name: str
    cells: frozenset[str]
    metadata: frozenset[str] = frozenset({"nova-metadata"})
    computes: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()
    reached: frozenset[str] = frozenset()
    """The metadata services that machines outside of the cluster reach."""
    conductors: dict[str, int] = field(default_factory=dict)


TABLE = (
    # What `make up` deploys, and what it deploys with --nodes 0.
    Example(
        "servers",
        cells=frozenset({"cell0", "cell1"}),
        outside=frozenset({"cell1"}),
        reached=frozenset({"nova-metadata"}),
    ),
    Example("openstack", cells=frozenset({"cell0", "cell1"}), computes=frozenset({"nova-cell1-fake-compute"})),
    Example("nova", cells=frozenset({"cell0", "cell1"}), computes=frozenset({"nova-cell1-fake-compute"})),
    Example(
        "nova-three-cells",
        cells=frozenset({"cell0", "cell1", "cell2", "cell3"}),
        outside=frozenset({"cell1", "cell2", "cell3"}),
    ),
    Example(
        "nova-metadata-per-cell",
        cells=frozenset({"cell0", "cell1", "cell2"}),
        metadata=frozenset({"nova-cell1-metadata", "nova-cell2-metadata"}),
        reached=frozenset({"nova-cell1-metadata", "nova-cell2-metadata"}),
    ),
    Example(
        "nova-collapsed-cell",
        cells=frozenset({"cell0", "cell1"}),
        computes=frozenset({"nova-cell1-fake-compute"}),
        conductors={"nova-cell0-conductor": 0},
    ),
)


@pytest.fixture
def case() -> ServiceCase:
    return CASES[0]


def read(example: Example) -> Any:
    """Return the control plane of an example; one has a role of machines, too."""
    return next(yaml.safe_load_all((EXAMPLES / f"{example.name}.yaml").read_text(encoding="utf-8")))


def test_every_example_of_nova_is_in_the_table() -> None:
    found = {path.stem for path in EXAMPLES.glob("*.yaml") if "\n  nova:" in path.read_text(encoding="utf-8")}
    assert found == {example.name for example in TABLE}


@pytest.mark.parametrize("example", TABLE, ids=lambda example: example.name)
async def test_an_example_becomes_a_cloud(example: Example, place: Place) -> None:
    client, namespace = place.client, place.namespace
    plane = services.control_plane()
    blueprints = (RABBITMQ, PLACEMENT, GLANCE, *SERVICES)
    runtime = Runtime(
        client,
        (umbrella(place.environment.source("umbrella").password), *controllers(blueprints, place.environment)),
        namespace=namespace,
    )
    body = read(example)
    body["metadata"]["namespace"] = namespace
    body["spec"]["storageClass"] = CLASS
    async with (
        neighbours.schemas(client, namespace),
        neighbours.broker(client, namespace),
        neighbours.servers(client, namespace),
        neighbours.networks(client, namespace),
        PLAYED["identity"](place, "keystone"),
        running(runtime),
    ):
        await client.patch(KeystoneAPI, "keystone", namespace, {"spec": {"override": {"service": PUBLIC}}})
        await client.apply(plane, body, field_manager="user")
        await eventually(client, plane, "openstack", namespace, is_ready, patience=3 * PATIENCE)
        assert await names(client, NovaCell, namespace) == {f"nova-{cell}" for cell in example.cells}
        assert await names(client, NeutronAPI, namespace) == {"neutron"}
        deployed = await names(client, Deployment, namespace)
        assert {name for name in deployed if name.endswith("metadata")} == example.metadata
        sets = await names(client, StatefulSet, namespace)
        assert {name for name in sets if name.endswith("compute")} == example.computes
        for name, replicas in example.conductors.items():
            conductor = await client.get(NovaConductor, name, namespace)
            assert conductor.spec.replicas == replicas
        found = {secret.metadata.name: secret for secret in await client.list(Secret, namespace)}
        for cell in example.outside:
            config = base64.b64decode(found[f"nova-{cell}-compute-config"].data["01-nova.conf"]).decode()
            assert ".svc" not in config
            assert "novncproxy_base_url = http://" in config
        assert not {f"nova-{cell}-compute-config" for cell in example.cells - example.outside} & set(found)
        for name in example.metadata:
            snippet = base64.b64decode(found[f"{name}-compute-config"].data["05-nova-metadata.conf"]).decode()
            assert ("nova_metadata_host = " in snippet) == (name in example.reached)


@pytest.mark.parametrize("example", TABLE, ids=lambda example: example.name)
async def test_an_example_is_checked_without_a_problem(
    example: Example, place: Place, apiserver: Shared, tmp_path: Path
) -> None:
    body = read(example)
    body["spec"]["storageClass"] = CLASS
    path = tmp_path / "cloud.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    done = await command(apiserver.kubeconfig, place.namespace, "check", "-f", str(path), "-o", "json")
    findings = json.loads(done.stdout)["findings"]
    assert not [one for one in findings if "cannot be determined" in one["message"]]
    # No operator runs here.
    assert not [one for one in findings if one["level"] == "Problem" and one["topic"] == "manifest"]
