"""What is Nova's own, beside what its rows say: its cells, and services that work alone."""

import asyncio
import base64
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.blueprint.use import CONTENT, ROLLING, USED_BY, noted
from stackwright.kube.builtin import Deployment, Job, Secret, StatefulSet
from stackwright.kube.conditions import READY, find, is_true
from stackwright.local.apiserver.server import Shared
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.nova import upgrade
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.services import NovaAPI, NovaConductor, NovaNoVNCProxy
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.simulator import Behaviour, Script, Selector
from tests.functional import neighbours
from tests.functional.crds.kubectl import Kubectl
from tests.functional.crds.samples import EXAMPLES, KINDS, documents
from tests.functional.nova_upgrades import IMAGE, Course, has_come_to, is_upgraded
from tests.functional.services.case import ServiceCase
from tests.functional.services.cases.nova import CASES
from tests.functional.services.place import Place
from tests.functional.watching import eventually, gone, is_ready, names, some

SHARED = {"cellDatabaseInstance": "openstack", "messagingBus": {"cluster": "rabbitmq", "vhost": "cell1"}}
FAKE = {"fake": {"computeDriver": "fake.FakeDriver"}}


@pytest.fixture
def case() -> ServiceCase:
    return CASES[0]


@pytest.fixture
def script() -> Script:
    """A cell that is called busy has servers: its computes are never found empty, so that it is not removed."""
    return Script((Behaviour(Selector(labels={"app.kubernetes.io/component": "empty-busy"}), runs_for=None),))


async def ask(place: Place, **cells: Any) -> None:
    await place.ask(cellTemplates={"cell0": {}, **cells})


