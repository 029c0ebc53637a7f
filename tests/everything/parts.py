"""The parts of `make everything`: what takes long and rarely breaks, and is not run for each change."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

MODULE = (sys.executable, "-m")
PYTEST = (*MODULE, "pytest", "-q")
# Tests on an API server wait for it as much as they compute.
WORKERS = str(2 * (os.cpu_count() or 1))


@dataclass(frozen=True)
class Part:
    """A program that is run, and that ends with 0 if all is well."""

    name: str
    what: str
    command: tuple[str, ...]
    minutes: float
    """After how many minutes it is ended."""
    environment: Mapping[str, str] = field(default_factory=dict)


ALL = (
    Part(
        "image-python",
        "rings 1 and 2 by the Python and the libraries of the operators' image",
        (*MODULE, "tests.everything.image_python"),
        minutes=30,
    ),
    Part(
        "crash",
        "a crash of the operator at every write of a cloud that comes up",
        (*PYTEST, "-n", WORKERS, "--dist=loadgroup", "tests/functional", "-k", "crash"),
        minutes=60,
        environment={"STACKWRIGHT_EVERYTHING": "1"},
    ),
    Part("mutants", "the product broken in known ways", (*MODULE, "tests.mutants"), minutes=60),
    Part(
        "cluster",
        "the local cluster: its life, and each of its programs killed",
        (*PYTEST, "tests/long/test_cluster_chaos.py", "tests/long/test_cluster_lifecycle.py"),
        minutes=30,
    ),
    Part(
        "machine",
        "machines beside the local cluster: their life, and the ways between them and the cluster",
        (*PYTEST, "tests/long/test_local_node.py"),
        minutes=20,
    ),
    Part(
        "registry",
        "the local cluster's registry: images pushed to it, and pulled by machines and pods",
        (*PYTEST, "tests/long/test_registry.py"),
        minutes=20,
    ),
    Part(
        "collection",
        "the Ansible collection: its linter, and a machine that it prepares",
        (*PYTEST, "tests/long/test_collection.py"),
        minutes=20,
    ),
    Part(
        "dataplane",
        "machines beside the local cluster that the operators prepare with Ansible",
        (*PYTEST, "tests/long/test_dataplane.py"),
        minutes=30,
    ),
    Part(
        "compute",
        "a machine that the collection makes a compute node of a cloud, and a server on it",
        (*PYTEST, "tests/long/test_compute.py"),
        minutes=45,
    ),
    Part(
        "first-server",
        "`make up`: a server on a machine, its floating IP, login and console, and tunnels to another one",
        (*PYTEST, "tests/long/test_first_server.py"),
        minutes=45,
    ),
    Part(
        "joins",
        "nodes of RabbitMQ that are killed at any point while one of them joins",
        (*PYTEST, "tests/images/test_joining.py"),
        minutes=20,
        environment={"STACKWRIGHT_EVERYTHING": "1"},
    ),
    Part("by-hand", "every chart by hand, as its README shows", (*PYTEST, "tests/long/test_by_hand.py"), minutes=30),
    Part(
        "ways",
        "one operator for each service; Jobs of the chart in place of the operator",
        (*PYTEST, "tests/long/test_operator_modes.py", "tests/long/test_jobs.py"),
        minutes=30,
    ),
    Part(
        "nova",
        "Nova with cells that come and go, asked by the real client; each of its services alone",
        (*PYTEST, "tests/long/test_nova.py", "tests/long/test_nova_alone.py"),
        minutes=45,
    ),
    Part(
        "neutron",
        "Neutron with OVN: what the real client asks for becomes part of the virtual network",
        (*PYTEST, "tests/long/test_neutron.py"),
        minutes=30,
    ),
    Part(
        "networks",
        "what passes through the networks; servers in two cells, with pods killed",
        (*PYTEST, "tests/long/test_networks.py"),
        minutes=30,
    ),
    Part(
        "validate",
        "Tempest on the cloud of `make up`: smoke, identity and images, compute; a run that is interrupted",
        (*PYTEST, "-s", "tests/long/test_validate.py", "-k", "not network and not scenario"),
        minutes=240,
    ),
    Part(
        "validate-networks",
        "Tempest on the cloud of `make up`: networks, and the scenarios",
        (*PYTEST, "-s", "tests/long/test_validate.py", "-k", "network or scenario"),
        minutes=180,
    ),
    Part("reboot", "a node with a cloud in it loses its power", (*PYTEST, "tests/long/test_reboot.py"), minutes=30),
    Part("upgrade", "a cloud of an earlier commit, under load", (*PYTEST, "tests/chaos/test_upgrade.py"), minutes=45),
    Part(
        "chaos",
        "three replicas, kills, outages, loss of everything, fuzzed resources",
        (*PYTEST, "tests/chaos", "--ignore=tests/chaos/test_upgrade.py"),
        minutes=75,
    ),
)
