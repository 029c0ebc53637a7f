"""Every service of Nova alone: from Secrets that a person wrote, in a namespace without any other resource of ours.

The cloud beside it has the servers. Here they are host names, users and passwords, and nothing else: what an
administrator does in MariaDB, RabbitMQ and Keystone is done by their own programs, and cells are mapped by nova-manage.
"""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.local.cluster.lifecycle import Cluster
from tests.checkout import ROOT
from tests.e2e import cloud as clouds
from tests.e2e.cloud import NAMESPACE, Cloud
from tests.e2e.compute import asked_for_metadata, fetched, hypervisors, services
from tests.e2e.waiting import eventually

SERVERS = Path(__file__).parent / "servers.yaml"
ALONE = "alone"
KEYSTONE = f"http://keystone-internal.{NAMESPACE}.svc:5000"
DATABASE, BROKER = f"openstack.{NAMESPACE}.svc", f"rabbitmq.{NAMESPACE}.svc"
SCHEMAS = ("nova_api", "nova_cell0", "nova_cell1")
# The one conductor that is not in the examples: it makes the tables of the API, and works for all cells.
SUPERCONDUCTOR = {
    "apiVersion": "nova.openstack.org/v1beta1",
    "kind": "NovaConductor",
    "metadata": {"name": "superconductor"},
    "spec": {
        "cellName": "cell0",
        "secret": "nova-login",
        "keystoneAuthURL": KEYSTONE,
        "apiDatabaseSecret": "nova-api-database",
        "cellDatabaseSecret": "nova-cell0-database",
    },
}
# A database and a broker are for the pods of their namespace that need them; docs/network-policies.md.
WAY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "from-alone"},
    "spec": {
        "podSelector": {},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ALONE}}}]}],
    },
}
LISTED = {
    ("nova-scheduler", "scheduler-alone-0"),
    ("nova-conductor", "superconductor-0"),
    ("nova-conductor", "conductor-alone-0"),
    ("nova-compute", "compute-alone-0"),
}


@dataclass(frozen=True)
class Alone:
    """The cloud with the servers, and the namespace of the services, where the client is too."""

    servers: Cloud
    place: Cloud
    password: str

    def prepare(self) -> None:
        """Make schemas, users and virtual hosts, as an administrator does who has never heard of our kinds."""
        statements = [f"CREATE DATABASE {name}; GRANT ALL ON {name}.* TO 'nova'@'%';" for name in SCHEMAS]
        script = " ".join((f"CREATE USER 'nova'@'%' IDENTIFIED BY '{self.password}';", *statements))
        root = clouds.secret(self.servers.kubectl, "openstack-mariadb-root", "DatabasePassword")
        command = f"MYSQL_PWD='{root}' mariadb -h 127.0.0.1 -uroot"
        self.servers.kubectl("exec", "--stdin", "openstack-galera-0", "--", "sh", "-c", command, given=script)
        control = ("exec", "rabbitmq-server-0", "--container=server", "--", "rabbitmqctl")
        self.servers.kubectl(*control, "add_user", "nova", self.password)
        for vhost in ("nova", "cell1"):
            self.servers.kubectl(*control, "add_vhost", vhost, "--default-queue-type", "quorum")
            self.servers.kubectl(*control, "set_permissions", "--vhost", vhost, "nova", ".*", ".*", ".*")
        client = self.place
        client.openstack("user", "create", "nova", "--password", self.password, "--project", "service")
        for role in ("admin", "service"):
            words = ("role", "add", "--user", "nova", "--project", "service", role)
            client.kubectl("exec", "client", "--", "openstack", *words)
        client.openstack("service", "create", "compute", "--name", "nova")
        self.servers.kubectl.apply(WAY)

    def write_secrets(self) -> None:
        """Write the Secrets that docs/nova.md describes."""
        broker = {"hostname": BROKER, "user": "nova", "password": self.password}
        login = {"ServicePassword": self.password, "MetadataSecret": self.password, **broker, "vhost": "nova"}
        content = {"nova-login": login, "cell1-broker": {**broker, "vhost": "cell1"}}
        for schema in SCHEMAS:
            database = {"hostname": DATABASE, "port": "3306", "database": schema, "user": "nova"}
            content[f"nova-{schema.removeprefix('nova_')}-database"] = {**database, "password": self.password}
        bodies = [{"metadata": {"name": name}, "stringData": data} for name, data in content.items()]
        self.place.kubectl.apply(*({"apiVersion": "v1", "kind": "Secret", **body} for body in bodies))

    def deploy(self, *resources: dict[str, Any]) -> None:
        """Apply resources, and wait until each is ready."""
        self.place.kubectl.apply(*resources)
        for body in resources:
            self.place.kubectl.wait(f"{body['kind']}/{body['metadata']['name']}", "condition=Ready")

    def manage(self, *words: str) -> None:
        """Run nova-manage, where the tables of the API are known."""
        self.place.kubectl("exec", "superconductor-0", "--", "nova-manage", "cell_v2", *words)

    def connection(self, schema: str) -> str:
        return f"mysql+pymysql://nova:{self.password}@{DATABASE}/{schema}"


