"""Proxies are for the world outside: who talks to a cluster on this machine finds none."""

import pytest

from stackwright.local import operator_chart, proxies
from stackwright.local.cluster import preparation
from tests.unit.local.cluster.samples import SETTINGS

PROXY = {"HTTPS_PROXY": "http://proxy:3128", "http_proxy": "http://proxy:3128", "PATH": "/bin"}


def test_without_proxies_nothing_else_is_missing() -> None:
    assert proxies.without({**PROXY, "no_proxy": "localhost", "GOPROXY": "direct"}) == {
        "PATH": "/bin",
        "GOPROXY": "direct",
    }


@pytest.mark.parametrize(
    ("given", "excepted"),
    [
        pytest.param(PROXY, "a,b", id="none-before"),
        pytest.param({**PROXY, "NO_PROXY": "c"}, "c,a,b", id="after-those-of-the-user"),
        pytest.param({**PROXY, "no_proxy": "c", "NO_PROXY": ""}, "c,a,b", id="in-small-letters"),
    ],
)
def test_hosts_are_excepted_for_all_programs(given: dict[str, str], excepted: str) -> None:
    told = {"NO_PROXY": excepted, "no_proxy": excepted}
    assert proxies.except_for(("a", "b"), given) == {**given, **told}


@pytest.mark.parametrize("given", [{"PATH": "/bin"}, {**PROXY, "NO_PROXY": "*"}], ids=["no-proxy", "for-nobody"])
def test_where_there_is_nothing_to_except_nothing_changes(given: dict[str, str]) -> None:
    assert proxies.except_for(("a",), given) == given


def test_only_what_fetches_images_finds_the_proxies() -> None:
    assert preparation.environment("kubelet", SETTINGS, PROXY) == {"PATH": "/bin"}
    containerd = preparation.environment("containerd", SETTINGS, PROXY)
    assert containerd["HTTPS_PROXY"] == PROXY["HTTPS_PROXY"]
    assert SETTINGS.address in containerd["NO_PROXY"].split(",")


def test_helm_goes_where_it_is_told_to() -> None:
    elsewhere = {"HELM_KUBEAPISERVER": "https://elsewhere", "HELM_KUBETOKEN": "secret", "HELM_CACHE_HOME": "/cache"}
    assert operator_chart.alike({**PROXY, **elsewhere}) == {"PATH": "/bin", "HELM_CACHE_HOME": "/cache"}
