"""What is one machine's own in its root file system: its name, address, keys and identity."""

import os
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from stackwright.local import process
from stackwright.local.cluster import tunnel_network
from stackwright.local.cluster.addresses import Network
from stackwright.local.cluster.network import INNER
from stackwright.local.errors import ClusterFailed
from stackwright.local.images.archives import REGISTRY
from stackwright.local.machine.keys import SshKey
from stackwright.local.machine.root_files import USER


@dataclass(frozen=True)
class File:
    """A file of a machine, with its mode."""

    content: str
    mode: int = 0o644


@dataclass(frozen=True)
class Furniture:
    """What a machine is told of itself and its surroundings."""

    name: str
    address: str
    network: Network
    nameservers: Sequence[str]
    login: str
    """The public key that may log in."""
    identity: SshKey
    """The machine's own key."""
    registry: str
    """Host and port of the cluster's registry, whether or not it runs yet."""


def files(told: Furniture) -> dict[str, File]:
    """Return the files that differ from machine to machine, by their path; pure but for a new machine id."""
    length = IPv4Network(told.network.nodes).prefixlen
    names = "".join(f"nameserver {address}\n" for address in told.nameservers)
    link = f"[Match]\nName={INNER}\n\n[Network]\nAddress={told.address}/{length}\nGateway={told.network.host}\n"
    tunnels = tunnel_network.INTERFACE
    # Nothing that a machine does at its start needs it.
    tunnel = f"[Match]\nName={tunnels}\n\n[Link]\nRequiredForOnline=no\n\n"
    tunnel += f"[Network]\nAddress={told.network.tunnels.interface_of(told.address)}\n"
    return {
        "etc/hostname": File(f"{told.name}\n"),
        "etc/hosts": File(f"127.0.0.1 localhost\n{told.address} {told.name}\n"),
        "etc/machine-id": File(f"{uuid.uuid4().hex}\n", 0o444),
        "etc/resolv.conf": File(names),
        f"etc/systemd/network/10-{INNER}.network": File(link),
        f"etc/systemd/network/10-{tunnels}.network": File(tunnel),
        "etc/ssh/ssh_host_ed25519_key": File(told.identity.private, 0o600),
        "etc/ssh/ssh_host_ed25519_key.pub": File(f"{told.identity.public}\n"),
        f"home/{USER}/.ssh/authorized_keys": File(f"{told.login}\n", 0o600),
        "etc/containers/registries.conf.d/10-stackwright.conf": File(_registries(told.registry)),
    }


def _registries(place: str) -> str:
    """Return what podman has to know: images have the same names as in pods, and come from the cluster's registry."""
    own = f'[[registry]]\nprefix = "{REGISTRY}"\nlocation = "{place}"\ninsecure = true\n'
    return f'{own}\n[[registry]]\nlocation = "{place}"\ninsecure = true\n'


def furnish(archive: Path, root: Path, told: Furniture) -> None:
    """Make a machine's root file system; whoever finds it there finds it whole."""
    beside = root.with_name(f"{root.name}.new")
    for path in (root, beside):
        if path.exists():
            shutil.rmtree(path)
    beside.mkdir(parents=True)
    _unpack(archive, beside)
    for name, file in files(told).items():
        path = beside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(file.content)
        path.chmod(file.mode)
    home = beside / "home" / USER
    owner = home.stat()
    for path in (home / ".ssh", home / ".ssh" / "authorized_keys"):
        os.chown(path, owner.st_uid, owner.st_gid)
    (home / ".ssh").chmod(0o700)
    beside.replace(root)


def _unpack(archive: Path, root: Path) -> None:
    """Unpack an archive with all owners, and with the capabilities of programs such as ping."""
    options = ("--numeric-owner", "--xattrs", "--xattrs-include=security.capability")
    said: list[str] = []
    # It ends with us, so that nobody writes any more where the next call begins anew.
    code = process.stream(
        ["tar", "--extract", "--file", archive, "--directory", root, *options],
        directory=root,
        environment=os.environ,
        listener=process.Listener(line=said.append, tick=lambda: None),
    )
    if code:
        raise ClusterFailed(f"The root file system cannot be unpacked in {root}: {' '.join(said[-3:])}")
