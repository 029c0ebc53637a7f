"""The configuration files of a node's programs, as text; pure."""

import json
from collections.abc import Iterable

import yaml

from stackwright.kube.resource import JsonObject
from stackwright.local.cluster import flags
from stackwright.local.cluster.layout import Settings

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
CONTAINERD_ROOT = "/var/lib/containerd"
VOLUMES = "/var/lib/stackwright/volumes"
PAUSE = "stackwright.local/pause:1"
# The provisioner of the storage class.
PROVISIONER = "stackwright.org/local"
# What changes something is written down: by whom, what, when; never its content.
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    verbs: [get, list, watch]
  - level: Metadata
"""


def kubelet(settings: Settings, credentials: flags.Credentials, *, nameservers: str) -> str:
    """Return the kubelet's configuration; `nameservers` is the path of its resolv.conf."""
    configuration: JsonObject = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(credentials.authority.certificate)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(credentials.kubelet_server.certificate),
        "tlsPrivateKeyFile": str(credentials.kubelet_server.key),
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{settings.cgroup}",
        "enforceNodeAllocatable": [],
        # What root may not do without CAP_SYS_RESOURCE, and on older cgroups, is forgiven.
        "featureGates": {"KubeletInUserNamespace": True},
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": [settings.network.dns_service],
        "clusterDomain": flags.DOMAIN,
        "resolvConf": nameservers,
        # The disk is the user's, and others fill it too; only when it is really full pods must go.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        # Images are put here by hand; there may be no registry to get them from again.
        "serializeImagePulls": False,
        "registerNode": True,
        "shutdownGracePeriod": "0s",
        "logging": {"verbosity": 1},
    }
    return yaml.safe_dump(configuration, sort_keys=False)


def containerd(settings: Settings, *, networks: str, registries: str) -> str:
    """Return containerd's configuration; two folders have the node's network, and what is special of registries."""
    return f"""\
version = 2
root = "{CONTAINERD_ROOT}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", \
"io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs"]

[grpc]
  address = "{CONTAINERD_SOCKET}"

[metrics]
  address = "127.0.0.1:{flags.CONTAINERD_HEALTH}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_tcp_service = true

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{settings.cni}"
  conf_dir = "{networks}"

[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "{registries}"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
"""


def registry(settings: Settings) -> str:
    """Return what containerd has to know of the cluster's own registry: it speaks no TLS."""
    url = f"http://{settings.registry}"
    return f'server = "{url}"\n\n[host."{url}"]\n  capabilities = ["pull", "resolve"]\n'


def network(settings: Settings, *, bridge_filter: bool) -> str:
    """Return the node's network, as the network plugins read it.

    On a bridge, an answer from pod to pod passes the firewall, and so finds back through a Service, only where the
    kernel filters bridges; elsewhere each pod gets a cable of its own.
    """
    addresses: JsonObject = {
        "type": "host-local",
        # What is kept here is worthless after the node's end, and would be in the way of the next node.
        "dataDir": "/run/cni/networks",
        "ranges": [[{"subnet": settings.network.pods_of(settings.node.index)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "pods", "isGateway": True, "ipMasq": True, "hairpinMode": True}
    cable = {"type": "ptp", "ipMasq": True}
    plugins = [
        (bridge if bridge_filter else cable) | {"ipam": addresses},
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ]
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": plugins}, indent=2)


def resolv_conf(nameservers: Iterable[str]) -> str:
    """Return the resolv.conf of the node."""
    return "".join(f"nameserver {name}\n" for name in nameservers)
