"""Which namespaces the operators are installed for."""

from typing import Any

import pytest

from stackwright.local import reach

THERE = {"openstack", "second", "third"}


@pytest.mark.parametrize(
    ("told", "asked", "inhabited", "said"),
    [
        pytest.param({}, ["openstack"], [], ["openstack"], id="the-first-time"),
        pytest.param({}, ["openstack"], ["third", "second"], ["second", "third", "openstack"], id="of-before"),
        pytest.param({"namespaces": ["second"]}, ["openstack"], ["third"], ["second", "openstack"], id="one-more"),
        pytest.param({"namespaces": ["openstack"]}, ["openstack"], [], ["openstack"], id="the-same"),
        pytest.param({"namespaces": ["gone", "second"]}, [], [], ["second"], id="one-is-gone"),
        pytest.param({"namespaces": None}, ["openstack"], [], ["openstack"], id="taken-back"),
        pytest.param({"clusterWide": False}, ["openstack"], [], ["openstack"], id="not-all"),
    ],
)
def test_namespaces_are_added_to_those_of_before(told: Any, asked: Any, inhabited: Any, said: list[str]) -> None:
    assert reach.values(told, asked, THERE, inhabited) == {"namespaces": said}


def test_who_chose_all_namespaces_keeps_them() -> None:
    assert reach.values({"clusterWide": True, "namespaces": ["second"]}, ["openstack"], THERE, ()) == {}
