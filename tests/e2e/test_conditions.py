"""What a clean install showed: each condition turned True once, and each service was rolled out once."""

from tests.e2e.cloud import Cloud
from tests.e2e.history import History


def test_each_condition_turns_true_once(cloud: Cloud) -> None:
    history = cloud.installation.history
    kinds = {name.split()[0] for name, _ in history.states}
    assert {"OpenStackControlPlane", "Galera", "Memcached", "RabbitMq", "MariaDBAccount", "TransportURL"} <= kinds
    assert {"KeystoneAPI", "Glance", "PlacementAPI", "Barbican", "KeystoneService", "KeystoneEndpoint"} <= kinds
    assert {"Nova", "NovaCell", "NovaAPI", "NovaScheduler", "NovaConductor", "NovaCompute", "NovaMetadata"} <= kinds
    assert {"NeutronAPI", "OVNDBCluster", "OVNNorthd", "OVNController"} <= kinds
    assert ("KeystoneAPI keystone", "BootstrapReady") in history.states
    assert history.restless() == {}


def test_nothing_is_started_before_all_that_it_reads_is_known(cloud: Cloud) -> None:
    once = (
        "barbican",
        "barbican-worker",
        "glance-default-external",
        "glance-default-internal",
        "keystone",
        "neutron",
        "neutron-ovn-maintenance-worker",
        "neutron-periodic-workers",
        "neutron-rpc",
        "nova-api",
        "nova-cell1-novncproxy",
        "nova-metadata",
        "placement",
    )
    assert cloud.installation.replica_sets == once
    whole = ("barbican", "glance", "keystone", "memcached", "neutron", "nova", "openstack", "placement", "rabbitmq")
    of_ovn = ("ovndbcluster-nb", "ovndbcluster-sb", "ovnnorthd", "ovncontroller")
    of_nova = (
        "api",
        "cell0-conductor",
        "cell1-conductor",
        "cell1-fake-compute",
        "cell1-novncproxy",
        "metadata",
        "scheduler",
    )
    releases = (*whole, *of_ovn, *(f"nova-{name}" for name in of_nova))
    assert cloud.installation.releases == dict.fromkeys(releases, ("deployed", "1"))


def test_a_condition_that_falls_back_is_found() -> None:
    history = History()
    for status in ("Unknown", "True", "False", "True"):
        body = {"type": "Ready", "status": status, "reason": "Because", "message": "so it is"}
        history.note({"kind": "Galera", "metadata": {"name": "one"}, "status": {"conditions": [body]}})
    assert len(history.restless()["Galera one", "Ready"]) == 4
