"""Nova: the whole with one cell, a cell, and each service alone, from Secrets."""

from collections.abc import Mapping
from typing import Any

from stackwright.services.nova.api import API
from stackwright.services.nova.cell import CELL
from stackwright.services.nova.compute import COMPUTE
from stackwright.services.nova.conductor import CONDUCTOR
from stackwright.services.nova.metadata import METADATA
from stackwright.services.nova.nova import NOVA
from stackwright.services.nova.novncproxy import NOVNCPROXY
from stackwright.services.nova.scheduler import SCHEDULER
from stackwright.services.nova.service import SERVICES
from tests.functional.services.case import Refusal, ServiceCase

LOGIN = "nova-by-hand"
CONTENT: Mapping[str, str] = {
    "ServicePassword": "the-word-of-nova",
    "transport_url": "rabbit://nova:the-word-of-the-broker@bus.example.org:5672/",
}
DATABASE = {
    "database-by-hand": {
        "hostname": "db.example.org",
        "port": "3306",
        "database": "nova",
        "user": "nova",
        "password": "the-word-of-the-database",
    }
}
LEAST = {"secret": LOGIN, "keystoneAuthURL": "http://keystone.example.org:5000"}
TOP = {"apiDatabaseSecret": "database-by-hand", "cell0DatabaseSecret": "database-by-hand"}
IN_CELL = {"cellDatabaseSecret": "database-by-hand"}
TOO_LONG = Refusal({"cellName": "Cell"}, "should match with the regex")


def alone(blueprint: Any, name: str, **said: Any) -> ServiceCase:
    return ServiceCase(blueprint=blueprint, name=name, **{"content": CONTENT, "given": DATABASE, **said})


CASES = (
    ServiceCase(
        blueprint=NOVA,
        name="nova",
        least={"secret": "osp-secret"},
        further={
            "cellTemplates": {
                "cell0": {},
                "cell1": {
                    "cellDatabaseInstance": "openstack",
                    "messagingBus": {"cluster": "rabbitmq", "vhost": "cell1"},
                },
            }
        },
        jobs=frozenset({"map-cell0", "map-cell1"}),
        pods=0,
        refused=(Refusal({"cellTemplates": {"cell1": {}}}, "cell0 specification is missing"),),
        stays=frozenset(
            {
                *(f"MariaDBDatabase nova-{part}" for part in ("api", "cell0", "cell1")),
                *(f"MariaDBAccount nova-{part}" for part in ("api", "cell0", "cell1")),
                *(f"Secret nova-{part}-db-secret" for part in ("api", "cell0", "cell1")),
                *(f"TransportURL nova-{part}-transport" for part in ("api", "cell1")),
                *(f"Secret rabbitmq-transport-url-nova-{part}-transport" for part in ("api", "cell1")),
            }
        ),
        children=tuple(service for service in SERVICES if service is not NOVA),
    ),
    ServiceCase(
        blueprint=CELL,
        name="cell",
        content=CONTENT,
        given=DATABASE,
        least={**LEAST, "cellName": "cell1"},
        further={**IN_CELL, "novaComputeTemplates": {"metal": {"computeDriver": "ironic.IronicDriver"}}},
        pods=0,
        noted=frozenset({"cell1-compute-config"}),
        refused=(TOO_LONG,),
        children=tuple(service for service in SERVICES if service not in (NOVA, CELL)),
    ),
    alone(API, "api", least=LEAST, further=TOP, ports={"public": 8774, "internal": 8774}),
    alone(SCHEDULER, "scheduler", least=LEAST, further=TOP),
    alone(
        CONDUCTOR,
        "conductor",
        least={**LEAST, "cellName": "cell1"},
        further=IN_CELL,
        jobs=frozenset({"db-sync"}),
        actions=frozenset({"sync-database", "migrate-data", "purge-database"}),
        refused=(TOO_LONG,),
    ),
    alone(
        METADATA,
        "metadata",
        content={**CONTENT, "MetadataSecret": "the-word-of-neutron"},
        least=LEAST,
        further={"apiDatabaseSecret": "database-by-hand", **IN_CELL},
        ports={"internal": 8775},
        noted=frozenset({"metadata-neutron-config", "metadata-compute-config"}),
    ),
    alone(NOVNCPROXY, "novncproxy", least={**LEAST, "cellName": "cell1"}, further=IN_CELL, ports={"public": 6080}),
    alone(
        COMPUTE,
        "compute",
        least={**LEAST, "cellName": "cell1", "computeName": "fake", "computeDriver": "fake.FakeDriver"},
    ),
)
