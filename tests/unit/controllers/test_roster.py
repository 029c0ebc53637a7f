"""What an operator runs, which of it the words of --services choose, and what it may do."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright import services
from stackwright.api.service import ServiceResource
from stackwright.api.topology import Topology
from stackwright.controllers import permissions, roster
from stackwright.controllers.controlplane import ServiceOperators
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.service import Environment
from stackwright.controllers.teams import lease_of
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.controller import Controller
from stackwright.kube.errors import ConfigError
from tests.surroundings import nothing_known

CHART = Path(__file__).parents[3] / "charts" / "stackwright"


@pytest.fixture
def controllers() -> tuple[Controller, ...]:
    dialler = Dialler(Client(Connection("https://nowhere.invalid")), inside=True)
    return roster.assemble(dialler, Environment(images={}, charts=Path()))


def names(controllers: tuple[Controller, ...]) -> set[str]:
    return {controller.kind.kind.name for controller in controllers}


def test_every_kind_has_a_controller(controllers: tuple[Controller, ...]) -> None:
    # These are only read: by all that refer to them.
    read = {"Topology", "OpenStackDataPlaneService", "Reservation"}
    assert names(controllers) == {kind.kind.name for kind in services.kinds()} - read
    readers = {controller.kind for controller in controllers if Topology in controller.kinds}
    assert readers >= {kind for kind in services.kinds() if issubclass(kind, ServiceResource)}


def test_every_status_has_one_keeper(controllers: tuple[Controller, ...]) -> None:
    """Two would take each other for strangers, and wake each other without end."""
    kept = Counter(controller.kind.kind.name for controller in controllers if controller.reports)
    assert kept == dict.fromkeys(names(controllers), 1)


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        pytest.param(["memcached"], {"Memcached"}, id="a-service-alone"),
        pytest.param(["mariadb"], {"Galera", "MariaDBDatabase", "MariaDBAccount"}, id="a-server-with-what-is-on-it"),
        pytest.param(["keystone"], {"KeystoneAPI", "KeystoneService", "KeystoneEndpoint"}, id="an-identity-with-users"),
        pytest.param(["core", "rabbitmq"], {"OpenStackControlPlane", "RabbitMq", "TransportURL"}, id="two"),
    ],
)
def test_a_word_chooses_a_service_with_what_goes_with_it(
    controllers: tuple[Controller, ...], words: list[str], kinds: set[str]
) -> None:
    assert names(roster.choose(controllers, words)) == kinds


def test_an_unknown_word_is_answered_with_those_that_there_are(controllers: tuple[Controller, ...]) -> None:
    with pytest.raises(ConfigError, match=r"no controller of teapot; there are those of .*core, .*keystone, mariadb"):
        roster.choose(controllers, ["core", "teapot"])


def test_webhooks_are_those_of_the_chosen_kinds(controllers: tuple[Controller, ...]) -> None:
    def served(*words: str) -> set[str]:
        chosen = roster.choose(controllers, words)
        return {webhook.kind.kind.name for webhook in roster.webhooks(chosen, nothing_known)}

    assert {"OpenStackControlPlane", "KeystoneAPI"} <= served()
    once = [webhook.kind for webhook in roster.webhooks(controllers, nothing_known)]
    assert len(once) == len(set(once)), "the server takes each name once"
    assert served("keystone") == {"KeystoneAPI", "KeystoneService", "KeystoneEndpoint"}
    assert served("memcached") == {"Memcached"}


@pytest.mark.parametrize(
    ("word", "namespaces", "lease"),
    [
        pytest.param("keystone", (), "stackwright-operator-keystone", id="a-service"),
        pytest.param("core", ("cloud",), "stackwright-operator-core-cloud", id="another-namespace-another-lease"),
        pytest.param("core", ("b", "a"), "stackwright-operator-core-c8687a08", id="several-in-any-order"),
        pytest.param("core", ("a", "b"), "stackwright-operator-core-c8687a08", id="several-in-another-order"),
    ],
)
def test_each_service_has_a_lease_of_its_own(word: str, namespaces: tuple[str, ...], lease: str) -> None:
    assert lease_of(word, namespaces) == lease


def test_whoever_answers_for_the_operators_of_services_checks_all_kinds(controllers: tuple[Controller, ...]) -> None:
    known = ServiceOperators("system", "core", {})
    core = roster.choose(controllers, ["core"])
    alone = roster.webhooks(core, nothing_known)
    together = roster.webhooks(core, nothing_known, known)
    assert {webhook.kind.kind.name for webhook in alone} == {"OpenStackControlPlane", "Topology"}
    assert {"OpenStackControlPlane", "KeystoneAPI", "Galera"} <= {webhook.kind.kind.name for webhook in together}


def test_who_starts_the_operators_of_services_goes_with_the_core() -> None:
    dialler = Dialler(Client(Connection("https://nowhere.invalid")), inside=True)
    known = ServiceOperators("system", "core", {"keystone": {"metadata": {"name": "keystone"}}})
    controllers = roster.assemble(dialler, Environment(images={}, charts=Path()), known)
    assert [each.name for each in roster.choose(controllers, ["core"])] == [
        "openstackcontrolplane",
        "serviceoperator",
    ]


def test_the_chart_grants_what_the_controllers_need() -> None:
    assert (CHART / "files" / "permissions.yaml").read_text() == permissions.text(), "run `make crds`"


def test_nothing_is_granted_by_a_wildcard() -> None:
    granted = yaml.safe_load(permissions.text())
    for part in (granted, *granted["services"].values()):
        for rule in (*part["namespaced"], *part["cluster"]):
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])


@pytest.mark.parametrize("word", permissions.teams())
def test_an_operator_of_one_service_may_no_more_than_one_of_all(word: str) -> None:
    for single, everything in zip(permissions.single(word), permissions.everything(), strict=True):
        for place, verbs in single.items():
            assert verbs <= everything[place], place


@pytest.mark.parametrize(
    ("word", "place", "verbs"),
    [
        pytest.param(
            "core", ("", "secrets"), {"get", "list", "watch", "create", "patch"}, id="the-core-makes-passwords"
        ),
        pytest.param("core", ("apps", "deployments"), set(), id="the-core-deploys-nothing-in-a-cloud"),
        pytest.param("core", ("", "pods"), set(), id="the-core-sees-no-pods"),
        pytest.param("keystone", ("", "pods/exec"), {"get", "create"}, id="who-keeps-keys-asks-pods-for-them"),
        pytest.param("memcached", ("", "pods/exec"), set(), id="a-cache-asks-no-pods"),
        pytest.param("mariadb", ("", "pods"), {"get", "list", "watch", "patch"}, id="a-server-hands-its-label-on"),
        pytest.param("rabbitmq", ("", "pods"), {"get", "list", "watch"}, id="a-broker-has-none-to-hand-on"),
        pytest.param("memcached", ("keystone.openstack.org", "keystoneapis/status"), set(), id="not-anothers-status"),
        pytest.param(
            "keystone",
            ("mariadb.openstack.org", "mariadbdatabases"),
            {"get", "list", "watch", "create", "patch"},
            id="a-service-asks-for-its-schema",
        ),
        pytest.param(
            "memcached", ("mariadb.openstack.org", "mariadbdatabases"), {"get", "list", "watch"}, id="a-cache-does-not"
        ),
    ],
)
def test_an_operator_of_one_service_has_the_rights_of_that_service(
    word: str, place: tuple[str, str], verbs: set[str]
) -> None:
    inside, _ = permissions.single(word)
    assert inside.get(place, frozenset()) == verbs


def test_what_is_only_read_is_not_written() -> None:
    inside, outside = permissions.everything()
    assert outside["", "nodes"] == permissions.READ
    assert inside["core.openstack.org", "openstackcontrolplanes"].isdisjoint({"create", "delete"})
    # A schema holds a user's data.
    assert "delete" not in inside["mariadb.openstack.org", "mariadbdatabases"]


@pytest.mark.parametrize(
    ("rule", "covered"),
    [
        pytest.param({"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "watch"]}, True, id="of-ours"),
        pytest.param({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}, False, id="of-no-namespace"),
        pytest.param({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["update"]}, False, id="a-verb"),
    ],
)
def test_what_may_be_handed_on(rule: dict[str, Any], covered: bool) -> None:
    assert permissions.covers(permissions.everything()[0], rule) is covered
