"""What `--without-networks` leaves out: RabbitMQ, Nova with a cell and a fake compute, Neutron, OVN's databases.

The script gets a folder of manifests, in the order in which it applies them. They are those of the same charts, with
the Jobs that make what each service needs.
"""

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.keystone_parts import script
from stackwright.local import binaries

ROOT = Path(__file__).parents[2]
MANIFEST = Path(__file__).parent / "cloud-with-networks.yaml"
SCRIPT = ROOT / "benchmarks" / "services_networks_script.sh"
DEADLINE = 900.0
APIS = (("nova-api-internal", 8774, "/v2.1/servers"), ("neutron-internal", 9696, "/v2.0/networks"))
# Which pods are asked from outside of the cluster, though their internal API is for the pods of their namespace.
OPENED = {"nova-api": 8774, "neutron": 9696}
PASSWORDS = ("NovaPassword", "NeutronPassword", "MetadataSecret")
STAGES = ("everything", "nova-databases", "nova-tables", "nova-cells", "nova-services", "nova-hosts")
LOGINS = {"nova-api-transport": "", "nova-cell1-transport": "cell1", "neutron-neutron-transport": ""}

Body = dict[str, Any]
Named = Callable[[str, str, str, Body], Body]


def naming(namespace: str) -> Named:
    """Return what makes resources of our kinds in a namespace."""

    def named(kind: str, group: str, name: str, spec: Body) -> Body:
        metadata = {"name": name, "namespace": namespace}
        return {"apiVersion": f"{group}.openstack.org/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}

    return named


def resources(named: Named, service: Body) -> dict[str, list[Body]]:
    """Return the resources that come on top, by the service that is rendered of them."""
    cell1 = {
        "cellDatabaseInstance": "openstack",
        "cellDatabaseAccount": "nova-cell1",
        "messagingBus": {"cluster": "rabbitmq", "user": "nova-cell1", "vhost": "cell1"},
        "novaComputeTemplates": {"fake": {"computeDriver": "fake.FakeDriver"}},
    }
    nova = {
        "secret": "osp-secret",
        "apiDatabaseInstance": "openstack",
        "messagingBus": {"cluster": "rabbitmq"},
        "memcachedInstance": "memcached",
        "cellTemplates": {
            "cell0": {"cellDatabaseInstance": "openstack", "cellDatabaseAccount": "nova-cell0"},
            "cell1": cell1,
        },
    }
    neutron = {**service, "messagingBus": {"cluster": "rabbitmq"}, "resources": _requests("20m")}
    limits = {"limits": {"cpu": "2", "memory": "1Gi"}}
    return {
        "rabbitmq": [named("RabbitMq", "rabbitmq", "rabbitmq", {"resources": {**_requests("100m"), **limits}})],
        "neutron": [named("NeutronAPI", "neutron", "neutron", neutron)],
        "nova": [named("Nova", "nova", "nova", nova)],
        "ovn-northd": [named("OVNNorthd", "ovn", "ovnnorthd", {})],
    }


def databases(named: Named) -> dict[str, Body]:
    """Return OVN's databases by their roles."""
    spec = {"storageClass": "local", "storageRequest": "10G"}
    return {
        role: named("OVNDBCluster", "ovn", f"ovndbcluster-{role.lower()}", {**spec, "dbType": role})
        for role in ("NB", "SB")
    }


def _requests(cpu: str) -> Body:
    return {"requests": {"cpu": cpu, "memory": "256Mi"}}


@dataclass(frozen=True)
class Cloud:
    """What is deployed beyond the services without networks."""

    named: Named
    more: dict[str, list[Body]]
    public: str = ""
    """The URL of Nova's public endpoint, where it is not that of its Service."""


def write(folder: Path, namespace: str, base: str, given: Path, cloud: Cloud) -> None:
    """Write the manifests of all stages; `base` are those of the services without networks, `given` its resources."""
    _append(given, [body for bodies in cloud.more.values() for body in bodies])
    broker = script.rendered("rabbitmq", given, namespace)
    _append(given, _logins(namespace, broker))
    members = []
    for role, body in databases(cloud.named).items():
        path = folder / f"{role}.yaml"
        path.write_text(yaml.safe_dump(body))
        members.append(script.rendered("ovn-database", path, namespace))
    nova = objects_of(script.rendered("nova", given, namespace))
    stages = _stages(nova)
    # What Nova's pods read is there before all else, and with it what makes its user.
    first = [*stages.pop("everything"), *_identity_of_nova(folder, given, namespace, cloud.public)]
    (folder / "everything.yaml").write_text("---\n".join((base, broker, *members, text_of(first))))
    networks = [script.rendered(name, given, namespace) for name in ("ovn-northd", "neutron")]
    (folder / "networks.yaml").write_text("---\n".join(networks))
    for stage, bodies in stages.items():
        (folder / f"{stage}.yaml").write_text(text_of(bodies))


def _stages(nova: Iterable[Body]) -> dict[str, list[Body]]:
    """Return Nova's objects in the stages of the script."""
    stages: dict[str, list[Body]] = {
        name: []
        for name in ("everything", "nova-databases", "nova-tables", "nova-cells", "nova-services", "nova-hosts")
    }
    for body in nova:
        stages[_stage(body["kind"], body["metadata"]["name"])].append(body)
    return stages


def _stage(kind: str, name: str) -> str:
    if kind in ("Deployment", "StatefulSet", "CronJob"):
        return "nova-services"
    if kind != "Job":
        return "everything"
    words = {"-db-create-": "nova-databases", "-db-sync-": "nova-tables", "-map-": "nova-cells"}
    return next((stage for word, stage in words.items() if word in name), "nova-hosts")


def _identity_of_nova(folder: Path, given: Path, namespace: str, public: str) -> list[Body]:
    """Return the Job that makes Nova's user and its endpoints: of all services Nova alone has none by itself."""
    reached, internal = (f"http://nova-api-{word}.{namespace}.svc:8774/v2.1" for word in ("public", "internal"))
    password = {"secret": "osp-secret"}
    identity = {
        "url": f"http://keystone-internal.{namespace}.svc:5000",
        "region": "regionOne",
        "admin": {"username": "admin", "project": "admin", "key": "AdminPassword", **password},
        "user": {"username": "nova", "key": "NovaPassword", **password},
        "service": {"name": "nova", "type": "compute", "description": "Nova"},
        "endpoints": {"public": public or reached, "internal": internal},
    }
    values = yaml.safe_load(script.rendered("nova", given, namespace, "--values", "--release", "nova"))
    path = folder / "identity.values.yaml"
    path.write_text(yaml.safe_dump({**values, "jobs": {}, "provision": {"identity": identity}}))
    helm = binaries.ensure(("helm",))["helm"]
    command = [str(helm), "template", "nova", str(ROOT / "charts" / "nova"), "--namespace", namespace, "--values"]
    printed = subprocess.run([*command, str(path)], check=True, capture_output=True, text=True).stdout
    return [body for body in objects_of(printed) if "identity-create" in body["metadata"]["name"]]


def _logins(namespace: str, broker: str) -> list[Body]:
    """Return how services log in to the broker: here all of them as its first user."""
    secrets = {body["metadata"]["name"]: body for body in objects_of(broker) if body["kind"] == "Secret"}
    user = secrets["rabbitmq-default-user"]["stringData"]
    login = f"rabbit://{user['username']}:{user['password']}@rabbitmq.{namespace}.svc:5672"
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"rabbitmq-transport-url-{name}", "namespace": namespace},
            "stringData": {"transport_url": f"{login}/{vhost}", "quorumqueues": "true"},
        }
        for name, vhost in LOGINS.items()
    ]


def _append(path: Path, bodies: Iterable[Body]) -> None:
    path.write_text("---\n".join((path.read_text(), *map(yaml.safe_dump, bodies))))


def objects_of(text: str) -> list[Body]:
    """Return the objects of a file of manifests."""
    return [body for body in yaml.safe_load_all(text) if body]


def text_of(bodies: Iterable[Body]) -> str:
    """Return objects as a file of manifests."""
    return "---\n".join(map(yaml.safe_dump, bodies))


def way(name: str, port: int) -> Body:
    """Return what opens the pods of a service to whoever asks from outside of the cluster."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": f"{name}-from-outside"},
        "spec": {
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"port": port}]}],
        },
    }


def compute_is_up(address: str, token: str) -> None:
    """Return when Nova says that a compute service is up."""
    request = urllib.request.Request(
        f"http://{address}:8774/v2.1/os-services?binary=nova-compute", headers={"X-Auth-Token": token}
    )
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  likewise
                found = json.load(answer)["services"]
        except (urllib.error.URLError, OSError):
            found = []
        if any(one["state"] == "up" for one in found):
            return
        time.sleep(0.2)
    raise TimeoutError("no compute service is up")
