"""A Keystone alone, as users write it: its resource, what it needs, and what it says."""

import base64
from typing import Any

from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.functional import neighbours
from tests.functional.watching import eventually, is_ready


def keystone(namespace: str, **spec: Any) -> dict[str, Any]:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    return {"metadata": {"name": "keystone", "namespace": namespace}, "spec": said}


async def passwords(client: Client, namespace: str, **keys: str) -> None:
    body = {"metadata": {"name": "osp-secret", "namespace": namespace}, "stringData": keys}
    await client.apply(Secret, body, field_manager="user")


async def ask(client: Client, namespace: str, **spec: Any) -> None:
    """Make all that Keystone needs, and ask for it."""
    await neighbours.database_server(client, namespace)
    await neighbours.cache(client, namespace)
    await passwords(client, namespace, AdminPassword="wonderland")
    await client.apply(KeystoneAPI, keystone(namespace, **spec), field_manager="user")


async def until_ready(client: Client, namespace: str) -> KeystoneAPI:
    return await eventually(client, KeystoneAPI, "keystone", namespace, is_ready)


def message(resource: KeystoneAPI, condition: str) -> str:
    found = find(resource.status.conditions, condition)
    return found.message if found else ""


async def decoded(client: Client, name: str, namespace: str) -> dict[str, str]:
    secret = await client.get(Secret, name, namespace)
    return {key: base64.b64decode(value).decode() for key, value in secret.data.items()}
