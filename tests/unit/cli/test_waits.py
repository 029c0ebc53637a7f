"""What somebody reads who waited for an operator in vain."""

import pytest

from stackwright.api.base import ObjectMeta
from stackwright.cli.waits import describe_lateness
from stackwright.kube.resource import Condition
from stackwright.services.memcached.kinds import Memcached, MemcachedStatus

TRIAL = "StatefulSet memcached keeps its pods until a trial succeeds"


@pytest.mark.parametrize(
    ("ready", "end"),
    [
        pytest.param((), "; does one run?", id="nobody-has-said-anything"),
        pytest.param((Condition(type="Ready", status="True"),), "; does one run?", id="nothing-is-wrong"),
        pytest.param(
            (Condition(type="Ready", status="False", reason="Trial", message=TRIAL),),
            f"; the resource says: Trial: {TRIAL}.",
            id="it-waits-for-something",
        ),
    ],
)
def test_who_waited_in_vain_reads_what_for(ready: tuple[Condition, ...], end: str) -> None:
    metadata = ObjectMeta(name="memcached", namespace="openstack")
    seen = Memcached(metadata=metadata, status=MemcachedStatus(conditions=ready))
    assert describe_lateness(seen, 5) == f"memcached/memcached: the operator did not do it within 5 s{end}"
