"""What a Nova would become: its children are imagined to report all that they declare."""

from pathlib import Path

import msgspec

from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs.need import Outside
from stackwright.controllers.service import Environment
from stackwright.foresight import imagined_release
from stackwright.foresight.imagined_world import ImaginedWorld, secret_of
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.nova import NOVA

CELL1 = {
    "cellDatabaseInstance": "openstack",
    "messagingBus": {"cluster": "rabbitmq", "vhost": "cell1"},
    "novaComputeTemplates": {"fake": {"computeDriver": "fake.FakeDriver"}},
}
TEMPLATES = {"cell0": {"cellDatabaseInstance": "openstack"}, "cell1": CELL1}


def test_hosts_are_discovered_where_the_computes_of_a_cell_run() -> None:
    spec = {"secret": "osp-secret", "apiDatabaseInstance": "openstack", "cellTemplates": TEMPLATES}
    nova = msgspec.convert({"metadata": {"name": "nova", "namespace": "trial"}, "spec": spec}, Nova)
    world = ImaginedWorld(Outside("trial"))
    for login in ("api", "cell1"):
        content = {"transport_url": "rabbit://nova:word@bus.example.org:5672/"}
        world.add(secret_of(f"rabbitmq-transport-url-nova-{login}-transport", content))
    images = {"nova": ComponentImage("registry.example/nova:1")}
    found = imagined_release.imagine_all(NOVA, nova, world, Environment(images, Path("charts")))
    assert set(found[0].values["jobs"]) == {"map-cell0", "map-cell1", "discover-cell1"}
    assert {outcome.resource.metadata.name for outcome in found} == {
        *("nova", "nova-api", "nova-scheduler", "nova-metadata", "nova-cell0", "nova-cell0-conductor", "nova-cell1"),
        *("nova-cell1-conductor", "nova-cell1-novncproxy", "nova-cell1-fake-compute"),
    }
