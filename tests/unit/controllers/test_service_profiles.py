"""A service that takes something of the host is refused where its namespace's profile forbids that."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.service import Service
from stackwright.blueprint.workloads import ENFORCED, Host, HostPath
from stackwright.controllers.service.controller import ServiceController
from stackwright.controllers.service.decide import Intent, Seen, decide
from stackwright.controllers.service.environment import Environment
from stackwright.kube.builtin import Namespace
from stackwright.kube.errors import Blocked
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.memcached.service import SERVICE

ENVIRONMENT = Environment({"memcached": ComponentImage("memcached:1")}, Path("charts"))
HOST = Host(network=True, paths=(HostPath("/run/openvswitch"),))


def taking(host: Host, **words: Any) -> Service[Any, Any]:
    (component,) = SERVICE.known_components
    return replace(SERVICE, components=(replace(component, host=host, **words),))


def decided(service: Service[Any, Any], profile: str) -> Intent[Any]:
    labels = {ENFORCED: profile} if profile else {}
    openstack = msgspec.convert({"metadata": {"name": "openstack", "labels": labels}}, Namespace)
    resource = msgspec.convert({"metadata": {"name": "memcached", "namespace": "openstack"}, "spec": {}}, Memcached)

    def look(kind: type[Any], name: str, *, namespace: str = "") -> Any:
        return openstack if (kind, name) == (Namespace, "openstack") else None

    return decide(service, resource, Seen(look, datetime(2026, 11, 15, tzinfo=UTC)), ENVIRONMENT)


def test_what_the_profile_forbids_is_refused_with_what_to_do() -> None:
    with pytest.raises(Blocked) as refused:
        decided(taking(HOST), "restricted")
    assert str(refused.value) == (
        "Namespace openstack enforces the pod security profile restricted, which forbids this service's pods: server "
        "takes the network of the host, /run/openvswitch of the host. Allow it (kubectl label --overwrite namespace "
        "openstack pod-security.kubernetes.io/enforce=privileged), or use another namespace"
    )
    assert refused.value.reason == "ProfileForbids"


def test_root_needs_less_than_the_host() -> None:
    with pytest.raises(Blocked, match=r"takes the user root\. Allow it .*enforce=baseline"):
        decided(taking(Host(), user=0), "restricted")
    assert decided(taking(Host(), user=0), "baseline").values is not None


@pytest.mark.parametrize("profile", ["privileged", ""])
def test_what_is_allowed_is_deployed(profile: str) -> None:
    assert decided(taking(HOST), profile).values is not None


def test_who_takes_nothing_does_not_look_at_the_namespace() -> None:
    assert decided(SERVICE, "restricted").values is not None
    assert Namespace not in ServiceController(SERVICE, ENVIRONMENT).controller().kinds
    assert Namespace in ServiceController(taking(HOST), ENVIRONMENT).controller().kinds


def test_a_daemon_set_has_no_number_of_pods() -> None:
    values = decided(taking(HOST, workload="DaemonSet"), "privileged").values
    assert values is not None
    assert "replicas" not in values["components"]["server"]
