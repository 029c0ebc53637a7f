"""Who stands for what was made for a resource that is gone."""

import msgspec
import pytest

from stackwright.api.keystone import (
    KeystoneEndpoint,
    KeystoneEndpointSpec,
    KeystoneEndpointStatus,
    KeystoneService,
    KeystoneServiceSpec,
    KeystoneServiceStatus,
)
from stackwright.controllers.identity.access import Registered
from stackwright.controllers.identity.registration import Made
from stackwright.controllers.identity.sweeping import is_stood_for
from stackwright.controllers.identity.upgrade import registered
from stackwright.kube.resource import ObjectMeta

SERVICE = Made(what="service", name=("image", "glance"), id="s1")
USER = Made(what="user", name=("glance",), id="u1")
PUBLIC = Made(what="endpoint", name=("s1", "regionOne", "public"), id="e1")
META = ObjectMeta(name="other", namespace="cloud")


def service(
    of: str = "other", user: str = "other", *, deleted: str | None = None, instance: str = "", **status: str
) -> KeystoneService:
    return KeystoneService(
        metadata=msgspec.structs.replace(META, deletionTimestamp=deleted),
        spec=KeystoneServiceSpec(
            serviceType="image",
            serviceName=of,
            serviceUser=user,
            secret="s",
            passwordSelector="p",
            keystoneInstance=instance,
        ),
        status=msgspec.convert(status, KeystoneServiceStatus),
    )


def endpoint(interface: str, service_id: str) -> KeystoneEndpoint:
    return KeystoneEndpoint(
        metadata=META,
        spec=KeystoneEndpointSpec(serviceName="other", endpoints={interface: "http://x"}),
        status=KeystoneEndpointStatus(serviceID=service_id, endpointIDs={"internal": "e9"}),
    )


@pytest.mark.parametrize(
    ("made", "resource", "stood_for"),
    [
        pytest.param(SERVICE, service(), False, id="who-asks-for-another-service"),
        pytest.param(SERVICE, service(of="glance"), True, id="who-asks-for-the-service"),
        pytest.param(SERVICE, service(serviceID="s1"), True, id="who-has-registered-the-service"),
        pytest.param(msgspec.structs.replace(SERVICE, id=""), service(), False, id="who-has-registered-nothing"),
        pytest.param(SERVICE, service(user="glance"), False, id="who-asks-for-the-user-alone"),
        pytest.param(USER, service(user="glance"), True, id="who-works-as-the-user"),
        pytest.param(USER, service(of="glance"), False, id="who-works-as-another"),
        pytest.param(USER, service(user="glance", deleted="2026-11-15T00:00:00Z"), False, id="who-goes-too"),
        pytest.param(USER, service(user="glance", instance="two"), False, id="who-wants-it-in-another-keystone"),
        pytest.param(USER, service(user="glance", keystoneInstance="two"), False, id="who-has-it-in-another-keystone"),
        pytest.param(USER, service(user="glance", instance="one"), True, id="who-wants-it-in-this-keystone"),
        pytest.param(PUBLIC, endpoint("public", "s1"), True, id="who-asks-for-the-interface"),
        pytest.param(PUBLIC, endpoint("internal", "s1"), False, id="who-asks-for-another-interface"),
        pytest.param(PUBLIC, endpoint("public", "s2"), False, id="who-asks-for-it-of-another-service"),
        pytest.param(SERVICE, endpoint("public", "s1"), False, id="an-endpoint-stands-for-no-service"),
    ],
)
def test_what_was_made_is_stood_for_by(made: Made, resource: Registered, stood_for: bool) -> None:
    assert is_stood_for(made, "one", [resource]) is stood_for


def test_what_an_older_operator_registered_is_what_the_status_says() -> None:
    assert registered(service(of="glance", user="glance", serviceID="s1", userID="u1")) == (SERVICE, USER)
    assert registered(service(serviceID="s1")) == (Made(what="service", name=("image", "other"), id="s1"),)
    assert registered(endpoint("public", "s1")) == (Made(what="endpoint", name=("s1", "", "internal"), id="e9"),)
