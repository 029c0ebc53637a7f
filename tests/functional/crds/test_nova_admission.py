"""What upstream's webhooks of Nova refuse gets past the schema, so that our webhook can say it in upstream's words."""

import pytest

from stackwright.kube import config
from stackwright.kube.client import Client
from stackwright.local.apiserver.server import Shared
from tests.functional.crds.samples import KINDS
from tests.nova_admission import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_schema_leaves_it_to_the_webhook(apiserver: Shared, place: str, case: Case) -> None:
    async with Client(config.load(apiserver.kubeconfig)) as client:
        body = {"metadata": {"name": "nova", "namespace": place}, "spec": case.spec}
        created = await client.apply(KINDS[case.kind], body, dry_run=True)
    assert created.metadata.name == "nova"