async def test_nova_comes_up_with_its_cells_and_is_in_the_catalog(
    standing: Place,
) -> None:
    client, namespace, keystone = standing.client, standing.namespace, standing.keystone
    metal = {"metal": {"computeDriver": "ironic.IronicDriver"}}
    await ask(standing, cell1={**SHARED, "novaComputeTemplates": {**FAKE, **metal}})
    ready = await standing.up()
    assert set(ready.status.registeredCells) == {"nova-cell0", "nova-cell1"}
    assert await names(client, NovaCell, namespace) == {"nova-cell0", "nova-cell1"}
    assert await names(client, Deployment, namespace) == {"nova-api", "nova-metadata", "nova-cell1-novncproxy"}
    assert await names(client, StatefulSet, namespace) == {
        "nova-scheduler",
        "nova-cell0-conductor",
        "nova-cell1-conductor",
        "nova-cell1-fake-compute",
        "nova-cell1-metal-compute",
    }
    configured = await client.get(Secret, "nova-cell1-metal-compute-config-data", namespace)
    assert "\n[ironic]\n" in base64.b64decode(configured.data["01-nova.conf"]).decode()
    jobs = {name.rpartition("-")[0] for name in await names(client, Job, namespace)}
    assert jobs == {
        "nova-cell0-conductor-db-sync",
        "nova-cell1-conductor-db-sync",
        "nova-map-cell0",
        "nova-map-cell1",
        "nova-discover-cell1",
    }
    assert {
        "nova",
        "nova-cell1",
        "nova-api-config-data",
        "nova-cell0-conductor-config-data",
        "nova-cell0-manage-config-data",
        "nova-cell0-manage-scripts",
        "nova-metadata-compute-config",
        "nova-metadata-neutron-config",
    } <= await names(client, Secret, namespace)
    assert keystone is not None
    (service,) = await keystone.find_services("compute", "nova")
    found = [endpoint for endpoint in await keystone.endpoints() if endpoint.service_id == service.id]
    urls = {name: f"http://nova-api-{name}.{namespace}.svc:8774/v2.1" for name in ("public", "internal")}
    assert {endpoint.interface: endpoint.url for endpoint in found} == urls
    # Nothing rolled on the way: the API started when both cells were mapped.
    api = await client.get(Deployment, "nova-api", namespace)
    assert api.metadata.annotations["deployment.kubernetes.io/revision"] == "1"
    # A cell has keys for migrations once a machine joins it, and is ready all the while.
    keys = "nova-cell1-migration-ssh-key"
    assert keys not in await names(client, Secret, namespace)
    waited = find((await client.get(NovaCell, "nova-cell1", namespace)).status.conditions, READY)
    # A compute outside of the cluster that Nova knows is discovered once, however it fares.
    outside = await standing.put(NovaExternalCompute, "edpm-0", spec={"cellName": "nova-cell1"})
    joined = await eventually(client, NovaCell, "nova-cell1", namespace, lambda cell: keys in cell.status.hash)
    assert find(joined.status.conditions, READY) == waited
    for phase in ("Starting", "Up"):
        said = {"hostName": "edpm-0", "serviceID": "4711", "phase": phase}
        await neighbours.tell(client, outside, said, ready=phase == "Up")
        met = await eventually(client, Nova, "nova", namespace, lambda nova: bool(nova.status.discoveredHosts))
        assert met.status.discoveredHosts == {"nova-cell1": {"edpm-0": "4711"}}
        assert is_ready(met)
    assert len([name for name in await names(client, Job, namespace) if name.startswith("nova-machines-")]) == 1
    # So is one that a role deploys as any other service, once Ansible has applied it.
    spec = {"playbook": "stackwright.edpm.nova", "secrets": ["nova-cell1-compute-config"]}
    await standing.put(OpenStackDataPlaneService, "nova", spec=spec)
    node = await standing.put(OpenStackDataPlaneNode, "edpm-1", spec={"role": "compute"})
    assert not [name for name in await names(client, Job, namespace) if name.startswith("nova-nodes-")]
    records = [{"name": "nova", "inputHash": "a", "appliedHash": "a"}]
    await neighbours.tell(client, node, {"hostName": "edpm-1", "services": records})
    made = await some(client, Job, namespace, lambda jobs: any("nova-nodes-" in job.metadata.name for job in jobs))
    (job,) = (job for job in made if job.metadata.name.startswith("nova-nodes-cell1-"))
    assert {"name": "HOSTS", "value": "edpm-1"} in job.spec["template"]["spec"]["containers"][0]["env"]
    cell = await client.get(NovaCell, "nova-cell1", namespace)
    assert {name for name, compute in cell.status.novaComputesStatus.items() if compute.deployed} == {"fake", "metal"}


