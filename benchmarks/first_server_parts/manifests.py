"""What the script applies: the manifests of the cloud of `stackwright up`, by the same charts, and what machines read.

Machines outside of the cluster reach the cloud at ports of its node, which the manifests choose, so that every URL is
known before there is a cloud.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.keystone_parts import script
from benchmarks.services_parts import networks
from stackwright.local.cluster import spare_network, tunnel_network
from stackwright.local.cluster.spare_network import SpareNetwork
from stackwright.local.first_server import objects
from stackwright.local.machine.root_files import USER

CONFIGURATION = Path(__file__).parent / "machines"
# At which port of the node each Service is reached from outside of the cluster.
OUTSIDE = {
    "keystone-public": 31500,
    "placement-public": 31878,
    "glance-default-public": 31929,
    "nova-api-public": 31774,
    "nova-metadata-internal": 31775,
    "nova-cell1-novncproxy-public": 31680,
    "neutron-public": 31969,
    "rabbitmq": 31672,
    "ovsdbserver-sb-0": 31642,
}
# Only for a compute in the cluster is there a Job that tells Nova of its hosts; that compute itself is left out.
PRETENDED = "fake-compute"
# In which folder Ansible looks for what the services of machines read.
FOLDERS = {"ovn": "ovsdb-config", "neutron-metadata": "neutron_ovn_metadata.conf", "nova": "01-nova.conf"}
PASSWORDS = ("AdminPassword", "PlacementPassword", "GlancePassword", *networks.PASSWORDS)
BASE = ("mariadb", "memcached", "keystone", "placement", "glance")

Body = dict[str, Any]


def write(folder: Path, namespace: str, address: str, images: Mapping[str, str], machines: Iterable[str]) -> None:
    """Write all manifests, and what the machines read; `address` is the node's, at which the cloud is reached."""
    named = networks.naming(namespace)
    given = folder / "resources.yaml"
    given.write_text(networks.text_of(_resources(named, namespace, address)))
    base = "---\n".join(script.rendered(name, given, namespace) for name in BASE)
    public = f"{_url(address, 'nova-api-public')}/v2.1"
    networks.write(folder, namespace, base, given, networks.Cloud(named, _wide_resources(named, address), public))
    controller = folder / "controller.yaml"
    controller.write_text(networks.text_of([_controller(named)]))
    gateways = script.rendered("ovn-controller", controller, namespace)
    (folder / "networks.yaml").write_text("---\n".join(((folder / "networks.yaml").read_text(), gateways)))
    for name in ("everything", "networks"):
        path = folder / f"{name}.yaml"
        path.write_text(networks.text_of(_opened(networks.objects_of(path.read_text()))))
    services = folder / "nova-services.yaml"
    real = (body for body in networks.objects_of(services.read_text()) if PRETENDED not in body["metadata"]["name"])
    services.write_text(networks.text_of(real))
    with (folder / "everything.yaml").open("a") as file:
        file.write(f"---\n{networks.text_of([_way()])}")
    broker = _login_of(given)
    prepare, join = _play("prepare", ("prepare",), images), _play("services", ("neutron_metadata", "nova"), images)
    (folder / "play-prepare.yaml").write_text(networks.text_of([_configuration(address, broker), prepare]))
    (folder / "play-services.yaml").write_text(networks.text_of([join]))
    (folder / "inventory.json").write_text(json.dumps(_inventory(images, machines)))


def write_server(folder: Path, namespace: str, image: str, spare: SpareNetwork, public_key: str) -> None:
    """Write the Job that creates the server: the same one."""
    job = {"apiVersion": "batch/v1", "kind": "Job", **objects.job(image, spare, public_key, namespace)}
    (folder / "first-server.yaml").write_text(networks.text_of([job]))


def _resources(named: networks.Named, namespace: str, address: str) -> list[Body]:
    """Return the resources of the services without networks."""
    secret = {"name": "osp-secret", "namespace": namespace}
    service: Body = {"databaseInstance": "openstack", "secret": "osp-secret"}
    storage = {"storageClass": "local", "storageRequest": "5G"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": secret,
            "stringData": dict.fromkeys(PASSWORDS, script.PASSWORD),
        },
        named("Galera", "mariadb", "openstack", {"storageClass": "local", "storageRequest": "10G"}),
        named("Memcached", "memcached", "memcached", {}),
        named("KeystoneAPI", "keystone", "keystone", {**service, **_reached(address, "keystone-public")}),
        named("PlacementAPI", "placement", "placement", {**service, **_reached(address, "placement-public")}),
        named(
            "Glance",
            "glance",
            "glance",
            {
                **service,
                "storage": storage,
                "glanceAPIs": {"default": _reached(address, "glance-default-public")},
            },
        ),
    ]


def _wide_resources(named: networks.Named, address: str) -> dict[str, list[Body]]:
    """Return those of the broker, of Nova and of the networks."""
    found = networks.resources(named, {"databaseInstance": "openstack", "secret": "osp-secret"})
    nova, neutron = found["nova"][0]["spec"], found["neutron"][0]["spec"]
    nova["apiServiceTemplate"] = _reached(address, "nova-api-public")
    neutron |= _reached(address, "neutron-public")
    neutron["customServiceConfig"] = "[ovn]\nenable_distributed_floating_ip = false\n"
    return found


