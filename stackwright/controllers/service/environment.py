"""What the service controllers of one operator have in common."""

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackwright.adapters.helm import Renderer
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.passwords import Source
from stackwright.blueprint.policies import Surroundings
from stackwright.kube import pods
from stackwright.kube.builtin import Pod
from stackwright.kube.client import Client
from stackwright.kube.errors import KubeError

# Gives, for a purpose, what draws so many bytes.
Random = Callable[[str], Callable[[int], bytes]]
# Whether a pod holds the keys of a ring at a path, by their digests.
Holds = Callable[[Client, Pod, str, Mapping[str, str]], Awaitable[bool]]


async def holds(client: Client, pod: Pod, path: str, digests: Mapping[str, str]) -> bool:
    """Ask a pod itself which keys it holds."""
    command = ("sh", "-c", f"cd {path} && sha256sum [0-9]*")
    container = pod.spec["containers"][0]["name"]
    try:
        result = await pods.execute(client, pod.metadata.name, pod.metadata.namespace, command, container=container)
    except KubeError:
        return False
    lines = (line.split() for line in result.stdout.decode(errors="replace").splitlines())
    return result.code == 0 and {name: digest for digest, name in lines} == dict(digests)


def _urandom(_: str) -> Callable[[int], bytes]:
    return os.urandom


@dataclass(frozen=True)
class Environment:
    """The images by component, where the charts are, and what the controllers use besides the cluster.

    `around` is what NetworkPolicies have to know; without it there are none.
    """

    images: Mapping[str, ComponentImage]
    charts: Path
    random: Random = field(default=_urandom, repr=False)
    holds: Holds = field(default=holds, repr=False)
    renderer: Renderer = field(default_factory=Renderer, repr=False)
    around: Surroundings | None = field(default_factory=Surroundings)

    def source(self, purpose: str) -> Source:
        """Return where the content of a Secret comes from."""
        return Source(self.random(purpose))
