"""What the webhooks of networks and addresses refuse, and what each reconcile says again."""

from typing import Any

import msgspec
import pytest

from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode
from stackwright.api.network import DNSData, DNSDataSpec, DNSHost, IPSet, NetConfig, Reservation
from stackwright.blueprint.addresses.allocation import list_held
from stackwright.controllers import roster
from stackwright.controllers.addresses import checks, controllers, hold, net_configs
from stackwright.kube.resource import ObjectMeta, OwnerReference, Resource, owner_reference
from tests.surroundings import listing
from tests.unit.blueprint.addresses.networks import CTLPLANE, INTERNAL, changed, ip_set, net_config, reservation

TAKEN = reservation("other", "192.168.122.100")


def errors(old: Any, new: Any, *there: Resource) -> list[tuple[str, str]]:
    return [(each.field, each.message) for each in checks[type(new)](old, new, listing(*there)).errors]


def test_a_namespace_has_one_net_config() -> None:
    first = net_config(name="first")
    (found,) = errors(None, net_config(), first)
    assert found == (
        "metadata.name",
        "there is already NetConfig first in namespace openstack, there can only be one",
    )
    # One that was there before this check existed can still be changed.
    assert errors(net_config(), net_config(), first, net_config()) == []


def test_a_name_without_an_address_is_refused() -> None:
    hosts = (DNSHost(ip="192.0.2.1", hostnames=("one",)), DNSHost(ip="192.0.2.0/24", hostnames=("two",)))
    assert errors(None, DNSData(spec=DNSDataSpec(hosts=hosts))) == [
        ("spec.hosts[1].ip", "'192.0.2.0/24' is not an IP address")
    ]
    assert errors(None, DNSData(spec=DNSDataSpec(hosts=hosts[:1]))) == []


@pytest.mark.parametrize(
    ("ip", "name", "refused"),
    [
        pytest.param("10.6.6.6", "compute-0.example.com", True, id="a-machines-name"),
        pytest.param("10.6.6.6", "Compute-0.example.com.", True, id="in-another-spelling"),
        pytest.param("192.0.2.9", "compute-0.example.com", False, id="with-the-address-of-the-machine"),
        pytest.param("10.6.6.6", "compute-1.example.com", False, id="another-name"),
    ],
)
def test_the_name_of_a_machine_leads_nowhere_else(ip: str, name: str, refused: bool) -> None:
    owner = OwnerReference(apiVersion="v1", kind="OpenStackDataPlaneNode", name="compute-0", uid="1", controller=True)
    of_machine = DNSData(
        metadata=ObjectMeta(name="compute-0", ownerReferences=(owner,)),
        spec=DNSDataSpec(hosts=(DNSHost(ip="192.0.2.9", hostnames=("compute-0.example.com", "compute-0")),)),
    )
    new = DNSData(
        metadata=ObjectMeta(name="mine"), spec=DNSDataSpec(hosts=(DNSHost(ip=ip, hostnames=("other", name)),))
    )
    found = errors(None, new, of_machine)
    assert [path for path, _ in found] == (["spec.hosts[0].hostnames[1]"] if refused else [])
    assert all("is a name of OpenStackDataPlaneNode compute-0" in sentence for _, sentence in found)
    # What was accepted before there was such a machine can still be labelled.
    assert errors(new, new, of_machine) == []


def test_a_network_with_reservations_stays() -> None:
    ((path, sentence),) = errors(net_config(), net_config(INTERNAL), net_config(), TAKEN)
    assert path == "spec.networks"
    assert "network ctlplane cannot be removed: it is in use by IPSet other (192.168.122.100)" in sentence
    ((path, _),) = errors(net_config(), net_config(changed(CTLPLANE, vlan=3), INTERNAL), net_config(), TAKEN)
    assert path == "spec.networks[0].subnets[0].vlan"


def test_the_webhook_being_away_changes_no_answer() -> None:
    told = {"reservations": [{"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.100", "vlan": 3}]}
    seen = net_configs.Seen("netconfig", tuple(list_held([TAKEN])), (ip_set(name="other", status=told),))
    tagged = net_config(changed(CTLPLANE, vlan=3), INTERNAL)
    (wait,) = net_configs.decide(net_config(INTERNAL), seen).waits
    assert wait.message.startswith("spec.networks: network ctlplane cannot be removed")
    assert net_configs.decide(tagged, seen).waits == ()
    (wait,) = net_configs.decide(net_config(), seen).waits
    assert wait.message == ("spec.networks[0].subnets[0].vlan: must stay 3: IPSets have addresses in the subnet")
    # And what it says to set back may be set back.
    there = (*seen.ip_sets, TAKEN)
    assert errors(net_config(), tagged, net_config(), *there) == []
    assert errors(tagged, net_config(), tagged, *there) != []
    (wait,) = net_configs.decide(net_config(name="second"), seen).waits
    assert wait.message == "NetConfig netconfig was there first, and a namespace has one at most; delete one of them"


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param([TAKEN], "192.168.122.100 is already reserved by IPSet other", id="another-has-it"),
        pytest.param([], "", id="nobody-has-it"),
        pytest.param([reservation("node", "192.168.122.100")], "", id="it-has-it-itself"),
    ],
)
def test_an_address_in_use_is_refused(there: list[Reservation], expected: str) -> None:
    asked = ip_set({"name": "ctlplane", "fixedIP": "192.168.122.100"})
    assert errors(None, asked, net_config(), *there) == ([("spec.networks[0].fixedIP", expected)] if expected else [])
    if there == [TAKEN]:
        assert errors(None, reservation("node", "192.168.122.100", name="node", owned=False), *there) == [
            ("spec.reservation[ctlplane].address", expected)
        ]