async def test_a_cell_is_added_and_removed_while_the_others_stay(
    standing: Place,
) -> None:
    client, namespace = standing.client, standing.namespace
    await ask(standing, cell1=SHARED)
    await standing.up()
    before = await client.get(StatefulSet, "nova-cell1-conductor", namespace)
    second = {**SHARED, "messagingBus": {"cluster": "rabbitmq", "vhost": "cell2"}, "novaComputeTemplates": FAKE}
    await ask(standing, cell1=SHARED, cell2=second)
    ready = await standing.up()
    assert ready.status.serviceHosts["cell2"] == {"nova-cell2-conductor": 1, "nova-cell2-fake-compute": 1}
    assert set(ready.status.registeredCells) == {"nova-cell0", "nova-cell1", "nova-cell2"}
    api = await eventually(
        client, NovaAPI, "nova-api", namespace, lambda api: is_ready(api) and "nova-cell2" in api.spec.registeredCells
    )
    assert api.spec.registeredCells == ready.status.registeredCells
    # Keys for migrations are also made for machines that get nova-compute as a service of their role.
    keys = "nova-cell2-migration-ssh-key"
    generic = {"playbook": "stackwright.edpm.nova", "secrets": ["nova-cell2-compute-config", keys]}
    await standing.put(OpenStackDataPlaneService, "nova", spec=generic)
    await eventually(client, NovaCell, "nova-cell2", namespace, lambda cell: keys in cell.status.hash)
    assert "nova-cell1-migration-ssh-key" not in await names(client, Secret, namespace)
    # Its computes go first, then what Nova knows of them, then the cell.
    await asyncio.gather(
        eventually(client, NovaCell, "nova-cell2", namespace, lambda cell: not cell.spec.novaComputeTemplates),
        ask(standing, cell1=SHARED),
    )
    await eventually(client, Nova, "nova", namespace, lambda nova: "nova-cell2" not in nova.status.registeredCells)
    assert not (await client.get(Nova, "nova", namespace)).status.serviceHosts.get("cell2")
    await gone(client, NovaCell, "nova-cell2", namespace)
    await gone(client, Secret, "nova-cell2", namespace)
    await gone(client, Secret, keys, namespace)
    left = await standing.up()
    assert set(left.status.registeredCells) == {"nova-cell0", "nova-cell1"}
    # Its logins go with it. Its schema stays, and no pod of another cell was touched.
    await gone(client, TransportURL, "nova-cell2-transport", namespace)
    await gone(client, MariaDBAccount, "nova-cell2", namespace)
    assert {"nova-cell0", "nova-cell1"} <= await names(client, MariaDBAccount, namespace)
    assert "nova-cell1-transport" in await names(client, TransportURL, namespace)
    assert "nova-cell2" in await names(client, MariaDBDatabase, namespace)
    after = await client.get(StatefulSet, "nova-cell1-conductor", namespace)
    assert after.spec["template"] == before.spec["template"]


async def test_a_cell_may_have_a_name_of_35_characters(standing: Place) -> None:
    """The names of its Jobs and of its CronJob would be too long for Kubernetes, and are cut."""
    client, namespace = standing.client, standing.namespace
    cell = "a-cell-whose-name-has-35-characters"
    await ask(standing, **{cell: {**SHARED, "novaComputeTemplates": {"c": FAKE["fake"]}}})
    ready = await standing.up()
    assert set(ready.status.registeredCells) == {"nova-cell0", f"nova-{cell}"}
    conductor = f"nova-{cell}-conductor"
    action = {"spec": {"actions": [{"name": "migrate-data", "id": "first"}]}}
    await client.patch(NovaConductor, conductor, namespace, action)
    await eventually(
        client,
        NovaConductor,
        conductor,
        namespace,
        lambda found: is_ready(found) and [each.state for each in found.status.actions] == ["Succeeded"],
    )
    # A trial runs in a Job as well, before pods are replaced.
    template = {**SHARED, "novaComputeTemplates": {"c": FAKE["fake"]}}
    template["conductorServiceTemplate"] = {"customServiceConfig": "[DEFAULT]\ndebug = true"}
    await ask(standing, **{cell: template})
    await some(client, Job, namespace, lambda jobs: any(is_trial(job) for job in jobs))
    await standing.up()


def is_trial(job: Job) -> bool:
    return job.metadata.labels.get("app.kubernetes.io/component") == "trial" and bool(job.status.get("succeeded"))


