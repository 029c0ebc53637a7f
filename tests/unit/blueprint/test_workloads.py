"""What a component takes of the host, and which profile of pod security allows it."""

import pytest

from stackwright.blueprint.service import Component
from stackwright.blueprint.workloads import Host, HostPath, forbids

CASES = {
    "nothing": (Host(), "restricted"),
    "a-low-port": (Host(capabilities=("NET_BIND_SERVICE",)), "restricted"),
    "a-usual-capability": (Host(capabilities=("CHOWN",)), "baseline"),
    "a-great-capability": (Host(capabilities=("CHOWN", "NET_ADMIN")), "privileged"),
    "its-network": (Host(network=True), "privileged"),
    "its-processes": (Host(pid=True), "privileged"),
    "its-shared-memory": (Host(ipc=True), "privileged"),
    "all": (Host(privileged=True), "privileged"),
    "a-path": (Host(paths=(HostPath("/run/openvswitch"),)), "privileged"),
}


@pytest.mark.parametrize(("host", "profile"), CASES.values(), ids=CASES)
def test_the_strictest_profile_that_allows_it(host: Host, profile: str) -> None:
    assert host.profile == profile
    assert bool(str(host)) == (host != Host())


def test_root_is_not_for_the_strictest() -> None:
    assert Component[object, object]("agent", user=0).profile == "baseline"  # type: ignore[type-var]  # no resource is looked at
    assert Component[object, object]("agent").profile == "restricted"  # type: ignore[type-var]  # likewise


@pytest.mark.parametrize(
    ("enforced", "refused"),
    [("restricted", True), ("baseline", True), ("privileged", False), ("", False), ("unheard-of", False)],
)
def test_a_stricter_profile_forbids(enforced: str, refused: bool) -> None:
    assert forbids(enforced, "privileged") is refused
