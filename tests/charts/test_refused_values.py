"""Values that a chart does not have, or of another type, are refused by name."""

import pytest

from tests.charts.conftest import Refuse

CASES = {
    "an unknown value": ("keystone", "component.api.replicas=2", "additional properties 'component' not allowed"),
    "an unknown value of a component": (
        "keystone",
        "components.api.replica=2",
        "at '/components/api': additional properties 'replica' not allowed",
    ),
    "an unknown component": (
        "keystone",
        "components.admin.replicas=2",
        "at '/components': additional properties 'admin' not allowed",
    ),
    "text for a number": (
        "keystone",
        "components.api.replicas=two",
        "at '/components/api/replicas': got string, want integer",
    ),
    "a number for a hash": ("keystone", "jobs.db-sync.hash=5", "at '/jobs/db-sync/hash': got number, want string"),
    "a hash that fits no name": ("keystone", "jobs.db-sync.hash=A_b", "at '/jobs/db-sync/hash': 'A_b' does not match"),
    "an unknown job": ("keystone", "jobs.db-synch.config=x", "at '/jobs': additional properties 'db-synch' not"),
    "an unknown key ring": ("keystone", "keyRings.receipts=x", "at '/keyRings': additional properties 'receipts' not"),
    "an action of an unknown job": (
        "keystone",
        "actions.sync-database.job=nothing",
        "at '/actions/sync-database/job': value must be one of 'db-sync', 'bootstrap'",
    ),
    "a password among the values": (
        "keystone",
        "jobs.bootstrap.environment.OS_BOOTSTRAP_PASSWORD=x",
        "invalid propertyName 'OS_BOOTSTRAP_PASSWORD'",
    ),
    "a Service of an unknown type": (
        "keystone",
        "services.public.type=Ingress",
        "at '/services/public/type': value must be one of 'ClusterIP', 'NodePort', 'LoadBalancer'",
    ),
    "a database without a host": (
        "keystone",
        "provision.database.host=null",
        "at '/provision/database/host': got null",
    ),
    "no image": ("keystone", "image=", "image: name the image that runs, for example with --set image=REFERENCE"),
    "a password for Keystone among the values": (
        "placement",
        "provision.identity.user.password=x",
        "at '/provision/identity/user': additional properties 'password' not allowed",
    ),
    "an endpoint that is no URL": (
        "placement",
        "provision.identity.endpoints.public=placement.example",
        "at '/provision/identity/endpoints/public': 'placement.example' does not match",
    ),
    "a database of two nodes": (
        "mariadb",
        "components.server.replicas=2",
        "at '/components/server/replicas': value must be one of 0, 1, 3",
    ),
    "a database without volumes": (
        "mariadb",
        "components.server.storage=null",
        "at '/components/server': missing property 'storage'",
    ),
    "a broker without volumes": (
        "rabbitmq",
        "components.server.storage=null",
        "at '/components/server': missing property 'storage'",
    ),
    "a root password without its key": (
        "mariadb",
        "rootSecret.key=null",
        "at '/rootSecret': missing property 'key'",
    ),
    "an unknown value of memcached": ("memcached", "cachesize=5", "additional properties 'cachesize' not allowed"),
    "text for memcached's memory": ("memcached", "cacheSize=64M", "at '/cacheSize': got string, want integer"),
    "no image for memcached": ("memcached", "image=", "image: name the image that runs"),
}


@pytest.mark.parametrize(("chart", "value", "said"), [pytest.param(*case, id=name) for name, case in CASES.items()])
def test_refused(refuse: Refuse, chart: str, value: str, said: str) -> None:
    assert said in refuse(chart, "--set", value)
