"""Which API of a Glance the catalog names while another one takes its place, and when the former one may go."""

from typing import Any

import msgspec
import pytest

from stackwright.api.keystone import KeystoneEndpoint
from stackwright.blueprint.facts import Endpoints
from stackwright.controllers.service.listed_api import with_listed
from stackwright.kube.builtin import Pod
from stackwright.kube.conditions import Finding
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Overridden
from stackwright.services.glance.kinds import Glance
from stackwright.services.glance.service import SERVICE
from stackwright.services.glance.settings import GlanceFacts
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE as KEYSTONE
from tests.unit.services.glances import facts, glance

FIRST = Endpoints("http://glance-first-public:9292", "http://glance-first-internal:9292")
SECOND = Endpoints("http://glance-second-public:9292", "http://glance-second-internal:9292")


def renamed(former: Endpoints | None = FIRST, **template: Any) -> Glance:
    """Return a Glance that asks for the second API, and whose status tells of another one."""
    resource = glance(glanceAPIs={"second": template})
    urls = former.by_interface if former is not None else {}
    return msgspec.structs.replace(resource, status=msgspec.structs.replace(resource.status, apiEndpoint=urls))


def overridden() -> Glance:
    """Return one whose endpoints somebody else has set."""
    resource = renamed()
    said = (Overridden(resource="KeystoneEndpoint/glance", field="spec.endpoints.public", manager="kubectl"),)
    return msgspec.structs.replace(resource, status=msgspec.structs.replace(resource.status, overridden=said))


def pod(component: str, *, ready: bool = True, **metadata: Any) -> Pod:
    labels = {"app.kubernetes.io/component": component}
    status = {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    return msgspec.convert({"metadata": {"name": component, "labels": labels, **metadata}, "status": status}, Pod)


def registered(endpoints: Endpoints) -> KeystoneEndpoint:
    said = endpoints.by_interface
    status = {"endpoints": [{"interface": interface, "url": url} for interface, url in said.items()]}
    spec = {"serviceName": "glance", "endpoints": said}
    return msgspec.convert({"metadata": {"name": "glance"}, "spec": spec, "status": status}, KeystoneEndpoint)


def listed(
    resource: Glance, *there: Pod | KeystoneEndpoint
) -> tuple[Endpoints | None, tuple[Wait, ...], tuple[Finding, ...]]:
    def look(kind: type[Any], name: str, **_: str) -> Any:
        return next((each for each in there if isinstance(each, kind) and each.metadata.name == name), None)

    pods = (each for each in there if isinstance(each, Pod))
    known: GlanceFacts
    known, announced = with_listed(SERVICE, resource, facts(endpoints=SECOND), look, pods)
    return known.endpoints, announced.waits, announced.findings


BOTH = (pod("second-external"), pod("second-internal"))


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param((), id="there-is-none"),
        pytest.param((pod("first-external"), pod("first-internal")), id="only-the-former-serves"),
        pytest.param((pod("second-external"),), id="only-that-for-clients"),
        pytest.param((pod("second-external"), pod("second-internal", ready=False)), id="one-is-starting"),
        pytest.param(
            (pod("second-external"), pod("second-internal", deletionTimestamp="2026-11-15T00:00:00Z")), id="one-goes"
        ),
    ],
)
def test_the_catalog_keeps_the_former_api_until_the_new_one_serves(pods: tuple[Pod, ...]) -> None:
    endpoints, waits, (finding,) = listed(renamed(), *pods, registered(FIRST))
    # Nothing waits for the catalog, so that what is to go may make room.
    assert (endpoints, waits) == (FIRST, ())
    assert (finding.condition, finding.status) == ("KeystoneEndpointReady", "False")
    assert f"The catalog names {FIRST.public} until there is a pod" in finding.message


def test_what_else_the_status_has_does_not_matter() -> None:
    resource = renamed()
    urls = {**FIRST.by_interface, "admin": "http://elsewhere"}
    resource = msgspec.structs.replace(resource, status=msgspec.structs.replace(resource.status, apiEndpoint=urls))
    assert listed(resource)[0] == FIRST


def test_what_was_there_stays_until_the_catalog_names_the_new_api() -> None:
    endpoints, (wait,), findings = listed(renamed(), *BOTH, registered(FIRST))
    assert (endpoints, wait.reason, findings) == (SECOND, "CatalogFollows", ())
    assert listed(renamed(), *BOTH, registered(SECOND)) == (SECOND, (), ())


def test_what_was_there_stays_too_if_the_new_api_fails_before_the_catalog_names_it() -> None:
    _, (wait,), _ = listed(renamed(SECOND), registered(FIRST))
    assert wait.reason == "CatalogFollows"


@pytest.mark.parametrize(
    ("resource", "there"),
    [
        pytest.param(renamed(None), (), id="the-first-one"),
        pytest.param(renamed(None), BOTH, id="nothing-is-registered-yet"),
        pytest.param(renamed(SECOND), (registered(SECOND),), id="it-failed-later"),
        pytest.param(renamed(replicas=0), (), id="it-is-to-have-no-pods"),
        pytest.param(renamed(Endpoints(FIRST.public)), (), id="the-status-names-one-interface-only"),
        pytest.param(overridden(), (*BOTH, registered(FIRST)), id="somebody-else-says-what-the-catalog-names"),
    ],
)
def test_otherwise_the_catalog_names_what_is_asked_for(resource: Glance, there: tuple[Any, ...]) -> None:
    assert listed(resource, *there) == (SECOND, (), ())


def test_the_url_of_a_service_with_one_api_changes_at_once() -> None:
    spec = {"databaseInstance": "openstack", "secret": "osp-secret"}
    body = {"metadata": {"name": "keystone", "namespace": "openstack"}, "spec": spec}
    resource = msgspec.convert({**body, "status": {"apiEndpoints": FIRST.by_interface}}, KeystoneAPI)
    known: Any = facts(endpoints=SECOND)
    assert with_listed(KEYSTONE, resource, known, lambda *_, **__: None, ())[0] == known
