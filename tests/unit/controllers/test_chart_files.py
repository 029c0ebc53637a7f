"""The files of charts that follow from the blueprints are as the code has them."""

from dataclasses import replace
from pathlib import Path

import pytest

from stackwright import services
from stackwright.blueprint import charts
from stackwright.blueprint.workloads import Host, HostPath
from stackwright.controllers import chart_files
from stackwright.services.barbican.service import SERVICE
from stackwright.services.glance.service import API, components
from tests.unit.controllers.ownership.making import made

ROOT = Path(__file__).parents[3]


def test_they_are_written() -> None:
    expected = chart_files.texts(ROOT)
    assert {path: (ROOT / "charts" / path).read_text() for path in expected} == expected, "run `make crds`"
    assert len(expected) == 2 * len({service.chart_name for service in services.blueprints()})


def test_every_chart_has_the_library() -> None:
    # It is a link. A tool that copies a tree may leave a file with the link's text, which only helm would notice.
    for name in {service.chart_name for service in services.blueprints()}:
        assert (ROOT / "charts" / name / "charts" / "library" / "Chart.yaml").is_file(), name


def test_no_template_of_a_service_says_a_number_of_the_blueprint() -> None:
    for service in services.blueprints():
        numbers = {str(chart_files.uid(service, ROOT))}
        numbers |= {str(port.number) for component in service.known_components for port in component.ports}
        for template in (ROOT / "charts" / service.chart_name / "templates").iterdir():
            said = {number for number in numbers if number in template.read_text()}
            assert said == set(), f"{template} says what blueprint.yaml says"


def test_an_order_that_cannot_be_kept_is_refused() -> None:
    (job, *_) = SERVICE.known_jobs
    with pytest.raises(ValueError, match="db-sync of barbican starts after worker, which is no job of it"):
        charts.facts([replace(SERVICE, jobs=(replace(job, after=("worker",)),))], 1)
    with pytest.raises(ValueError, match="db-sync of barbican starts after itself"):
        charts.facts([replace(SERVICE, jobs=(replace(job, after=("db-sync",)),))], 1)


def test_what_is_taken_of_the_host_is_said() -> None:
    host = Host(network=True, capabilities=("NET_ADMIN",), paths=(HostPath("/run/x", read_only=True),))
    said = charts.component(replace(SERVICE.known_components[1], workload="DaemonSet", host=host))
    assert said["workload"] == "DaemonSet"
    path = {"path": "/run/x", "mount": "/run/x", "readOnly": True}
    assert said["host"] == {"network": True, "capabilities": ["NET_ADMIN"], "paths": [path]}


def test_every_component_of_a_glance_is_of_the_form_that_its_chart_knows() -> None:
    for component in components(made("Glance", "glance")):
        assert charts.component(component) == charts.component(API)
