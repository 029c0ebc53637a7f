"""How many connections Nova keeps open, against how many a database server takes: a warning shows the sum."""

from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.blueprint import my_cnf
from stackwright.controllers import doors, needs
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.nova import connection_limits
from tests.surroundings import nothing_known
from tests.unit.blueprint.resolving import look_at
from tests.unit.services.novas import nova

SMALL = "[mysqld]\nmax_connections = 30\n"
SHARED = {"cell0": {}, "cell1": {"cellDatabaseInstance": "openstack", "messagingBus": {"cluster": "rabbitmq-cell1"}}}
POOL = "[database]\nmax_pool_size = 100\n"


def galera(name: str = "openstack", **spec: Any) -> Galera:
    said = {"storageClass": "local", "storageRequest": "1G", **spec}
    return msgspec.convert({"metadata": {"name": name, "namespace": "openstack"}, "spec": said}, Galera)


def told(*servers: Galera, **spec: Any) -> dict[str, str]:
    return dict(connection_limits.advice(nova(**spec), needs.sight(look_at(*servers))))


def shared(**spec: Any) -> dict[str, int]:
    return {share.service: share.total for share in connection_limits.shares(nova(**spec), "openstack")}


def test_services_of_all_cells_have_a_pool_for_each_database() -> None:
    # Those of the API, of cell0 and of cell1; two processes serve the API and the metadata.
    assert shared(cellTemplates=SHARED) == {
        "nova-api": 2 * 15,
        "nova-scheduler": 15,
        "nova-metadata": 2 * 15,
        "cell0-conductor": 15,
        "cell1-conductor": 10,
        "cell1-novncproxy": 5,
    }
    apart = {"cell0": {}, "cell1": {"cellDatabaseInstance": "other", "hasAPIAccess": False}}
    assert shared(cellTemplates=apart)["cell1-conductor"] == 0
    assert shared(cellTemplates=apart)["nova-api"] == 2 * 10


def test_replicas_workers_and_pools_are_what_the_user_says() -> None:
    template = {"replicas": 3, "customServiceConfig": f"{POOL}[conductor]\nworkers = 4\n"}
    cells = {**SHARED, "cell1": {**SHARED["cell1"], "conductorServiceTemplate": template}}
    assert shared(cellTemplates=cells)["cell1-conductor"] == 3 * 4 * (100 + 5)


@pytest.mark.parametrize(
    ("servers", "spec", "sums"),
    [
        pytest.param((galera(),), {}, [], id="the-default-has-room"),
        pytest.param((galera(customServiceConfig=SMALL),), {}, ["keep 105 connections", "is 30;"], id="a-small-server"),
        pytest.param(
            (galera(),),
            {"apiServiceTemplate": {"replicas": 8, "customServiceConfig": POOL}},
            ["max_connections is 1024", "nova-api 8 x 2 x 205"],
            id="large-pools",
        ),
        pytest.param((), {"apiServiceTemplate": {"customServiceConfig": POOL}}, [], id="nobody-knows-the-server"),
    ],
)
def test_a_sum_that_a_server_cannot_take_is_told(servers: tuple[Galera, ...], spec: Any, sums: list[str]) -> None:
    found = told(*servers, cellTemplates=SHARED, **spec)
    assert list(found) == (["spec.apiDatabaseInstance"] if sums else [])
    for part in sums:
        assert part in found["spec.apiDatabaseInstance"]


def test_an_umbrella_is_told_of_the_servers_that_it_makes_itself() -> None:
    spec = {
        "secret": "s",
        "storageClass": "local",
        "galera": {"templates": {"openstack": {"customServiceConfig": SMALL}}},
        "nova": {"template": {"cellTemplates": SHARED}},
    }
    plane = msgspec.convert(
        {"metadata": {"name": "cloud", "namespace": "here"}, "spec": spec}, services.control_plane()
    )
    warnings = doors.check(None, plane, nothing_known).warnings
    assert [one for one in warnings if one.startswith("spec.nova.template.apiDatabaseInstance: Nova may keep 105")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[mysqld]\nmax_connections = 7", 7),
        ("[mysqld]\nmax-connections=7 # few\n[mariadbd]\nmax_connections=9", 9),
        ("[client]\nmax_connections = 7", 0),
        ("[mysqld]\nmax_connections = many", 0),
        ("", 0),
    ],
)
def test_a_number_of_my_cnf_is_the_last_one_that_a_server_reads(text: str, found: int) -> None:
    assert my_cnf.number(text, "max_connections") == found
