"""What every cluster has in it: it names no kind twice, gives few rights, and asks only servers that answer."""

from stackwright.local.cluster import addons
from stackwright.local.cluster.credentials import KUBELET_CLIENT, LOAD_BALANCER, ROUTER, VOLUMES
from tests.unit.local.cluster.samples import SETTINGS


def test_each_object_is_there_once() -> None:
    everything = [*addons.ground(), *addons.names(SETTINGS)]
    named = [(kind.kind.name, body["metadata"]["name"]) for kind, body in everything]
    assert len(set(named)) == len(named)
    assert ("Service", "kube-dns") in named
    assert ("StorageClass", "local") in named


def test_our_programs_have_rights_of_their_own_and_not_all() -> None:
    subjects = {
        subject["name"]: body["roleRef"]["name"]
        for kind, body in addons.ground()
        if kind is addons.ClusterRoleBinding
        for subject in body["subjects"]
    }
    own = (VOLUMES, LOAD_BALANCER, ROUTER)
    assert subjects == {KUBELET_CLIENT: "system:kubelet-api-admin", **{name: name for name in own}}
    rules = [rule for kind, body in addons.ground() if kind is addons.ClusterRole for rule in body["rules"]]
    assert not [rule for rule in rules if "*" in (*rule["verbs"], *rule["resources"])]


def test_names_of_the_world_are_asked_only_of_servers_that_there_are() -> None:
    assert "forward . 192.0.2.53 192.0.2.54\n" in addons.corefile(("192.0.2.53", "192.0.2.54"))
    assert "forward" not in addons.corefile(())


def test_the_service_of_names_has_the_address_that_pods_are_told() -> None:
    service = next(body for kind, body in addons.names(SETTINGS) if kind.kind.name == "Service")
    assert service["spec"]["clusterIP"] == SETTINGS.network.dns_service
