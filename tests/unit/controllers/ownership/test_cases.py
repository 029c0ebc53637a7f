"""Whose things are, case by case; and a cloud's own resources are never rivals."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from stackwright import services
from stackwright.api.annotations import GENERATED_FOR, RELEASE_OWNER
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.controllers.controlplane.resolution import resolve
from stackwright.controllers.ownership import Around, check, claims, taken
from stackwright.kube.admission.checks import Objections
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.resource import ObjectMeta, OwnerReference
from stackwright.kube.shapes.belonging import MADE_FOR
from stackwright.kube.shapes.child import mark_by
from tests.functional.crds.samples import documents
from tests.surroundings import listing, nothing_known
from tests.unit.controllers.ownership.making import KINDS, changed, made, said, seen, there
from tests.unit.controllers.release.histories import revision

ROOT = Path(__file__).parents[4]
FIRST = made("PlacementAPI", "placement", creationTimestamp="2026-11-15T00:00:00Z")
SECOND = made("PlacementAPI", "placement2", creationTimestamp="2026-11-15T00:00:01Z")
KEYSTONE = made("KeystoneAPI", "keystone")
GLANCE = seen(made("Glance", "glance"))
USER = {"serviceType": "other", "serviceName": "other", "serviceUser": "glance", "secret": "mine"}


def test_what_a_service_claims() -> None:
    keystone = made("KeystoneAPI", "x", {"notificationsBus": {"cluster": "rabbitmq"}})
    found = [str(claim) for claim in claims(keystone, Around(nothing_known, "cloud"))]
    assert [claim for claim in found if not claim.startswith("name ")] == [
        "ConfigMap openstack-config",
        "Secret openstack-config-secret",
        "service of type identity of KeystoneAPI x",
        "public endpoint identity of KeystoneAPI x",
        "internal endpoint identity of KeystoneAPI x",
        "admin endpoint identity of KeystoneAPI x",
        "user admin of KeystoneAPI x",
        "Helm release x",
        "Secret x-config-data",
        "Secret x-fernet-keys",
        "Secret x-credential-keys",
        "MariaDBDatabase x",
        "MariaDBAccount keystone",
        "schema x of Galera openstack",
        "Secret keystone-db-secret",
        "user keystone of Galera openstack",
        "TransportURL x-notifications",
    ]
    assert claims(made("OpenStackControlPlane", "x"), Around(nothing_known, "cloud")) == ()


def test_a_second_placement_is_told_whose_the_account_is_and_the_first_hears_nothing() -> None:
    known = listing(FIRST, SECOND)
    sentence = "spec.databaseAccount: MariaDBAccount placement belongs to PlacementAPI placement; name another account"
    assert said(taken(SECOND, known)) == [sentence]
    assert taken(FIRST, known) == ()
    (error,) = check(None, SECOND, listing(FIRST)).errors
    assert f"{error.field}: {error.message}" == sentence
    assert taken(made("PlacementAPI", "placement2", {"databaseAccount": "placement2"}), known) == ()


@pytest.mark.parametrize(
    ("one", "other", "thing"),
    [
        pytest.param(made("Glance", "x"), made("PlacementAPI", "x"), "Helm release x", id="releases"),
        pytest.param(
            made("PlacementAPI", "x"), made("Memcached", "x-public"), "name x-public", id="objects-of-releases"
        ),
        pytest.param(
            made("PlacementAPI", "a.b", {"databaseAccount": "one"}),
            made("PlacementAPI", "a-b", {"databaseAccount": "two"}),
            "schema a_b of Galera openstack",
            id="schemas-by-what-becomes-of-a-name",
        ),
        pytest.param(
            made("MariaDBAccount", "mine", {"userName": "placement"}, labels={"mariaDBDatabaseName": "placement"}),
            made("PlacementAPI", "placement", {"provisioning": "Job"}),
            "user placement of Galera openstack",
            id="users-of-a-server-that-a-job-makes",
        ),
        pytest.param(
            GLANCE, made("KeystoneService", "other", USER), "user glance of KeystoneAPI keystone", id="keystone-users"
        ),
        pytest.param(
            made("TransportURL", "x"),
            made("Galera", "x", {"secret": ""}, creationTimestamp="2026-11-15T00:00:01Z"),
            "",
            id="what-does-not-meet",
        ),
        pytest.param(
            KEYSTONE,
            made("KeystoneAPI", "second", {"databaseAccount": "second"}),
            "ConfigMap openstack-config",
            id="names-that-do-not-depend-on-the-resource",
        ),
        pytest.param(
            made("Galera", "one", {"external": {"hostname": "db.example", "secret": "root"}}),
            made("Galera", "two", {"external": {"hostname": "db.example", "secret": "root"}}),
            "",
            id="two-that-only-read-what-is-elsewhere",
        ),
    ],
)
def test_things_that_meet(one: Any, other: Any, thing: str) -> None:
    database = made("MariaDBDatabase", "placement", {"name": "unlike"})
    known = listing(one, other, KEYSTONE, database)
    found = [each for resource in (one, other) for each in taken(resource, known)]
    assert [str(each.claim) for each in found][:1] == ([thing] if thing else [])


def test_one_server_elsewhere_is_one_by_whatever_name() -> None:
    servers = [made("Galera", name, {"external": {"hostname": "db.example", "secret": "root"}}) for name in ("a", "b")]
    one, two = (made("MariaDBDatabase", name, {"name": "s"}, labels={"dbName": name}) for name in ("a", "b"))
    assert said(taken(two, listing(one, two, *servers))) == [
        "spec.name: schema s of the server db.example:3306 belongs to MariaDBDatabase a; name another schema"
    ]


def test_who_takes_the_password_from_the_same_place_shares_the_user() -> None:
    agreed = made("KeystoneService", "other", {**USER, "secret": "osp-secret", "passwordSelector": "GlancePassword"})
    assert taken(agreed, listing(GLANCE, agreed, KEYSTONE)) == ()


ELSEWHERE = made(
    "KeystoneAPI",
    "keystone",
    {
        "externalKeystoneAPI": True,
        "override": {"service": {side: {"endpointURL": "http://k"} for side in ("public", "internal")}},
    },
)
IDENTITY = made("KeystoneService", "identity", {"serviceType": "identity", "serviceName": "keystone", "enabled": False})


@pytest.mark.parametrize("keystone", [KEYSTONE, ELSEWHERE], ids=["ours", "elsewhere"])
@pytest.mark.parametrize(
    ("resource", "thing"),
    [
        pytest.param(IDENTITY, "spec.serviceType: service of type identity", id="its-entry"),
        pytest.param(
            made("KeystoneService", "x", {"serviceType": "Identity ", "serviceName": "x"}),
            "spec.serviceType: service of type identity",
            id="a-second-entry-of-its-type",
        ),
        pytest.param(
            made("KeystoneEndpoint", "x", {"serviceName": "identity", "endpoints": {"public": "http://evil"}}),
            "spec.endpoints.public: public endpoint identity",
            id="its-endpoints",
        ),
        pytest.param(
            made("KeystoneEndpoint", "x", {"serviceName": "keystone", "endpoints": {"admin": "http://evil"}}),
            "spec.endpoints.admin: admin endpoint identity",
            id="its-endpoints-by-the-name-alone",
        ),
        pytest.param(
            made("Glance", "glance", {"serviceUser": "admin"}), "spec.serviceUser: user admin", id="a-service"
        ),
        *(
            pytest.param(
                made("KeystoneService", "x", {"serviceType": "x", "serviceName": "x", "serviceUser": user}),
                "spec.serviceUser: user admin",
                id=user,
            )
            for user in ("admin", "ADMIN ", "ådmin", "\uff21DMIN")
        ),
    ],
)
def test_what_is_keystones_own_is_refused_to_everybody(keystone: Any, resource: Any, thing: str) -> None:
    sentence = f"{thing} of KeystoneAPI keystone belongs to KeystoneAPI keystone; "
    # Also where it is older, was accepted by an older operator, and Keystone comes later.
    older = seen(msgspec.structs.replace(resource, metadata=msgspec.structs.replace(
        resource.metadata, creationTimestamp="2020-01-01T00:00:00Z")))  # fmt: skip
    known = listing(keystone, IDENTITY, older) if older.metadata.name != "identity" else listing(keystone, older)
    assert said(taken(older, known))[0].startswith(sentence)
    assert taken(keystone, known) == ()
    around = listing(keystone, IDENTITY) if resource is not IDENTITY else listing(keystone)
    (error,) = check(None, resource, around).errors
    assert f"{error.field}: {error.message}".startswith(sentence)
    assert check(None, keystone, listing(older)).errors == ()


def test_names_that_keystones_database_takes_for_one_are_one() -> None:
    for user in ("Glance", "glancé", "glance "):
        accented = made("KeystoneService", "other", {**USER, "serviceUser": user})
        (error,) = check(None, accented, listing(GLANCE, KEYSTONE)).errors
        assert error.message.startswith("user glance of KeystoneAPI keystone belongs to Glance glance; name another")


def test_a_keystone_that_is_refused_does_not_count() -> None:
    second = seen(made("KeystoneAPI", "second", {"databaseAccount": "second"}), refused=True)
    other = made("KeystoneService", "other", USER)
    known = listing(GLANCE, KEYSTONE, second, other)
    assert Around(known, "cloud").keystones == ("keystone",)
    assert "user glance of KeystoneAPI keystone belongs to Glance glance" in said(taken(other, known))[0]


def test_an_elder_that_changes_its_mind_does_not_take_what_a_younger_one_has() -> None:
    greedy = made("PlacementAPI", "placement", {"databaseAccount": "two"}, generation=2)
    settled = seen(made("PlacementAPI", "placement2", {"databaseAccount": "two"}, creationTimestamp="2026-11-16"))
    known = listing(greedy, settled)
    assert taken(settled, known) == ()
    assert len(taken(greedy, known)) == 1
    assert check(seen(FIRST), greedy, listing(seen(FIRST), settled)).errors
    # Nor a pass later, when its status speaks of its present spec.
    assert taken(settled, listing(seen(greedy, refused=True), settled)) == ()


def test_whoever_has_its_mark_on_a_thing_has_it() -> None:
    account = made("MariaDBAccount", "placement", annotations={MADE_FOR: "PlacementAPI/placement2"})
    known = listing(FIRST, SECOND, account)
    assert taken(SECOND, known) == ()
    assert [each.owner for each in taken(FIRST, known)] == ["PlacementAPI placement2"]


@pytest.mark.parametrize("maker", ["PlacementAPI/gone", "PlacementAPI/placement", ""])
def test_what_is_kept_is_found_again_under_the_same_name_and_by_nobody_else(maker: str) -> None:
    account = made("MariaDBAccount", "placement", annotations={MADE_FOR: maker} if maker else {})
    found = said(taken(FIRST, listing(FIRST, account)))
    assert bool(found) == (maker == "PlacementAPI/gone")
    for sentence in found:
        assert sentence == (
            "spec.databaseAccount: MariaDBAccount placement was created for PlacementAPI gone and is kept for it; name "
            f"another account, or take the annotation {MADE_FOR} off it to hand it over"
        )


def test_a_key_ring_is_of_the_resource_that_it_was_made_for() -> None:
    metadata = ObjectMeta(name="keystone-fernet-keys", namespace="cloud", annotations={GENERATED_FOR: "Glance/x"})
    known: Any = lambda kind, _: [Secret(metadata=metadata)] if kind is Secret else []  # noqa: E731  one line says it
    assert "Secret keystone-fernet-keys was created for Glance x" in said(taken(KEYSTONE, known))[0]


def test_a_registration_that_a_user_made_is_not_taken_over() -> None:
    theirs = made("KeystoneService", "glance")
    sentence = "KeystoneService glance exists and was not created for this resource; give this resource another name"
    assert said(taken(GLANCE, listing(GLANCE, theirs, KEYSTONE))) == [f"metadata.name: {sentence}, or delete it"]
    # Who comes later, and is not the service itself, is refused at the door.
    (error,) = check(None, theirs, listing(GLANCE, KEYSTONE)).errors
    assert error.message == "KeystoneService glance belongs to Glance glance; give this resource another name"
    ours = made("KeystoneService", "glance", annotations={mark_by("stackwright"): "digest"})
    assert taken(GLANCE, listing(GLANCE, ours, KEYSTONE)) == ()
    assert check(None, ours, listing(GLANCE, KEYSTONE)).errors == ()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(Secret, "keystone-config-data", id="the-configuration"),
        pytest.param(Secret, "openstack-config-secret", id="the-passwords-of-the-cloud"),
        pytest.param(ConfigMap, "openstack-config", id="the-address-of-the-cloud"),
    ],
)
def test_what_a_user_made_under_a_name_of_ours_is_not_taken_over(kind: type[Any], name: str) -> None:
    theirs, uid = there(kind, name), KEYSTONE.metadata.uid
    (sentence,) = said(taken(KEYSTONE, listing(KEYSTONE, theirs)))
    assert f"{kind.kind.name} {name} exists, was not created for this resource and is left alone; rename or" in sentence
    assert sentence.endswith(f"set the annotation {RELEASE_OWNER}: operator to hand it over")
    assert check(None, KEYSTONE, listing(theirs)).errors
    # What a version before this one made has its owner; what an orphaning left over, and `render` printed, a mark.
    owner = OwnerReference(apiVersion="v1", kind="KeystoneAPI", name="keystone", uid=uid, controller=True)
    for metadata in (
        {"ownerReferences": (owner,)},
        {"annotations": {mark_by("stackwright"): "digest"}},
        {"annotations": {MADE_FOR: "KeystoneAPI/keystone"}},
    ):
        assert taken(KEYSTONE, listing(KEYSTONE, there(kind, name, **metadata))) == ()


def test_a_second_service_of_a_type_in_one_catalog_is_warned_of() -> None:
    second = made("PlacementAPI", "placement2", {"databaseAccount": "two"})
    sentence = (
        "metadata.name: KeystoneAPI keystone lists a service of type placement already, that of PlacementAPI "
        "placement; clients look for the type alone and take either, so remove one of the two"
    )
    first = seen(FIRST)
    assert check(None, second, listing(first, KEYSTONE)).errors == ()
    assert check(None, second, listing(first, KEYSTONE)).warnings == (sentence,)
    # Nor is it said again with each change, nor of its own entry, nor of another Keystone's.
    assert check(second, changed(second), listing(first, second, KEYSTONE)).warnings == ()
    assert check(None, made("KeystoneService", "placement"), listing(first, KEYSTONE)).warnings == ()
    assert check(None, first, listing(KEYSTONE, GLANCE)).warnings == ()
    by_hand = made("KeystoneService", "aaa", {"serviceType": "placement", "serviceName": "aaa", "serviceUser": "aaa"})
    (warning,) = check(None, by_hand, listing(first, KEYSTONE)).warnings
    assert "that of PlacementAPI placement" in warning
    assert check(None, by_hand, listing(KEYSTONE)).warnings == ()


OWN_HOST = {"messagingBus": {"cluster": "rabbitmq", "vhost": "second"}}
CELLS = {"cellTemplates": {"cell0": {}, "cell1": {"messagingBus": {"cluster": "rabbitmq"}}}}


def test_two_services_of_a_kind_do_not_take_each_others_calls() -> None:
    advice = "name another broker, or a vhost of its own, in its messagingBus"
    for kind, cells, account in (("Barbican", {}, "databaseAccount"), ("Nova", CELLS, "apiDatabaseAccount")):
        first, same = seen(made(kind, "first", cells)), made(kind, "second", {account: "second", **cells})
        assert taken(first, listing(first, same)) == ()
        queues = f"virtual host for the queues of {kind}: / of RabbitMq rabbitmq belongs to {kind} first; {advice}"
        assert f"spec.messagingBus: {queues}" in said(taken(same, listing(first, same)))
        assert queues in [error.message for error in check(None, same, listing(first)).errors]
    # With a virtual host of its own it works, and services of different kinds share one.
    first, other = seen(made("Barbican", "first")), made("Barbican", "second", {"databaseAccount": "b2", **OWN_HOST})
    for rival in (first, made("NeutronAPI", "neutron", OWN_HOST)):
        assert not [each for each in said(taken(other, listing(rival, other))) if "queues" in each]


def test_the_networks_of_ovn_are_of_one_neutron() -> None:
    first, second = (
        seen(made("NeutronAPI", "first")),
        made("NeutronAPI", "second", {"databaseAccount": "n2", **OWN_HOST}),
    )
    assert taken(first, listing(first, second)) == ()
    assert "OVN northbound database belongs to NeutronAPI first; use another namespace, because each has one such" in (
        " ".join(said(taken(second, listing(first, second))))
    )
    without = made("NeutronAPI", "second", {"databaseAccount": "n2", "ml2MechanismDrivers": ["mine"], **OWN_HOST})
    assert not [each for each in said(taken(without, listing(first, without))) if "OVN" in each]
    # One whose user names another database does not touch this one.
    snippet = "[ovn]\novn_nb_connection = tcp:192.0.2.1:6641\n"
    away = made("NeutronAPI", "second", {"databaseAccount": "n2", "customServiceConfig": snippet, **OWN_HOST})
    assert not [each for each in said(taken(away, listing(first, away))) if "OVN" in each]


def test_an_installation_by_hand_is_handed_over_or_asked_about() -> None:
    theirs = there(Secret, "keystone-config-data")
    word = made("KeystoneAPI", "keystone", annotations={RELEASE_OWNER: "operator"})
    assert taken(word, listing(word, theirs)) == ()
    # The release that helm made by hand blocks until the user says whose it is; until then nothing is touched.
    assert taken(KEYSTONE, listing(KEYSTONE, theirs, by_hand("keystone"))) == ()


def by_hand(name: str) -> Secret:
    """Return the record of a release that a hand made, or that somebody forged."""
    record = revision(1, hand=True).secret
    labels = {**record.metadata.labels, "name": name}
    metadata = msgspec.structs.replace(record.metadata, namespace="cloud", labels=labels)
    return msgspec.structs.replace(record, metadata=metadata)


def test_a_record_that_somebody_forged_hands_nothing_over() -> None:
    """A release that the operator has recorded is not stopped by such a record, and would take the object."""
    status = msgspec.structs.replace(KEYSTONE.status, hash={"release": "0123456789abcdef"})
    recorded = msgspec.structs.replace(KEYSTONE, status=status)
    theirs = there(Secret, "keystone-config-data")
    assert taken(recorded, listing(recorded, theirs, by_hand("keystone")))


def test_a_record_hands_nothing_over_to_a_resource_without_a_release() -> None:
    cell, theirs = made("NovaCell", "cell"), there(Secret, "cell-config-data")
    assert taken(cell, listing(cell, theirs, by_hand("cell")))


def test_a_part_is_as_old_as_its_service() -> None:
    late = made("KeystoneService", "other", USER, creationTimestamp="2026-11-15T00:00:05Z")
    mark = {mark_by("stackwright"): "digest"}
    part = made("KeystoneService", "glance", creationTimestamp="2026-11-15T00:00:09Z", annotations=mark)
    known = listing(GLANCE, late, part, KEYSTONE)
    assert taken(part, known) == ()
    assert taken(GLANCE, known) == ()
    assert taken(late, known)
    assert check(None, part, listing(GLANCE, late, KEYSTONE)).errors == ()


def cloud(spec: dict[str, Any]) -> list[Any]:
    """Return the resources that an umbrella stands for."""
    umbrella = msgspec.convert({"spec": spec}, services.control_plane())
    instances = resolve(umbrella.spec, services.sections(), frozenset())
    return [made(each.resource_name[0], each.name, each.spec) for each in instances]


def everything() -> dict[str, Any]:
    sections = {section.name: {"enabled": True} for section in services.sections()}
    several: dict[str, Any] = {"templates": {"openstack": {}, "openstack-cell1": {}}}
    return {"secret": "osp-secret", "storageClass": "local", **sections, "galera": several, "notificationsBus": {
        "cluster": "rabbitmq"}}  # fmt: skip


EXAMPLES = [
    body
    for path in (*sorted((ROOT / "examples" / "cloud").glob("*.yaml")), ROOT / "examples/kinds/control-plane.yaml")
    for body in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    if body and body["kind"] == OpenStackControlPlane.kind.name
]


@pytest.mark.parametrize("spec", [everything(), *(body["spec"] for body in EXAMPLES)])
def test_the_resources_of_one_cloud_are_no_rivals(spec: dict[str, Any]) -> None:
    resources = cloud(spec)
    assert len(resources) > 2
    known = listing(*resources)
    for each in resources:
        assert said(taken(each, known)) == []
        assert check(None, each, listing(*(other for other in resources if other is not each))) == Objections()


@pytest.mark.parametrize("path", [*sorted((ROOT / "examples" / "kinds").glob("*.yaml"))], ids=lambda path: path.stem)
def test_examples_can_be_written_beside_each_other(path: Path) -> None:
    resources = [
        msgspec.convert({**body, "metadata": {"namespace": "cloud", **body["metadata"]}}, KINDS[body["kind"]])
        for body in documents(path)
        if body["kind"] in KINDS
    ]
    assert resources
    for each in resources:
        assert said(taken(each, listing(*resources))) == []


def test_a_second_way_to_one_of_our_own_servers_is_that_server() -> None:
    own = made("Galera", "openstack", {"storageClass": "local", "storageRequest": "1G"})
    alias = made("Galera", "alias", {"external": {"hostname": "OpenStack.cloud.svc.cluster.local.", "secret": "root"}})
    evil = made("MariaDBDatabase", "evil", {"name": "placement"}, labels={"dbName": "alias"})
    known = listing(own, alias, seen(FIRST), evil)
    sentence = "spec.name: schema placement of Galera openstack belongs to PlacementAPI placement; name another schema"
    assert said(taken(evil, known)) == [sentence]
    assert taken(seen(FIRST), known) == ()


def test_schemas_whose_names_differ_in_case_only_are_one() -> None:
    own = made("Galera", "openstack", {"storageClass": "local", "storageRequest": "1G"})
    evil = made("MariaDBDatabase", "evil", {"name": "PLACEMENT"}, labels={"dbName": "openstack"})
    (found,) = taken(evil, listing(own, seen(FIRST), evil))
    assert "belongs to PlacementAPI placement" in str(found)


def gateways(namespace: str, selector: dict[str, str] | None = None, **spec: Any) -> Any:
    """Return an OVNController; each namespace is a second younger than the one before it in the alphabet."""
    since = f"2026-11-15T00:00:{ord(namespace[0]) - ord('a'):02}Z"
    said = {"nodeSelector": selector, **spec} if selector is not None else spec
    return made("OVNController", "ovn", said, namespace=namespace, uid=namespace, creationTimestamp=since)


WHOSE = (
    "spec.nodeSelector: Open vSwitch of the selected nodes belongs to OVNController ovn in the namespace a; "
    "select nodes that it does not select too, because a node has one switch"
)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        pytest.param(None, None, True, id="both-select-all-nodes"),
        pytest.param({"gateway": "yes"}, None, True, id="all-nodes-and-some-of-them"),
        pytest.param({"gateway": "yes"}, {"zone": "b"}, True, id="a-node-may-have-both-labels"),
        pytest.param({"cloud": "a"}, {"cloud": "b"}, False, id="no-node-has-both"),
        pytest.param({"cloud": "a", "gateway": "yes"}, {"cloud": "b", "gateway": "yes"}, False, id="one-label-differs"),
    ],
)
def test_the_switch_of_a_node_has_one_owner_in_all_namespaces(
    one: dict[str, str] | None, other: dict[str, str] | None, meet: bool
) -> None:
    first, second = gateways("a", one), gateways("b", other)
    known = listing(first, second)
    assert said(taken(second, known)) == ([WHOSE] if meet else [])
    # The first is not touched, also when it has not been looked at since, and both are of the same second.
    assert taken(first, known) == ()
    assert bool(check(None, gateways("c", other), listing(first)).errors) is meet
    assert bool(check(gateways("b", {"cloud": "x"}), second, listing(gateways("a", one), second)).errors) is meet


def test_twins_of_two_namespaces_are_told_apart() -> None:
    pair = [made("OVNController", "ovn", namespace=space, uid=space) for space in ("a", "b")]
    assert [len(taken(each, listing(*pair))) for each in pair] == [0, 1]


def test_which_nodes_a_topology_selects_is_found_out_on_the_node() -> None:
    second = gateways("b", topologyRef={"name": "gateways"})
    assert taken(second, listing(gateways("a"), second)) == ()


def test_a_namespace_has_one_ovn_controller_on_whichever_nodes() -> None:
    first, second = gateways("a", {"cloud": "a"}), made("OVNController", "x", {"nodeSelector": {"cloud": "b"}})
    second = msgspec.structs.replace(second, metadata=msgspec.structs.replace(second.metadata, namespace="a"))
    (why,) = said(taken(second, listing(first, second)))
    assert "belongs to OVNController ovn; a namespace has one OVNController" in why
