"""The pods of databases and brokers, and what of their StatefulSets can never change, are those of the clouds that run.

A changed pod template restarts every node of every cloud at the next upgrade, and a changed selector, claim or name
cannot be applied at all. Where a change is wanted, write it into the changelog, and the new digests here: the failing
test shows them.
"""

import hashlib
import json

import pytest

from tests.charts.conftest import Render

FIXED = ("selector", "serviceName", "volumeClaimTemplates", "podManagementPolicy")
SETTLED = {
    ("mariadb", "mariadb-galera"): ("c869dd2a981f", "c0d3a5d71612"),
    ("rabbitmq", "rabbitmq-server"): ("4564816acfcd", "94ea52f3b79a"),
    ("memcached", "memcached"): ("8e0dbcf0ca66", "e2704cd6b3b8"),
}
# The programs of the nodes are in a ConfigMap; that they changed is for their own tests to say.
PROGRAMS = "openstack.org/programs-hash"


def digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


@pytest.mark.parametrize(("chart", "name"), SETTLED)
def test_the_pods_stay_as_they_are(render: Render, chart: str, name: str) -> None:
    spec = render(chart)["StatefulSet", name]["spec"]
    spec["template"]["metadata"].get("annotations", {}).pop(PROGRAMS, None)
    fixed = {field: spec.get(field) for field in FIXED}
    assert (digest(spec["template"]), digest(fixed)) == SETTLED[chart, name]
