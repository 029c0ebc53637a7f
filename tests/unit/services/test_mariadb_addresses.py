"""All names of a server of ours lead to that server; those of others stay apart."""

import pytest

from stackwright.services.mariadb.addresses import server_at


@pytest.mark.parametrize(
    "hostname",
    [
        "openstack",
        "openstack.cloud",
        "openstack.cloud.svc",
        "OpenStack.Cloud.SVC.",
        "openstack.cloud.svc.cluster.local",
        "openstack.cloud.svc.example.test.",
        "openstack-galera-0.openstack-galera.cloud.svc",
        "openstack-galera-2.openstack-galera.cloud.svc.cluster.local",
        "openstack-galera.cloud.svc",
    ],
)
def test_every_name_of_a_server_of_ours_is_that_server(hostname: str) -> None:
    assert server_at(hostname, 3306, "cloud") == "Galera openstack"


@pytest.mark.parametrize(
    ("hostname", "port", "said"),
    [
        ("openstack.other.svc.cluster.local", 3306, "the server openstack.other.svc:3306"),
        ("openstack.cloud.svc", 3307, "the server openstack.cloud.svc:3307"),
        ("DB.example.com.", 3306, "the server db.example.com:3306"),
        ("192.0.2.7", 3306, "the server 192.0.2.7:3306"),
        ("2001:DB8:0:0::7", 3306, "the server 2001:db8::7:3306"),
    ],
)
def test_what_is_elsewhere_is_called_by_its_address(hostname: str, port: int, said: str) -> None:
    assert server_at(hostname, port, "cloud") == said
