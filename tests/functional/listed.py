"""A service alone beside a Keystone that runs elsewhere: a fake, and the controllers of its catalog."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from stackwright.adapters.identity import Credentials, Keystone, Session
from stackwright.blueprint.service import Service
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.identity import controllers as identity
from stackwright.controllers.service import Environment
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.runtime import Runtime
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE as KEYSTONE
from tests.fakes.running import fake
from tests.functional import neighbours
from tests.functional.cloud import cloud
from tests.functional.running import running

ADMIN = Credentials("admin", "wonderland", "admin")


@contextlib.asynccontextmanager
async def beside_keystone(
    client: Client,
    namespace: str,
    service: Service[Any, Any],
    passwords: Mapping[str, str],
    environment: Environment,
) -> AsyncIterator[Keystone]:
    """Run the operator of a service whose needs are played, with these passwords; give the Keystone that lists it."""
    keys = {"AdminPassword": ADMIN.password, **passwords}
    secret = {"metadata": {"name": "osp-secret", "namespace": namespace}, "stringData": keys}
    await client.apply(Secret, secret, field_manager="user")
    await neighbours.database_server(client, namespace)
    with fake("tests.fakes.keystone", ADMIN.password) as started:
        urls = {interface: {"endpointURL": started.url} for interface in ("public", "internal")}
        spec = {"databaseInstance": "openstack", "secret": "osp-secret", "externalKeystoneAPI": True}
        body = {
            "metadata": {"name": "keystone", "namespace": namespace},
            "spec": spec | {"override": {"service": urls}},
        }
        await client.apply(KeystoneAPI, body, field_manager="user")
        runtime = Runtime(client, identity(Dialler(client, inside=True), every=1.0), namespace=namespace)
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(running(runtime))
            await stack.enter_async_context(neighbours.schemas(client, namespace))
            await stack.enter_async_context(neighbours.broker(client, namespace))
            await stack.enter_async_context(cloud(client, namespace, (KEYSTONE, service), environment))
            yield Keystone(Session(started.url, ADMIN))
