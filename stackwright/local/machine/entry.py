"""What a cluster's resources need to know of a machine, as manifests."""

from collections.abc import Iterable
from typing import Any

import yaml

from stackwright.kube.documents import Dumper
from stackwright.local.cluster import tunnel_network
from stackwright.local.machine.lifecycle import Machine
from stackwright.local.machine.root_files import USER

SECRET = "dataplane-ansible-ssh-private-key-secret"  # noqa: S105  a Secret's name, as upstream has it


def manifests(machines: Iterable[Machine], *, role: str = "", known_hosts: str = "") -> list[dict[str, Any]]:
    """Return the Secret with the key, and an OpenStackDataPlaneNode for each machine.

    `known_hosts` has the keys of all machines of the cluster, so that each is known from the first contact on.
    """
    listed = list(machines)
    if not listed:
        return []
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET},
        "stringData": {
            "ssh-privatekey": listed[0].key.private,
            "ssh-publickey": listed[0].key.public,
            "known_hosts": known_hosts,
        },
    }
    return [secret, *(_node(machine, role) for machine in listed)]


def _node(machine: Machine, role: str) -> dict[str, Any]:
    spec = {
        "hostName": machine.settings.name,
        "ansibleHost": machine.settings.address,
        "node": {
            "ansibleUser": USER,
            "ansibleSSHPrivateKeySecret": SECRET,
            "ansibleVars": {"edpm_tunnel_interface": tunnel_network.INTERFACE},
        },
    }
    return {
        "apiVersion": "dataplane.openstack.org/v1beta1",
        "kind": "OpenStackDataPlaneNode",
        "metadata": {"name": machine.settings.name},
        "spec": spec | ({"role": role} if role else {}),
    }


def text(documents: Iterable[dict[str, Any]]) -> str:
    """Return manifests as a file that kubectl applies."""
    return yaml.dump_all(documents, Dumper=Dumper, sort_keys=False)
