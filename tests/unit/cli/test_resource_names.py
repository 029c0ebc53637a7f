"""Finding resources by the names that people type."""

import click
import pytest

from stackwright import services
from stackwright.cli import resource_names
from stackwright.foresight.kinds import chart_of, service_kinds
from tests.unit.foresight.clouds import control_plane, galera, keystone, kind, made

DATABASE = made(kind("MariaDBDatabase"), "keystone", spec={"name": "keystone"})
CELL = made(kind("Galera"), "cell1", spec={"storageClass": "local", "storageRequest": "10G"})
CACHE = made(kind("Memcached"), "memcached", spec={})
THERE = (control_plane(), galera(), CELL, keystone(), CACHE, DATABASE)
EVERYTHING = (*service_kinds(), services.control_plane(), kind("MariaDBDatabase"))


@pytest.mark.parametrize(
    ("word", "found"),
    [
        pytest.param("keystone", "keystoneapi/keystone", id="a-service-goes-before-its-database"),
        pytest.param("keystoneapi", "keystoneapi/keystone", id="a-kind-of-which-there-is-one"),
        pytest.param("KeystoneAPI/keystone", "keystoneapi/keystone", id="kind-and-name"),
        pytest.param("keystoneapis.keystone.openstack.org/keystone", "keystoneapi/keystone", id="as-kubectl-prints-it"),
        pytest.param("mariadbdatabase/keystone", "mariadbdatabase/keystone", id="another-kind-of-that-name"),
        pytest.param("galera/openstack", "galera/openstack", id="one-of-several"),
        pytest.param("mariadb/cell1", "galera/cell1", id="by-the-name-of-its-chart"),
        pytest.param("cell1", "galera/cell1", id="by-its-own-name"),
        pytest.param("openstack", "galera/openstack", id="the-first-kind-wins"),
        pytest.param("oscp", "openstackcontrolplane/openstack", id="by-a-short-name"),
    ],
)
def test_a_word_means_a_resource(word: str, found: str) -> None:
    assert resource_names.label(resource_names.choose(word, THERE, EVERYTHING)) == found


def test_an_unknown_name_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(resource_names.NotThere) as raised:
        resource_names.choose("glance", THERE, service_kinds())
    assert raised.value.exit_code == 1
    assert raised.value.message == (
        "There is no glance here; there are galera/cell1, galera/openstack, keystoneapi/keystone, memcached/memcached."
    )


def test_where_there_is_nothing_that_is_said() -> None:
    with pytest.raises(resource_names.NotThere, match="there is nothing yet"):
        resource_names.choose("keystone", (), service_kinds())


@pytest.mark.parametrize(
    ("word", "said"),
    [
        pytest.param("teapot/keystone", "teapot is not a kind for this; there are .*galera", id="an-unknown-kind"),
        pytest.param("galera", "galera means several; say which: galera/cell1, galera/openstack", id="several"),
    ],
)
def test_a_word_that_cannot_be_meant_is_a_wrong_call(word: str, said: str) -> None:
    with pytest.raises(click.UsageError, match=said):
        resource_names.choose(word, THERE, service_kinds())


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param([], "openstack", id="no-cloud-yet"),
        pytest.param(["mine"], "mine", id="the-only-one"),
        pytest.param(["mine", "openstack"], "openstack", id="the-usual-one-of-several"),
    ],
)
def test_the_namespace_that_is_meant(there: list[str], expected: str) -> None:
    assert resource_names.only_namespace(there) == expected


def test_of_several_clouds_one_must_be_named() -> None:
    with pytest.raises(click.UsageError, match="name one with -n: mine, yours"):
        resource_names.only_namespace(["yours", "mine"])


def test_every_service_knows_the_chart_of_its_objects() -> None:
    charts = {kind.kind.name: chart_of(kind) for kind in service_kinds()}
    expected = {"Galera": "mariadb", "KeystoneAPI": "keystone", "Memcached": "memcached", "RabbitMq": "rabbitmq"}
    assert charts == charts | expected