@pytest.fixture(scope="module")
def alone(cluster: Cluster) -> Iterator[Alone]:
    """Servers, and a namespace that has nothing but a client and Secrets."""
    with clouds.raised(cluster, SERVERS) as servers:
        servers.stackwright("up", "--yes", "--cloud", "none", "--namespace", ALONE)
        place = replace(servers, kubectl=replace(servers.kubectl, namespace=ALONE))
        for kind, name in (("configmap", "openstack-config"), ("secret", "openstack-config-secret")):
            found = json.loads(servers.kubectl("get", kind, name, "--output=json"))
            place.kubectl.apply({**found, "metadata": {"name": name}})
        image = servers.kubectl.get("deployment/keystone", "{.spec.template.spec.containers[0].image}")
        place.kubectl.apply(clouds.client_pod(image))
        place.kubectl.wait("pod/client", "condition=Ready")
        made = Alone(servers, place, secrets.token_hex(12))
        made.prepare()
        made.write_secrets()
        yield made
        servers.kubectl("delete", "namespace", ALONE, "--wait=false")


def examples() -> dict[str, dict[str, Any]]:
    """Return what docs/nova.md names as an example of each kind, with the Keystone that there is."""
    found = yaml.safe_load_all((ROOT / "examples" / "kinds" / "nova.yaml").read_text(encoding="utf-8"))
    alone = {body["kind"]: body for body in found if body["kind"] != "Nova"}
    return {kind: {**body, "spec": {**body["spec"], "keystoneAuthURL": KEYSTONE}} for kind, body in alone.items()}


def test_each_service_works_from_secrets_alone(alone: Alone) -> None:
    kinds = examples()
    assert len(kinds) == 6
    conductor = kinds.pop("NovaConductor")
    # It talks with the computes of its cell, by the broker of that cell.
    conductor["spec"]["messagingSecret"] = "cell1-broker"
    alone.deploy(SUPERCONDUCTOR, conductor)
    alone.manage("map_cell0", "--database_connection", alone.connection("nova_cell0"))
    bus = f"rabbit://nova:{alone.password}@{BROKER}:5672/cell1"
    cell1 = ("--database_connection", alone.connection("nova_cell1"), "--transport-url", bus)
    alone.manage("create_cell", "--name", "cell1", *cell1)
    alone.deploy(*kinds.values())

    place = alone.place
    api = json.loads(place.kubectl("get", "novaapi", "api-alone", "--output=json"))["status"]["apiEndpoints"]
    for interface, url in api.items():
        place.openstack("endpoint", "create", "compute", interface, f"{url}/v2.1", "--region", "regionOne")
    eventually(lambda: services(place) == dict.fromkeys(LISTED, "up"), lambda: str(services(place)))
    # It is up, so it has reported, and is there to be discovered.
    alone.manage("discover_hosts", "--by-service")
    assert hypervisors(place) == {"compute-alone-0"}
    inside = json.loads(place.kubectl("get", "novametadata", "metadata-alone", "--output=json"))["status"]
    assert asked_for_metadata(place, inside["apiEndpoints"]["internal"], alone.password) == [400, 403, 404]
    console = place.kubectl.get("service/novncproxy-alone-public", "{.spec.clusterIP}:{.spec.ports[0].port}")
    assert "noVNC" in fetched(place, f"http://{console}/vnc_lite.html")[1]


def test_nothing_else_of_ours_is_there(alone: Alone) -> None:
    listed = alone.place.kubectl("get", "openstack", "--output=name").split()
    assert {name.partition(".")[0] for name in listed} == {
        "novaapi",
        "novacompute",
        "novaconductor",
        "novametadata",
        "novanovncproxy",
        "novascheduler",
    }
