"""What the values take away, and the chart of a database or a broker needs, is what it usually is."""

import pytest

from tests.charts.conftest import Render


@pytest.mark.parametrize("nothing", ["services", "services.internal"])
@pytest.mark.parametrize("chart", ["mariadb", "rabbitmq"])
def test_a_service_that_nobody_describes_is_for_the_cluster(render: Render, chart: str, nothing: str) -> None:
    objects = render(chart, "--set", f"{nothing}=null")
    assert objects["Service", chart]["spec"].get("type", "ClusterIP") == "ClusterIP"


def test_the_nodes_of_a_database_agree_on_how_many_there_are(render: Render) -> None:
    objects = render("mariadb", "--set", "components.server.replicas=null")
    assert objects["StatefulSet", "mariadb-galera"]["spec"]["replicas"] == 1
    assert objects["ConfigMap", "mariadb-galera-state"]["data"]["replicas"] == "1"
