"""Readers of pages whose commands use a cloud: with the real client, and with the cluster of this run as theirs."""

import os
import subprocess
import sys
from pathlib import Path

from stackwright.local import binaries, programs
from stackwright.local.cluster.lifecycle import Cluster
from tests.documentation import sessions
from tests.documentation.blocks import ROOT
from tests.documentation.sessions import Reader

CLIENT = ("python-openstackclient", "osc-placement")
PIP = {
    # The client and its libraries are those of the images: a new one on the package index changes no run.
    "PIP_CONSTRAINT": str(ROOT / "images" / "openstack-libraries" / "requirements.txt"),
    # What is used once needs no compiling.
    "PIP_NO_COMPILE": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


def begin_environment(folder: Path) -> "subprocess.Popen[bytes]":
    """Make an environment of Python like that of a checkout, into which pages may install; what it starts goes on.

    The pages install the client too, and find it done.
    """
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
    sessions.equip(folder / "bin", binaries.ensure(programs.ALL))
    return subprocess.Popen([folder / "bin" / "pip", "install", "--quiet", *CLIENT], env={**os.environ, **PIP})


def reader_of(cluster: Cluster, environment: Path, directory: Path) -> Reader:
    """Return somebody who reads pages with that environment; the cluster has another name than pages speak of."""
    reader = sessions.reader(directory / "reader", environment / "bin", cluster.layout.kubeconfig, **PIP)
    (reader.directory / ".venv").symlink_to(environment)
    state = Path(reader.environment["HOME"]) / ".local" / "state" / "stackwright"
    state.mkdir(parents=True)
    (state / "default").symlink_to(cluster.layout.kubeconfig.parent)
    return reader
