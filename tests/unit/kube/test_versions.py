"""Which writes are meant for one version, and when the server is asked first: never where the cache says enough."""

from typing import Any

import msgspec
import pytest

from stackwright.kube.builtin import ConfigMap, Deployment, StatefulSet
from stackwright.kube.resource import JsonObject, Resource
from stackwright.kube.shapes import versions
from stackwright.kube.shapes.versions import Sight
from stackwright.services.keystone.kinds import KeystoneAPI

ANY = Sight({})
SEEN = Sight({}, "7")


def seen(kind: type[Resource] = Deployment, **spec: Any) -> Any:
    return msgspec.convert({"metadata": {"name": "a", "resourceVersion": "7"}, "spec": spec}, kind)


@pytest.mark.parametrize(
    ("spec", "present", "missed", "sight"),
    [
        pytest.param({"replicas": 1}, seen(replicas=1), False, SEEN, id="a-workload-that-runs"),
        pytest.param({"replicas": 3}, seen(StatefulSet, replicas=1), False, SEEN, id="one-that-is-to-grow"),
        pytest.param({"replicas": 1}, seen(replicas=0), False, None, id="one-that-somebody-scaled-to-0"),
        pytest.param({"replicas": 0}, seen(replicas=1), False, ANY, id="no-pods-are-asked-for"),
        pytest.param({}, seen(replicas=1), False, ANY, id="nobody-asks-for-a-number"),
        pytest.param({"replicas": 1}, None, False, ANY, id="one-that-is-made-for-the-first-time"),
        pytest.param({"replicas": 1}, None, True, None, id="one-that-was-made-and-is-not-in-the-cache"),
        pytest.param({}, ConfigMap(), False, ANY, id="what-has-no-pods"),
        pytest.param(
            {"replicas": 1},
            seen(KeystoneAPI, replicas=1, databaseInstance="d", secret="s"),
            False,
            ANY,
            id="the-server-knows-who-set-the-replicas-of-a-custom-resource",
        ),
    ],
)
def test_for_which_version_an_apply_is(
    spec: JsonObject, present: Resource | None, missed: bool, sight: Sight | None
) -> None:
    of = type(present) if present is not None else Deployment
    assert versions.see(of, {"spec": spec}, present, missed=missed) == sight
