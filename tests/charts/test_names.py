"""Whatever a chart renders has a name that its resource claims: so no two releases meet by surprise."""

from typing import Any

import pytest
import yaml

from stackwright import services
from stackwright.blueprint.service import Service
from stackwright.controllers.ownership import Around, claims
from tests.charts.conftest import CHARTS, VALUES, Helm
from tests.known import nothing_known
from tests.unit.controllers.ownership.making import made

# What the values of a chart ask for beyond what a resource says by itself.
FURTHER: dict[str, dict[str, Any]] = {
    "glance": {
        "glanceAPIs": {"default": {}, "s3": {"type": "single"}, "wide": {"type": "single"}},
        "keystoneEndpoint": "default",
    }
}


@pytest.mark.parametrize("service", services.blueprints(), ids=lambda service: service.name)
def test_every_name_in_a_chart_is_claimed(helm: Helm, service: Service[Any, Any]) -> None:
    chart, values = CHARTS / service.name, VALUES / f"{service.name}.yaml"
    printed = helm("template", "test", chart, "--values", values)
    resource = made(service.kind.kind.name, "test", FURTHER.get(service.name))
    claimed = {claim.name for claim in claims(resource, Around(nothing_known, "cloud"))}
    # The name of a Job ends in a hash; those of actions are named by their ids.
    rendered = {
        body["metadata"]["name"].rpartition("-")[0] if body["kind"] == "Job" else body["metadata"]["name"]
        for body in yaml.safe_load_all(printed)
        if body
    }
    assert {name for name in rendered - claimed if not name.startswith("test-action-")} == set()
