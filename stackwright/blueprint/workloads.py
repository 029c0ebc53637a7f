"""The words in which a component says what its pods are to Kubernetes: workload, ports, and what they take of the host.

None of it depends on a resource: the component template of the library chart reads it from the chart's
`blueprint.yaml`, which is written from here (`make crds`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Workload = Literal["Deployment", "StatefulSet", "DaemonSet"]
Profile = Literal["restricted", "baseline", "privileged"]
Protocol = Literal["TCP", "UDP"]

# The profiles of Kubernetes' pod security, the strictest first.
PROFILES: tuple[Profile, ...] = ("restricted", "baseline", "privileged")
# The label of a namespace that says which of them the API server enforces there.
ENFORCED = "pod-security.kubernetes.io/enforce"
# What containers may add to their rights: under the strictest profile, and under the one after it.
_RESTRICTED = frozenset({"NET_BIND_SERVICE"})
_BASELINE = _RESTRICTED | {
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
}


@dataclass(frozen=True)
class Port:
    """A port of a component's pods. The pods' governing Service has it too, unless it is only `probed`.

    A port called `api` is that of an API that uwsgi serves: its pods drain before they end, and are probed by HTTP.
    A number may occur twice, once for each protocol.
    """

    name: str
    number: int
    probed: bool = False
    protocol: Protocol = "TCP"


@dataclass(frozen=True)
class HostPath:
    """A path of the host that pods see, at the same place unless `mount` says another.

    `type` is what Kubernetes checks before the pod starts, such as DirectoryOrCreate; with `propagation`, mounts that
    are made later on one side appear on the other one (HostToContainer, Bidirectional).
    """

    path: str
    mount: str = ""
    type: str = ""
    read_only: bool = False
    propagation: str = ""


@dataclass(frozen=True)
class Host:
    """What a component's pods take of the machine that they run on; by default nothing.

    `network`, `pid` and `ipc` are the namespaces that they share with the host: its network, its processes, its shared
    memory.
    A namespace that enforces a stricter profile than `profile` refuses such pods, and the operator says so before it
    deploys them.
    """

    network: bool = False
    pid: bool = False
    ipc: bool = False
    privileged: bool = False
    capabilities: tuple[str, ...] = ()
    paths: tuple[HostPath, ...] = ()

    @property
    def profile(self) -> Profile:
        """The strictest profile of pod security that allows this."""
        asked = set(self.capabilities)
        shared = self.network or self.pid or self.ipc
        if shared or self.privileged or self.paths or not asked <= _BASELINE:
            return "privileged"
        return "restricted" if asked <= _RESTRICTED else "baseline"

    def __str__(self) -> str:
        """Name what is taken, as a sentence does."""
        taken = ["the network of the host"] if self.network else []
        taken += ["the processes of the host"] if self.pid else []
        taken += ["the shared memory of the host"] if self.ipc else []
        taken += ["privileged containers"] if self.privileged else []
        taken += [f"the capability {name}" for name in self.capabilities]
        taken += [f"{entry.path} of the host" for entry in self.paths]
        return ", ".join(taken)


NOTHING = Host()


def loosest(profiles: Iterable[Profile]) -> Profile:
    """Return the profile that allows what each of some profiles allows; the strictest if there are none."""
    return max(profiles, key=PROFILES.index, default=PROFILES[0])


def forbids(enforced: str, needed: Profile) -> bool:
    """Return whether the API server refuses pods that need a profile, where a namespace's label says `enforced`."""
    return enforced in PROFILES and PROFILES.index(enforced) < PROFILES.index(needed)
