"""How an operator reaches what runs in the cluster: by name from inside, by address from outside."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from stackwright.kube.builtin import Service
from stackwright.kube.client import Client
from stackwright.kube.errors import Retry

# What the kubelet tells every container.
_INSIDE = "KUBERNETES_SERVICE_HOST"


def is_inside(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether this program runs in a pod."""
    return _INSIDE in environment


@dataclass(frozen=True)
class Dialler:
    """Finds the address to dial for a host name.

    Inside the cluster a name is its own address. Outside, where the cluster's DNS does not answer, a Service's name
    becomes its ClusterIP, which one route makes reachable on a local cluster.
    """

    client: Client
    inside: bool

    async def address(self, hostname: str) -> str:
        """Return what to dial for a host name."""
        parts = hostname.removesuffix(".cluster.local").split(".")
        if self.inside or len(parts) != 3 or parts[2] != "svc":
            return hostname
        service = await self.client.find(Service, parts[0], parts[1])
        address = service.spec.get("clusterIP", "") if service is not None else ""
        if not address or address == "None":
            raise Retry(f"Service {parts[0]} in namespace {parts[1]} has no address yet", reason="ServiceMissing")
        return str(address)
