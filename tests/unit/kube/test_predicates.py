"""Which changes count."""

from typing import Any

import msgspec
import pytest

from stackwright.kube import predicates
from stackwright.kube.builtin import Deployment
from stackwright.kube.informer import Change
from stackwright.kube.predicates import Predicate
from stackwright.kube.resource import ObjectMeta

BEFORE = Deployment(metadata=ObjectMeta(name="a", generation=1, resourceVersion="1"))


def after(**fields: Any) -> Deployment:
    metadata = msgspec.structs.replace(BEFORE.metadata, resourceVersion="2", **fields)
    return Deployment(metadata=metadata, status={"replicas": 1})


@pytest.mark.parametrize(
    ("predicate", "change", "counts"),
    [
        pytest.param(
            predicates.generation_changed, Change(BEFORE, after(generation=2)), True, id="a-new-generation-counts"
        ),
        pytest.param(predicates.generation_changed, Change(BEFORE, after()), False, id="a-status-does-not"),
        pytest.param(
            predicates.generation_changed,
            Change(after(generation=0), after(generation=0)),
            True,
            id="a-kind-without-generations-counts-always",
        ),
        pytest.param(predicates.generation_changed, Change(None, BEFORE), True, id="coming-counts"),
        pytest.param(predicates.generation_changed, Change(BEFORE, None), True, id="going-counts"),
        pytest.param(predicates.labels_changed, Change(BEFORE, after(labels={"a": "b"})), True, id="a-label-counts"),
        pytest.param(predicates.labels_changed, Change(BEFORE, after(generation=2)), False, id="labels-are-the-same"),
        pytest.param(
            predicates.annotations_changed, Change(BEFORE, after(annotations={"a": "b"})), True, id="annotations-count"
        ),
        pytest.param(
            predicates.deletion_began, Change(BEFORE, after(deletionTimestamp="now")), True, id="deletion-counts"
        ),
        pytest.param(predicates.asked_differently, Change(BEFORE, after()), False, id="nothing-but-status-changed"),
        pytest.param(
            predicates.asked_differently, Change(BEFORE, after(finalizers=("a",))), True, id="a-finalizer-was-added"
        ),
        pytest.param(
            predicates.all_of(predicates.labels_changed, predicates.generation_changed),
            Change(BEFORE, after(generation=2)),
            False,
            id="all-of-needs-both",
        ),
    ],
)
def test_predicates(predicate: Predicate, change: Change[Any], counts: bool) -> None:
    assert predicate(change) is counts
