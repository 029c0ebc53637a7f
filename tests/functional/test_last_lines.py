"""What a container said before it crashed is read from its node, once, on a real API server."""

from pathlib import Path

from stackwright.controllers.service import pods
from stackwright.controllers.service.last_lines import LastLines
from stackwright.kube.builtin import Pod
from stackwright.kube.client import Client
from tests.functional import workloads
from tests.functional.fake_kubelet import kubelet, run_pod


async def test_the_log_of_a_container_that_crashed_is_read_once(
    private_client: Client, private_namespace: str, tmp_path: Path
) -> None:
    client, namespace = private_client, private_namespace
    async with kubelet(client, tmp_path) as node:
        pod = await run_pod(client, workloads.pod("db-0", namespace))
        (container,) = (entry["name"] for entry in pod.spec["containers"])
        (running,) = pod.status["containerStatuses"]
        waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
        crashed = {"ready": False, "restartCount": 1, "state": waiting, "lastState": {"terminated": {"exitCode": 7}}}
        change = {"status": {"containerStatuses": [{**running, **crashed}]}}
        pod = await client.patch(Pod, "db-0", namespace, change, subresource="status")
        lines = LastLines()
        # A node that has no log for us changes nothing of what is told.
        assert await lines.add([pod], client) == [pod]
        node.logs["db-0", container] = b"starts\n2026-11-16  8:35:08 0 [ERROR] unknown variable 'foo=1'\nstopped\n"
        (said,) = await lines.add([pod], client)
        assert f"container {container} ends with code 7: [ERROR] unknown variable 'foo=1'; see" in pods.trouble([said])
        assert node.asked[-1]["previous"] == "true"
        # The next crash may say the same with another number in it.
        node.logs["db-0", container] = b"another [ERROR] 123\n"
        assert await lines.add([pod], client) == [said]
        lines.forget([])
        assert not lines.known
