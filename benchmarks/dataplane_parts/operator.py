"""The process that is measured: the controllers of the data plane, and of the services on its nodes.

It is what `stackwright operator` runs of these teams, without the controllers of Nova and Neutron themselves: what
those would leave is played. Logs are read through the API server, at the default pace.
"""

import asyncio
import signal
import sys
from pathlib import Path

from stackwright.blueprint.images import ComponentImage
from stackwright.cli import log_lines
from stackwright.controllers import dataplane, node_services
from stackwright.controllers.dialling import Dialler
from stackwright.kube import config
from stackwright.kube.client import Client
from stackwright.kube.runtime import Runtime, Settings

READY = "ready"
# No pod is started, so any image will do.
IMAGES = {name: ComponentImage(f"registry.example.com/{name}:1") for name in ("ansible-runner", "compute", "ovn")}


async def operate(kubeconfig: Path, namespace: str) -> None:
    """Run the controllers until a signal comes."""
    async with Client(config.load(kubeconfig)) as client:
        dialler = Dialler(client, inside=True)
        controllers = (*dataplane.controllers(IMAGES), *node_services.controllers(dialler, IMAGES))
        runtime = Runtime(client, controllers, namespace=namespace, settings=Settings(own_process=True))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, runtime.stop)
        async with asyncio.TaskGroup() as group:
            group.create_task(runtime.run())
            await runtime.informers.synced()
            print(READY, flush=True)


if __name__ == "__main__":
    log_lines.only_warnings()
    asyncio.run(operate(Path(sys.argv[1]), sys.argv[2]))
