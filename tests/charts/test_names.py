"""Whatever a chart renders has a name that its resource claims: so no two releases meet by surprise."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright import services
from stackwright.blueprint.service import Service
from stackwright.controllers.ownership import Around, claims
from stackwright.kube import documents
from tests.charts.conftest import CHARTS, VALUES, Helm
from tests.surroundings import nothing_known
from tests.unit.controllers.ownership.making import made

# What the values of a chart ask for beyond what a resource says by itself.
FURTHER: dict[str, dict[str, Any]] = {
    "glance": {
        "glanceAPIs": {"default": {}, "s3": {"type": "single"}, "wide": {"type": "single"}},
        "keystoneEndpoint": "default",
    },
    "ovn-database": {"dbType": "NB", "replicas": 3},
    "nova": {
        "cellTemplates": {
            "cell0": {},
            "cell1": {"novaComputeTemplates": {"fake": {"computeDriver": "fake.FakeDriver"}}},
        }
    },
}


@pytest.mark.parametrize(
    "service", [each for each in services.blueprints() if each.has_chart], ids=lambda service: service.name
)
def test_every_name_in_a_chart_is_claimed(helm: Helm, service: Service[Any, Any], tmp_path: Path) -> None:
    chart, values = CHARTS / service.chart_name, tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(asked(service)))
    printed = helm("template", "test", chart, "--values", values)
    resource = made(service.kind.kind.name, "test", FURTHER.get(service.name))
    claimed = {claim.name for claim in claims(resource, Around(nothing_known, "cloud"))}
    # The name of a Job ends in a hash; those of actions are named by their ids.
    rendered = {
        body["metadata"]["name"].rpartition("-")[0] if body["kind"] == "Job" else body["metadata"]["name"]
        for body in documents.read(printed)
    }
    assert {name for name in rendered - claimed if not name.startswith("test-action-")} == set()


def asked(service: Service[Any, Any]) -> dict[str, Any]:
    """The values with which the chart is tried; of a chart for several services, what this one has of them."""
    values: dict[str, Any] = yaml.safe_load((VALUES / f"{service.chart_name}.yaml").read_text())
    if not any(each.chart == service.chart_name for each in services.blueprints()):
        return values
    values["name"] = service.name
    resource = made(service.kind.kind.name, "test", FURTHER.get(service.name))
    said = values["components"]
    values["components"] = {
        # What has no configuration has other values, as the file has them.
        each.name: {"config": "test-config-data"} if each.command is not None else said[each.name]
        for each in service.components_of(resource)
    }
    component = next(iter(values["components"]), "")
    exposed = {endpoint.key(each) for endpoint in service.endpoints_of(resource) for each in endpoint.interfaces}
    values["services"] = {key: {"component": component} for key in sorted(exposed)}
    for word, known in (("jobs", service.known_jobs), ("schedules", service.schedules)):
        if word not in values:
            continue
        # A cell is removed that the resource does not name any more.
        names = [each.name for each in known if not each.name.startswith("delete-")]
        values[word] = {
            name: said for name, said in values[word].items() if any(fnmatchcase(name, each) for each in names)
        }
    values |= {"actions": {}} if "actions" in values else {}
    del values["networkPolicies"]
    if service.name == service.chart_name:
        del values["name"]
    return values