async def test_a_cell_without_its_server_stops_no_other(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    broken = {**SHARED, "cellDatabaseInstance": "not-there", "messagingBus": {"cluster": "rabbitmq", "vhost": "cell2"}}
    await ask(standing, cell1=SHARED, cell2=broken)
    await eventually(client, NovaCell, "nova-cell1", namespace, is_ready)
    told = await eventually(
        client,
        Nova,
        "nova",
        namespace,
        lambda nova: "not-there" in str(find(nova.status.conditions, "NovaAllCellDBReady")),
    )
    assert not is_true(told.status.conditions)
    # It heals by itself.
    await neighbours.database_server(client, namespace, "not-there")
    healed = await standing.up()
    assert set(healed.status.registeredCells) == {"nova-cell0", "nova-cell1", "nova-cell2"}


async def test_a_cell_that_is_removed_while_nova_comes_up_is_removed_from_nova_too(standing: Place) -> None:
    """The API waits for another cell, so that nobody was told of the first one yet. But it is mapped."""
    client, namespace = standing.client, standing.namespace
    broken = {**SHARED, "cellDatabaseInstance": "not-there", "messagingBus": {"cluster": "rabbitmq", "vhost": "cell2"}}
    await ask(standing, cell1=SHARED, cell2=broken)
    await some(client, Job, namespace, lambda jobs: any(is_done(job, "nova-map-cell1-") for job in jobs))
    assert await client.find(NovaAPI, "nova-api", namespace) is None
    await ask(standing, cell2=broken)
    deleted = await some(client, Job, namespace, lambda jobs: any(is_done(job, "nova-delete-cell1-") for job in jobs))
    # What was done for it is forgotten, although Nova waits for the other one: else it could not come back.
    assert not any(job.metadata.name.startswith("nova-map-cell1-") for job in deleted)
    # So do its pods: they would try for ever to reach a cell that nobody knows.
    await gone(client, NovaCell, "nova-cell1", namespace)
    await gone(client, StatefulSet, "nova-cell1-conductor", namespace)
    await neighbours.database_server(client, namespace, "not-there")
    left = await standing.up()
    assert set(left.status.registeredCells) == {"nova-cell0", "nova-cell2"}


def is_done(job: Job, name: str) -> bool:
    return job.metadata.name.startswith(name) and bool(job.status.get("succeeded"))


async def test_the_rows_of_conductors_that_are_too_many_are_deleted_by_name(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await ask(standing, cell1={**SHARED, "conductorServiceTemplate": {"replicas": 3}})
    ready = await standing.up()
    assert ready.status.serviceHosts["cell1"] == {"nova-cell1-conductor": 3}
    await ask(standing, cell1=SHARED)
    jobs = await some(client, Job, namespace, lambda jobs: any(is_done(job, "nova-clean-cell1-") for job in jobs))
    (clean,) = (job for job in jobs if job.metadata.name.startswith("nova-clean-"))
    variables = {entry["name"]: entry.get("value") for entry in clean.spec["template"]["spec"]["containers"][0]["env"]}
    assert variables["HOSTS"] == "nova-conductor/nova-cell1-conductor-1 nova-conductor/nova-cell1-conductor-2"
    await eventually(
        client,
        Nova,
        "nova",
        namespace,
        lambda nova: is_ready(nova) and nova.status.serviceHosts["cell1"] == {"nova-cell1-conductor": 1},
    )


async def expose(place: Place, **status: Any) -> None:
    """Let the world outside reach Keystone, and the broker where its status says so."""
    present = await place.client.get(KeystoneAPI, "keystone", place.namespace)
    service = {"public": {"endpointURL": "http://keystone.example.org:5000"}}
    body = {"spec": {"override": {"service": service}}}
    await place.client.patch(KeystoneAPI, present.metadata.name, place.namespace, body)
    broker = await place.put(RabbitMq, "rabbitmq", spec={})
    await neighbours.tell(place.client, broker, status)


async def test_computes_outside_are_configured_once_they_can_reach_what_they_need(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await ask(standing, cell1={**SHARED, "noVNCProxyServiceTemplate": {"enabled": False}})
    await standing.up()
    # Nobody asked for computes outside: the cell is ready without, and says what they would need.
    cell = await client.get(NovaCell, "nova-cell1", namespace)
    assert is_ready(cell)
    told = find(cell.status.conditions, "NovaComputeServiceConfigReady")
    assert told is not None
    assert (told.status, told.reason) == ("True", "NotReachable")
    assert "RabbitMq rabbitmq has no address outside of the cluster" in told.message
    assert "nova-cell1-compute-config" not in await names(client, Secret, namespace)

    await expose(standing, outsideAddress="192.0.2.1:30672")
    found = await eventually(client, Secret, "nova-cell1-compute-config", namespace, bool)
    text = base64.b64decode(found.data["01-nova.conf"]).decode()
    assert "transport_url = rabbit://user:hop@192.0.2.1:30672/" in text
    assert "auth_url = http://keystone.example.org:5000" in text
    assert ".svc" not in text
    cell = await eventually(
        client, NovaCell, "nova-cell1", namespace, lambda cell: "cell1-compute-config" in cell.status.hash
    )
    first = cell.status.hash["cell1-compute-config"]
    assert is_ready(cell)

    await expose(standing, outsideAddress="192.0.2.2:30672")
    await eventually(
        client,
        NovaCell,
        "nova-cell1",
        namespace,
        lambda cell: cell.status.hash.get("cell1-compute-config") not in (first, None),
    )
    await keeps_what_machines_use(standing, first)


async def keeps_what_machines_use(standing: Place, earlier: str) -> None:
    """A machine that was switched off meanwhile has the former configuration, and the cell with it."""
    client, namespace = standing.client, standing.namespace
    machine: Any = {"metadata": {"name": "one", "namespace": namespace}, "spec": {"cellName": "nova-cell1"}}
    await client.apply(NovaExternalCompute, machine)

    async def applied(content: str) -> None:
        record = {"name": "nova-external-compute", "exports": {"nova-cell1-compute-config": content}}
        await client.apply(NovaExternalCompute, {**machine, "status": {"deployment": record}}, subresource="status")

    await applied(earlier)
    (bus,) = [
        one for one in await names(client, Secret, namespace) if one.startswith("rabbitmq-transport-url-nova-cell1")
    ]
    login = base64.b64encode(b"rabbit://another:hop@rabbitmq.example.svc:5672/").decode()
    await client.patch(Secret, bus, namespace, {"data": {"transport_url": login}})
    given = await eventually(client, Secret, "nova-cell1", namespace, lambda one: one.data["transport_url"] == login)
    content = given.metadata.annotations[CONTENT]
    await eventually(
        client,
        NovaConductor,
        "nova-cell1-conductor",
        namespace,
        lambda one: is_ready(one) and noted(one).get("nova-cell1") == content,
    )
    cell = await eventually(client, NovaCell, "nova-cell1", namespace, is_ready)
    assert noted(cell)["nova-cell1"] == ROLLING
    await applied(cell.status.hash["cell1-compute-config"])
    await eventually(client, NovaCell, "nova-cell1", namespace, lambda one: noted(one)["nova-cell1"] == content)


async def test_a_new_image_goes_on_where_its_operator_was_stopped(
    place: Place, kubernetes: dict[str, Path], apiserver: Shared, tmp_path: Path
) -> None:
    """From the tables to the conductors, to all others, to the API, to the data: stopped in each phase, it goes on."""
    client, namespace = place.client, place.namespace
    await place.give(**place.case.passwords)
    images = {f"{service}ContainerImageURL": IMAGE for service in upgrade.IMAGES}
    course, kubectl = (
        Course(client, namespace),
        Kubectl(kubernetes["kubectl"], apiserver.kubeconfig, tmp_path / "cache"),
    )
    async with place.provided():
        async with place.operated():
            await ask(place, cell1=SHARED)
            await place.up()
        async with course.followed():
            await place.ask(cellTemplates={"cell0": {}, "cell1": SHARED}, **images)
            for number, phase in enumerate(upgrade.PHASES):
                async with place.operated():
                    await eventually(client, Nova, "nova", namespace, partial(has_come_to, phase))
                # It may have begun the next one before it was stopped.
                header, row = kubectl("get", "nova", f"--namespace={namespace}").splitlines()
                assert row[header.index("UPGRADE") :].partition(" ")[0] in {*upgrade.PHASES[number:], ""}
            async with place.operated():
                await eventually(client, Nova, "nova", namespace, is_upgraded)
    course.check()


async def test_a_cell_that_is_being_removed_gets_a_new_image_as_all_others_do(standing: Place) -> None:
    """It serves until its servers are deleted; with the old image for weeks, nobody could upgrade the next time."""
    client, namespace = standing.client, standing.namespace
    second = {**SHARED, "messagingBus": {"cluster": "rabbitmq", "vhost": "busy"}, "novaComputeTemplates": FAKE}
    await standing.put(RabbitMq, "rabbitmq", spec={})
    await ask(standing, cell1=SHARED, busy=second)
    await standing.up()
    await ask(standing, cell1=SHARED)
    await some(client, Job, namespace, lambda jobs: any("nova-empty-busy-" in job.metadata.name for job in jobs))
    course = Course(client, namespace)
    images = {f"{service}ContainerImageURL": IMAGE for service in upgrade.IMAGES}
    async with course.followed():
        await standing.ask(cellTemplates={"cell0": {}, "cell1": SHARED}, **images)

        def is_over(nova: Nova) -> bool:
            return not nova.status.upgradePhase and set(nova.status.images.values()) == {IMAGE}

        await eventually(client, Nova, "nova", namespace, is_over)
    order = ["nova-sync-busy", "nova-busy-conductor", "nova-busy-fake-compute", "nova-api", "nova-migrate-busy"]
    assert [name for name in course.got if name in order] == order
    cell = await client.get(NovaCell, "nova-busy", namespace)
    assert set(cell.spec.novaComputeTemplates) == {"fake"}


async def test_the_account_of_before_goes_when_all_of_a_cell_has_another(standing: Place) -> None:
    """The conductors say in their status with what they work, and so does the proxy, which Nova does not look at."""
    client, namespace = standing.client, standing.namespace
    await ask(standing, cell1=SHARED)
    await standing.up()
    secret = await client.get(Secret, "nova-cell1-database", namespace)
    marks = [name for name in secret.metadata.annotations if name.startswith(USED_BY)]
    assert marks == [], "who is named on a Secret writes nothing on it"
    await ask(standing, cell1={**SHARED, "cellDatabaseAccount": "second"})
    await gone(client, MariaDBAccount, "nova-cell1", namespace)
    given = await client.get(Secret, "nova-cell1-database", namespace)
    for reader in (
        await client.get(NovaConductor, "nova-cell1-conductor", namespace),
        await client.get(NovaNoVNCProxy, "nova-cell1-novncproxy", namespace),
    ):
        assert noted(reader)["nova-cell1-database"] == given.metadata.annotations[CONTENT]


async def test_each_service_works_alone_from_secrets(place: Place) -> None:
    client, namespace = place.client, place.namespace
    login = {"ServicePassword": "runs-servers", "MetadataSecret": "between-us"}
    broker = {"hostname": "bus.example.org", "user": "nova", "password": "hop"}
    database = {"hostname": "db.example.org", "port": "3306", "user": "nova", "password": "hush"}
    secrets = {
        "nova-login": {**login, **broker},
        "cell1-broker": broker,
        **{f"nova-{name}-database": {**database, "database": name} for name in ("api", "cell0", "cell1")},
    }
    for name, content in secrets.items():
        body = {"metadata": {"name": name, "namespace": namespace}, "stringData": content}
        await client.apply(Secret, body, field_manager="user")
    alone: list[Any] = [body for body in documents(EXAMPLES / "nova.yaml") if body["kind"] != "Nova"]
    assert len(alone) == 6
    async with place.operated():
        for body in alone:
            body["metadata"]["namespace"] = namespace
            await client.apply(KINDS[body["kind"]], body, field_manager="user")
        waiting = (
            eventually(client, KINDS[body["kind"]], body["metadata"]["name"], namespace, is_ready) for body in alone
        )
        await asyncio.gather(*waiting)
    configured = await client.get(Secret, "conductor-alone-config-data", namespace)
    assert "dbsync.sh" in configured.data
