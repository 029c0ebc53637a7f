"""What others set, as people read it."""

from typing import Any

import pytest

from stackwright.cli.printing.overrides_report import lines
from stackwright.foresight.overrides import override_of
from stackwright.kube.resource import Overridden

BODY: dict[str, Any] = {"spec": {"replicas": 3}, "data": {"password": "c2VjcmV0"}}


def entry(field: str = ".spec.replicas", wanted: str = "1", resource: str = "Deployment/api") -> Overridden:
    return Overridden(resource=resource, field=field, manager="kubectl", wanted=wanted)


@pytest.mark.parametrize(
    ("asked", "body", "now", "after"),
    [
        pytest.param(entry(), BODY, "3", "1", id="a-field"),
        pytest.param(entry(".spec.x", ""), BODY, "nothing", "nothing", id="a-field-that-is-gone-by-now"),
        pytest.param(entry(".spec.replicas", ""), BODY, "3", "nothing", id="a-field-that-nobody-asks-for"),
        pytest.param(entry(".", ""), BODY, "{…}", "nothing", id="an-object-that-nobody-asks-for"),
        pytest.param(entry(".", "{…}"), None, "nothing", "{…}", id="an-object-that-is-to-be-made"),
        pytest.param(entry(".data.password", "", "Secret/a"), BODY, "not told", "not told", id="what-is-in-a-secret"),
    ],
)
def test_what_is_and_what_comes(asked: Overridden, body: dict[str, Any] | None, now: str, after: str) -> None:
    override = override_of(asked, body)
    assert (override.now, override.after) == (now, after)
    assert "c2VjcmV0" not in "".join(lines([override]))


def test_an_override_is_three_lines() -> None:
    assert lines([override_of(entry(), BODY)]) == [
        "  Deployment/api .spec.replicas, by kubectl",
        "    now:   3",
        "    after: 1",
    ]
