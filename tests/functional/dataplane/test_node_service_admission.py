"""What the webhooks say of services on nodes, on a real API server: images are filled in, and a node keeps its cell."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial

import pytest

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.blueprint.images import ComponentImage
from stackwright.controllers import roster
from stackwright.kube.admission import registration
from stackwright.kube.admission.certificate_sources import SecretCertificates, SecretSettings
from stackwright.kube.admission.registration import Settings, UrlTarget
from stackwright.kube.admission.server import WebhookServer
from stackwright.kube.builtin import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from stackwright.kube.client import Client
from stackwright.kube.errors import ApiError, Conflict, Invalid
from stackwright.kube.resource import R
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from tests.functional.dataplane.serving import CELL, IMAGES, Serving, serving
from tests.functional.watching import PATIENCE, eventually

pytestmark = pytest.mark.usefixtures("kinds")


@contextlib.asynccontextmanager
async def webhooks(here: Serving) -> AsyncIterator[None]:
    """Serve the webhooks of the operator that runs, for its namespace alone."""

    def known(kind: type[R], namespace: str | None) -> list[R]:
        assert here.runtime is not None
        try:
            return here.runtime.informers.store(kind).list(namespace)
        except LookupError:
            return []

    checks = roster.webhooks(here.controllers(), known, images=here.images)
    async with WebhookServer(checks, host="127.0.0.1", port=0) as server:
        only = {"matchLabels": {"kubernetes.io/metadata.name": here.namespace}}
        target = UrlTarget(f"https://127.0.0.1:{server.port}")
        settings = Settings(here.namespace, "nodes.example.org", target, failure_policy="Fail", namespaces=only)
        certificates = SecretSettings("webhooks", here.namespace, ("127.0.0.1",))
        publish = partial(registration.register, here.client, checks, settings)
        await SecretCertificates(here.client, certificates, use=server.use, publish=publish).refresh()
        async with asyncio.timeout(PATIENCE):
            while not await asks(here):
                await asyncio.sleep(0.05)  # What the API server has read of its own objects cannot be watched.
        try:
            yield
        finally:
            for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
                await here.client.delete(kind, here.namespace)


async def asks(here: Serving) -> bool:
    """Whether the server asks both webhooks; it may not have read their registration yet."""
    metadata = {"name": "probe", "namespace": here.namespace}
    try:
        filled = await here.client.apply(NovaExternalCompute, {"metadata": metadata, "spec": {}}, dry_run=True)
        await here.client.apply(
            NovaExternalCompute, {"metadata": metadata, "spec": {"dataplaneNodeName": "other"}}, dry_run=True
        )
    except Invalid:
        return bool(filled.spec.novaComputeContainerImage)
    except ApiError as error:
        if "failed calling webhook" not in error.message:
            raise
    return False


async def test_images_are_filled_in_and_a_node_keeps_its_cell(client: Client, namespace: str) -> None:
    async with serving(client, namespace) as here, here.operator(), webhooks(here):
        here.up("one")
        await here.cell()
        await here.compute_nodes("one")
        made = await here.ready(NovaExternalCompute, "one")
        assert made.spec.novaComputeContainerImage == "registry.example/compute:1"
        assert made.spec.ansibleEEContainerImage == "registry.example/ansible-runner:1"
        for kind, name in ((OpenStackDataPlaneRole, "compute"), (OpenStackDataPlaneNode, "one")):
            with pytest.raises(Invalid, match="node one is bound to nova-cell1 and cannot change to nova-cell2") as why:
                await here.annotate(kind, name, cell="nova-cell2")
            assert [cause.field for cause in why.value.causes] == [f"metadata.annotations[{CELL}]"]
        with pytest.raises(Invalid, match="delete its NovaExternalCompute first"):
            await here.annotate(OpenStackDataPlaneRole, "compute")
        await here.role("other")
        with pytest.raises(Invalid, match="delete its NovaExternalCompute first") as why:
            await here.node("one", "other")
        assert [cause.field for cause in why.value.causes] == ["spec.role"]
        with pytest.raises(Conflict, match="it is the role of one; delete these nodes"):
            await client.delete(OpenStackDataPlaneRole, "compute", namespace)
        await client.delete(OpenStackDataPlaneRole, "other", namespace)
        # An image that a user changed stays, whatever is copied from the node.
        own = {"metadata": {"name": "one", "namespace": namespace}, "spec": {"novaComputeContainerImage": "mine:2"}}
        await client.apply(NovaExternalCompute, own, field_manager="user")
        await here.node("one", networkAttachments=["ctlplane"])
        after = await eventually(
            client, NovaExternalCompute, "one", namespace, lambda each: each.spec.networkAttachments == ("ctlplane",)
        )
        assert after.spec.novaComputeContainerImage == "mine:2"
        assert after.spec.novaLibvirtContainerImage == "registry.example/compute:1"


async def test_an_upgraded_operator_renews_the_images_that_nobody_named(client: Client, namespace: str) -> None:
    async with serving(client, namespace) as here:
        async with here.operator(), webhooks(here):
            here.up("one")
            await here.cell()
            # One of them is named, and is the default of these days.
            own = {"novaLibvirtContainerImage": "registry.example/compute:1"}
            body = {"metadata": {"name": "one", "namespace": namespace}, "spec": own}
            await client.apply(NovaExternalCompute, body, field_manager="user")
            await here.compute_nodes("one")
            before = await here.ready(NovaExternalCompute, "one")
            assert before.spec.novaComputeContainerImage == "registry.example/compute:1"
        here.images = {name: ComponentImage(image.reference.replace(":1", ":2")) for name, image in IMAGES.items()}
        async with here.operator(), webhooks(here):
            after = await eventually(
                client,
                NovaExternalCompute,
                "one",
                namespace,
                lambda each: each.spec.novaComputeContainerImage == "registry.example/compute:2",
            )
            assert after.spec.ansibleEEContainerImage == "registry.example/ansible-runner:2"
            assert after.spec.novaLibvirtContainerImage == "registry.example/compute:1"
            assert after.spec.cellName == "nova-cell1"