def test_an_address_with_a_prefix_is_refused() -> None:
    ((path, sentence),) = errors(None, reservation("node", "192.0.2.5/24"))
    assert path == "spec.reservation[ctlplane].address"
    assert sentence.startswith("192.0.2.5/24 is not an IP address")
    # One that was there before this check existed still gets its owner.
    wrong = {each.kind: each for each in roster.webhooks(controllers(), listing())}[Reservation]
    assert wrong.validate is not None
    assert (
        wrong.validate(reservation("node", "192.0.2.5/24", owned=False), reservation("node", "192.0.2.5/24")).errors
        == ()
    )


def test_what_the_advice_says_is_not_refused() -> None:
    old, new = (ip_set({"name": "ctlplane", "fixedIP": f"192.168.122.{number}"}) for number in (100, 50))
    # Another one has its address, and it has none.
    assert errors(old, new, net_config(), TAKEN) == []
    ((path, sentence),) = errors(old, new, net_config(), reservation("node", "192.168.122.100"))
    assert (path, sentence.split(":")[0]) == ("spec.networks[0].fixedIP", "must stay 192.168.122.100")


def owned(resource: IPSet, uid: str) -> IPSet:
    """Return an IPSet of a node."""
    reference = owner_reference(OpenStackDataPlaneNode(metadata=ObjectMeta(name="node", uid=uid), spec=NODE.spec))
    owners = (msgspec.convert(reference, OwnerReference),)
    return msgspec.structs.replace(
        resource, metadata=msgspec.structs.replace(resource.metadata, ownerReferences=owners)
    )


NODE = msgspec.convert(
    {"metadata": {"name": "node", "namespace": "openstack", "uid": "new"}, "spec": {"role": "compute"}},
    OpenStackDataPlaneNode,
)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param(
            None, reservation("node", "192.168.122.9", uid="of-a-backup"), "IPSet node with uid", id="address"
        ),
        pytest.param(None, owned(ip_set(), "of-a-backup"), "OpenStackDataPlaneNode node with uid", id="ip-set"),
        pytest.param(None, reservation("node", "192.168.122.9"), "", id="the-owner-is-there"),
        pytest.param(None, owned(ip_set(), "new"), "", id="the-node-is-there"),
        pytest.param(None, reservation("node", "192.168.122.9", owned=False), "", id="without-an-owner"),
        pytest.param(owned(ip_set(), "old"), owned(ip_set(), "old"), "", id="it-was-so-before"),
    ],
)
def test_who_restores_an_owner_that_is_not_there_is_warned(old: Any, new: Any, words: str) -> None:
    for there in ((ip_set(), NODE, net_config()), (ip_set(), NODE)):
        found = checks[type(new)](old, new, listing(*there))
        warned = [each for each in found.warnings if each.startswith("metadata.ownerReferences: ")]
        assert [words in each and "leave ownerReferences out" in each for each in warned] == ([True] if words else [])


@pytest.mark.parametrize("plane", ["", "new", "of-a-backup"])
def test_who_restores_below_an_owner_that_goes_itself_is_warned(plane: str) -> None:
    data_plane = OpenStackDataPlane(metadata=ObjectMeta(name="edpm", namespace="openstack", uid="new"))
    former = msgspec.structs.replace(data_plane, metadata=msgspec.structs.replace(data_plane.metadata, uid=plane))
    owners = (msgspec.convert(owner_reference(former), OwnerReference),) if plane else ()
    above = msgspec.structs.replace(NODE, metadata=msgspec.structs.replace(NODE.metadata, ownerReferences=owners))
    below = owned(ip_set(), "new")
    for new in (below, reservation("node", "192.168.122.9")):
        found = checks[type(new)](None, new, listing(data_plane, above, below, net_config()))
        warned = [each for each in found.warnings if "OpenStackDataPlane edpm with uid of-a-backup" in each]
        assert len(warned) == (plane == "of-a-backup")
        assert found.warnings == tuple(warned)


def test_an_ip_set_may_come_before_its_networks() -> None:
    found = checks[IPSet](None, ip_set(), listing())
    assert found.errors == ()
    assert "there is no NetConfig in namespace openstack yet" in found.warnings[0]


def test_a_net_config_in_use_cannot_be_deleted() -> None:
    assert hold(net_config(), listing(net_config())) == ""
    assert hold(net_config(), listing(net_config(), ip_set())) == (
        "there are still IPSets in the namespace: node; delete them first"
    )
    elder = net_config(name="elder", creationTimestamp="2026-01-01T00:00:00Z")
    younger = net_config(creationTimestamp="2026-01-02T00:00:00Z")
    assert hold(younger, listing(elder, younger, ip_set())) == ""


def test_the_kinds_have_webhooks() -> None:
    served = {each.kind: each for each in roster.webhooks(controllers(), listing())}
    assert set(served) == {NetConfig, IPSet, Reservation, DNSData}
    assert served[NetConfig].hold is not None
