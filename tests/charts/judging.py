"""Asks the server whether it would take a pod where the restricted profile is enforced."""

from typing import Any

from stackwright.kube.builtin import Namespace, Pod
from stackwright.kube.client import Client
from stackwright.kube.errors import ApiError


async def restricted(client: Client, namespace: str) -> None:
    await client.apply(
        Namespace, {"metadata": {"name": namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    )


async def judge(client: Client, namespace: str, template: dict[str, Any]) -> str:
    """What the server says of a pod, without keeping it; nothing when it would take it."""
    # An account that is there in every namespace: the chart's own is not, because nothing is installed.
    spec = {**template["spec"], "serviceAccountName": "default"}
    try:
        await client.apply(Pod, {"metadata": {"name": "judged", "namespace": namespace}, "spec": spec}, dry_run=True)
    except ApiError as error:
        return error.message
    return ""