def _controller(named: networks.Named) -> Body:
    """Return the gateway on the cluster's node."""
    spec = {
        "nicMappings": {"datacentre": spare_network.INTERFACE},
        "tunnelInterface": tunnel_network.INTERFACE,
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}},
    }
    return named("OVNController", "ovn", "ovncontroller", spec)


def _reached(address: str, service: str) -> Body:
    return {"override": {"service": {"public": {"endpointURL": _url(address, service)}}}}


def _url(address: str, service: str) -> str:
    return f"http://{address}:{OUTSIDE[service]}"


def _opened(bodies: Iterable[Body]) -> list[Body]:
    """Return objects whose Services are reached from outside of the cluster where machines or people need them."""
    found = []
    for body in bodies:
        name = body["metadata"]["name"]
        if body["kind"] == "Service" and name in OUTSIDE:
            first, *others = body["spec"]["ports"]
            ports = [{**first, "nodePort": OUTSIDE[name]}, *others]
            body = {**body, "spec": {**body["spec"], "type": "NodePort", "ports": ports}}  # noqa: PLW2901  another one
        found.append(body)
    return found


def _way() -> Body:
    """Return what lets machines and people in, at the pods' own ports."""
    ports = [{"port": port} for port in (5000, 5672, 6080, 6642, 8774, 8775, 8778, 9292, 9696)]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "from-outside"},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"ports": ports}]},
    }


def _configuration(address: str, broker: str) -> Body:
    """Return what the machines' services read, with the addresses at which machines reach the cloud."""
    login = urlsplit(broker).netloc.rpartition("@")[0]
    words = {
        "ADDRESS": address,
        "SOUTHBOUND": str(OUTSIDE["ovsdbserver-sb-0"]),
        "METADATA": str(OUTSIDE["nova-metadata-internal"]),
        "KEYSTONE": _url(address, "keystone-public"),
        "CONSOLE": _url(address, "nova-cell1-novncproxy-public"),
        "PASSWORD": script.PASSWORD,
        "BROKER": urlsplit(broker)._replace(netloc=f"{login}@{address}:{OUTSIDE['rabbitmq']}").geturl(),
    }
    files = {path.name: path.read_text() for path in sorted(CONFIGURATION.iterdir())}
    for word, value in words.items():
        files = {name: text.replace(f"@{word}@", value) for name, text in files.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "machines-config"}, "stringData": files}


def _play(name: str, playbooks: Iterable[str], images: Mapping[str, str]) -> Body:
    """Return a Job that runs playbooks of the collection on all machines, one after the other."""
    key = "cp /machines/ssh-privatekey /tmp/key && chmod 600 /tmp/key"
    plays = " ".join(f"stackwright.edpm.{playbook}" for playbook in playbooks)
    configs = [
        {"name": "config", "mountPath": f"/var/lib/openstack/configs/{folder}/{file}", "subPath": file}
        for folder, file in FOLDERS.items()
    ]
    container = {
        "name": "ansible",
        "image": images["ansible-runner"],
        "imagePullPolicy": "Never",
        "command": [
            "sh",
            "-c",
            f"{key} && exec ansible-playbook -i /machines/hosts.json --private-key /tmp/key {plays}",
        ],
        "env": [
            {"name": "HOME", "value": "/tmp"},
            {"name": "ANSIBLE_HOST_KEY_CHECKING", "value": "False"},
        ],
        "volumeMounts": [
            {"name": "machines", "mountPath": "/machines"},
            {"name": "tmp", "mountPath": "/tmp"},
            *configs,
        ],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    volumes = [
        {"name": "machines", "secret": {"secretName": "machines"}},
        {"name": "config", "secret": {"secretName": "machines-config"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1001, "fsGroup": 1001},
        "containers": [container],
        "volumes": volumes,
    }
    metadata = {"name": f"play-{name}"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": pod}}}


def _inventory(images: Mapping[str, str], machines: Iterable[str]) -> Body:
    """Return the machines, whose addresses the script writes in."""
    variables = {
        "ansible_user": USER,
        "edpm_tunnel_interface": tunnel_network.INTERFACE,
        "edpm_ovn_controller_agent_image": images["ovn"],
        "edpm_neutron_metadata_agent_image": images["compute"],
        "edpm_nova_libvirt_image": images["compute"],
        "edpm_nova_compute_image": images["compute"],
    }
    hosts = {name: {"ansible_host": f"@ADDRESS_{number}@"} for number, name in enumerate(machines)}
    return {"all": {"vars": variables, "hosts": hosts}}


def _login_of(given: Path) -> str:
    """Return how the services of the cell log in to the broker."""
    name = "rabbitmq-transport-url-nova-cell1-transport"
    found = next(body for body in networks.objects_of(given.read_text()) if body["metadata"]["name"] == name)
    return str(found["stringData"]["transport_url"])
