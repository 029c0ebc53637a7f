"""Who needs whom in a cloud."""

from typing import Any

import pytest

from stackwright.foresight import dependencies, tree
from stackwright.foresight.objects import Objects
from stackwright.foresight.tree import Needed, State
from tests.unit.foresight.clouds import control_plane, galera, keystone, kind, made, ready

BUS = {"secret": "osp-secret", "databaseInstance": "cell1", "notificationsBus": {"cluster": "bus"}}
ELSEWHERE = {
    "secret": "osp-secret",
    "databaseInstance": "openstack",
    "externalKeystoneAPI": True,
    "override": {"service": {name: {"endpointURL": "http://elsewhere:5000"} for name in ("public", "internal")}},
}


@pytest.mark.parametrize(
    ("resource", "needed"),
    [
        pytest.param(keystone(), {("Galera", "openstack"), ("Memcached", "memcached")}, id="by-default"),
        pytest.param(
            keystone(spec=BUS),
            {("Galera", "cell1"), ("Memcached", "memcached"), ("RabbitMq", "bus")},
            id="as-the-spec-names-them",
        ),
        pytest.param(keystone(spec=ELSEWHERE), set(), id="what-runs-elsewhere-needs-nothing"),
        pytest.param(galera(), set(), id="infrastructure-needs-nothing"),
    ],
)
def test_which_services_a_service_stands_on(resource: Any, needed: set[tuple[str, str]]) -> None:
    assert set(dependencies.list_services(resource)) == needed


@pytest.mark.parametrize(
    ("resource", "needed"),
    [
        pytest.param(
            made(kind("MariaDBDatabase"), "keystone", metadata={"labels": {"dbName": "cell1"}}, spec={"name": "k"}),
            ("Galera", "cell1"),
            id="a-schema-its-server",
        ),
        pytest.param(
            made(
                kind("MariaDBAccount"),
                "keystone",
                metadata={"labels": {"mariaDBDatabaseName": "keystone"}},
                spec={"userName": "k", "secret": "s"},
            ),
            ("MariaDBDatabase", "keystone"),
            id="an-account-its-schema",
        ),
        pytest.param(
            made(kind("TransportURL"), "x", spec={"rabbitmqClusterName": "bus"}),
            ("RabbitMq", "bus"),
            id="a-url-a-broker",
        ),
        pytest.param(
            made(
                kind("KeystoneService"),
                "teapot",
                spec={
                    "serviceType": "tea",
                    "serviceName": "teapot",
                    "serviceUser": "teapot",
                    "secret": "s",
                    "passwordSelector": "p",
                },
            ),
            ("KeystoneAPI", "keystone"),
            id="an-entry-of-the-catalog-the-only-keystone",
        ),
        pytest.param(
            made(kind("KeystoneEndpoint"), "teapot", spec={"serviceName": "teapot", "endpoints": {}}),
            ("KeystoneService", "teapot"),
            id="endpoints-their-service",
        ),
    ],
)
def test_what_was_made_for_a_service_names_its_server(resource: Any, needed: tuple[str, str]) -> None:
    assert dependencies.list_needed(resource, Objects([keystone(), resource])) == (needed,)


def test_what_a_service_keeps_goes_before_the_server_that_it_is_on() -> None:
    found = dependencies.list_needed(keystone(), Objects([keystone()]))
    assert found.index(("MariaDBDatabase", "keystone")) < found.index(("Galera", "openstack"))


def test_a_control_plane_needs_what_it_stands_for() -> None:
    entry = {"kind": "Galera", "name": "openstack", "ready": True}
    assert dependencies.list_needed(control_plane(status={**ready(), "services": [entry]}), Objects([])) == (
        ("Galera", "openstack"),
    )


def test_what_a_service_can_do_without_is_needed_where_it_is_there() -> None:
    spec = {"secret": "osp-secret", "databaseInstance": "openstack", "memcachedInstance": "memcached"}
    nova, neutron = (
        made(kind("Nova"), "nova", spec={"secret": "osp-secret"}),
        made(kind("NeutronAPI"), "neutron", spec=spec),
    )
    alone, both = Objects([nova]), Objects([nova, neutron])
    assert ("NeutronAPI", "neutron") not in dependencies.list_needed(nova, alone)
    assert ("NeutronAPI", "neutron") in dependencies.list_needed(nova, both)


def test_the_tree_tells_how_what_is_needed_is() -> None:
    (database, identity) = tree.build(Objects([keystone(), galera(status=ready("False", "Info"))]))
    assert database.needs == ()
    assert Needed("Galera", "openstack", State.WAITING, service=True) in identity.needs
    assert Needed("Memcached", "memcached", None, service=True) in identity.needs
