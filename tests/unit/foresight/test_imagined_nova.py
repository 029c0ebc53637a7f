"""What a Nova would become, and in which order: its children are imagined to report all that they declare."""

from pathlib import Path

import msgspec

from stackwright.api.keystone import KeystoneService, KeystoneServiceStatus
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs.need import Outside
from stackwright.controllers.service import Environment
from stackwright.controllers.service.decide import Seen, decide
from stackwright.foresight import imagined_release
from stackwright.foresight.imagined_release import Outcome
from stackwright.foresight.imagined_world import ImaginedWorld, secret_of
from stackwright.kube import clock
from stackwright.kube.resource import Condition
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.nova import NOVA

CELL1 = {
    "cellDatabaseInstance": "openstack",
    "messagingBus": {"cluster": "rabbitmq", "vhost": "cell1"},
    "novaComputeTemplates": {"fake": {"computeDriver": "fake.FakeDriver"}},
}
TEMPLATES = {"cell0": {"cellDatabaseInstance": "openstack"}, "cell1": CELL1}


IMAGES = {"nova": ComponentImage("registry.example/nova:1")}
ENVIRONMENT = Environment(IMAGES, Path("charts"))


def nova() -> Nova:
    spec = {"secret": "osp-secret", "apiDatabaseInstance": "openstack", "cellTemplates": TEMPLATES}
    return msgspec.convert({"metadata": {"name": "nova", "namespace": "trial"}, "spec": spec}, Nova)


def imagined() -> tuple[ImaginedWorld, tuple[Outcome, ...]]:
    world = ImaginedWorld(Outside("trial"))
    for login in ("api", "cell1"):
        content = {"transport_url": "rabbit://nova:word@bus.example.org:5672/"}
        world.add(secret_of(f"rabbitmq-transport-url-nova-{login}-transport", content))
    return world, imagined_release.imagine_all(NOVA, nova(), world, ENVIRONMENT)


def test_hosts_are_discovered_where_the_computes_of_a_cell_run() -> None:
    _, found = imagined()
    assert set(found[0].values["jobs"]) == {"map-cell0", "map-cell1", "discover-cell1"}
    assert {outcome.resource.metadata.name for outcome in found} == {
        *("nova", "nova-api", "nova-scheduler", "nova-metadata", "nova-cell0", "nova-cell0-conductor", "nova-cell1"),
        *("nova-cell1-conductor", "nova-cell1-novncproxy", "nova-cell1-fake-compute"),
    }


def test_a_cell_is_created_when_keystone_has_the_user_and_then_stays() -> None:
    world, _ = imagined()
    user = world(KeystoneService, "nova")
    assert user is not None
    world.add(msgspec.structs.replace(user, status=KeystoneServiceStatus()))

    def cells() -> tuple[set[str], set[str]]:
        intent = decide(NOVA, world.add(nova()), Seen(world, clock.now()), ENVIRONMENT)
        made = {item.key.name for item in intent.children if item.of is NovaCell}
        return made, {wait.message for wait in intent.waits if wait.condition == "NovaAllCellReady"}

    assert cells() == ({"nova-cell0", "nova-cell1"}, set()), "those that are there do not wait"
    del world.objects[NovaCell, "nova-cell1"]
    assert cells() == ({"nova-cell0"}, {"NovaCell nova-cell1 is created after KeystoneService/nova"})
    said = (Condition(type="Ready", status="True", reason="Ready"),)
    world.add(msgspec.structs.replace(user, status=KeystoneServiceStatus(conditions=said)))
    assert cells() == ({"nova-cell0", "nova-cell1"}, set())
