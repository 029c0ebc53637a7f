"""Who stands for what was made for a resource that is gone."""

from dataclasses import replace

import msgspec
import pytest

from stackwright.adapters.identity import Credentials, Endpoint, Service, User
from stackwright.api.keystone import (
    KeystoneEndpoint,
    KeystoneEndpointSpec,
    KeystoneEndpointStatus,
    KeystoneService,
    KeystoneServiceSpec,
    KeystoneServiceStatus,
)
from stackwright.controllers.identity.access import Access, Registered
from stackwright.controllers.identity.marks import Made, Notes, Thing, owner
from stackwright.controllers.identity.registration import Registration
from stackwright.controllers.identity.sweeping import (
    claim_on,
    is_administrator,
    is_of_others,
    is_proven,
    is_stood_for,
    sort_out,
)
from stackwright.controllers.identity.upgrade import registered
from stackwright.controllers.ownership import Around, claims
from stackwright.kube.resource import Key, ObjectMeta
from tests.surroundings import listing
from tests.unit.controllers.ownership.making import made

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


GONE = Registration("KeystoneService", Key("cloud", "glance"), "keystone")
MARK = "KeystoneService cloud/glance"
OURS = User("u1", "glance", made_for=MARK)
ENTRY = Service("s1", "image", "glance", made_for=MARK)


@pytest.mark.parametrize(
    ("noted", "thing", "proven"),
    [
        pytest.param(USER, OURS, True, id="a-user-of-ours"),
        pytest.param(USER, User("u1", "glance", "Works as glance"), True, id="a-user-of-an-older-operator"),
        pytest.param(USER, User("u1", "glance", "A person"), False, id="a-person"),
        pytest.param(USER, replace(OURS, made_for="KeystoneService cloud/nova"), False, id="a-user-of-another"),
        pytest.param(USER, replace(OURS, made_for="KeystoneService other/glance"), False, id="of-another-namespace"),
        pytest.param(USER, replace(OURS, name="nova"), None, id="an-id-under-another-name"),
        pytest.param(USER, replace(OURS, id="u2"), None, id="a-name-under-another-id"),
        pytest.param(Made(what="user", name=("glance",)), OURS, True, id="a-user-that-was-about-to-be-made"),
        pytest.param(Made(what="user", name=("glance",)), User("u9", "glance"), False, id="a-person-of-that-name"),
        pytest.param(SERVICE, ENTRY, True, id="a-service-of-ours"),
        pytest.param(SERVICE, replace(ENTRY, type="pictures"), True, id="a-service-of-another-type-now"),
        pytest.param(SERVICE, replace(ENTRY, made_for=""), False, id="a-service-without-a-mark"),
        pytest.param(SERVICE, replace(ENTRY, name="nova"), None, id="a-service-of-another-name"),
        pytest.param(SERVICE, replace(OURS, id="s1"), None, id="a-user-is-no-service"),
        pytest.param(
            PUBLIC, Endpoint("e1", "s1", "two", "public", "http://x", made_for=MARK), True, id="an-endpoint-of-ours"
        ),
        pytest.param(PUBLIC, Endpoint("e1", "s1", "two", "public", "http://x"), False, id="an-endpoint-of-somebody"),
    ],
)
def test_a_note_deletes_only_what_says_itself_that_it_was_made_for_the_resource(
    noted: Made, thing: Thing, proven: bool | None
) -> None:
    assert sort_out(GONE, [noted], [thing]) == ([thing] if proven else [], [thing] if proven is False else [])


@pytest.mark.parametrize(
    ("noted", "mark", "proven"),
    [
        pytest.param(GONE, f"{MARK} of cloud ours", True, id="ours"),
        pytest.param(replace(GONE, cloud="former"), f"{MARK} of cloud former", True, id="of-before-our-keystone-api"),
        pytest.param(GONE, f"{MARK} of cloud another", False, id="anothers"),
        pytest.param(GONE, f"{MARK} of cloud ours (adopted)", False, id="adopted"),
        pytest.param(replace(GONE, cloud="ours", made=(USER,)), MARK, True, id="of-an-older-operator"),
        pytest.param(replace(GONE, cloud="ours"), MARK, False, id="of-an-older-operator-elsewhere"),
    ],
)
def test_a_note_deletes_nothing_of_another_cloud(noted: Registration, mark: str, proven: bool) -> None:
    assert is_proven(replace(OURS, made_for=mark), noted, "ours") is proven


@pytest.mark.parametrize(
    ("endpoint", "others"),
    [
        pytest.param(Endpoint("e1", "s1", "one", "public", "http://x"), False, id="in-our-region"),
        pytest.param(Endpoint("e1", "s1", "two", "public", "http://x"), True, id="in-another-region"),
        pytest.param(Endpoint("e5", "s1", "two", "public", "http://x"), False, id="noted-by-us"),
        pytest.param(Endpoint("e1", "s1", "one", "public", "", made_for=f"{MARK} of cloud two"), True, id="anothers"),
        pytest.param(Endpoint("e1", "s1", "two", "public", "", made_for=f"{MARK} of cloud ours"), False, id="ours"),
    ],
)
def test_whose_endpoints_keep_a_service(endpoint: Endpoint, others: bool) -> None:
    who = owner(GONE.kind, GONE.key, "ours", Notes(ids=frozenset({"e5"})), external=True)
    assert is_of_others(endpoint, who, "one") is others


@pytest.mark.parametrize(
    ("user", "guarded"),
    [
        pytest.param(User("u0", "admin"), True, id="by-name-and-id"),
        pytest.param(User("u0", "renamed"), True, id="by-its-id"),
        pytest.param(User("u5", "Ådmin "), True, id="by-a-name-that-keystone-takes-for-the-same"),
        pytest.param(User("u5", "glance"), False, id="somebody-else"),
    ],
)
def test_the_administrator_is_known(user: User, guarded: bool) -> None:
    credentials = Credentials("admin", "admin-secret", "admin")
    access = Access("cloud", "keystone", "http://k", "regionOne", credentials, "Secret s")
    assert is_administrator(user, User("u0", "admin"), access) is guarded


def test_a_service_without_a_registration_stands_for_its_user_too() -> None:
    glance = made("Glance", "glance", {"provisioning": "Job"})
    claimed = claims(glance, Around(listing(glance, made("KeystoneAPI", "keystone")), "cloud"))
    for one in (SERVICE, USER, msgspec.structs.replace(USER, name=("GLANCÉ ",))):
        assert claim_on(one, "keystone") in claimed
        assert claim_on(one, "another") not in claimed
    assert claim_on(PUBLIC, "keystone") is None


def test_what_an_older_operator_registered_is_what_the_status_says() -> None:
    assert registered(service(of="glance", user="glance", serviceID="s1", userID="u1")) == (SERVICE, USER)
    assert registered(service(serviceID="s1")) == (Made(what="service", name=("image", "other"), id="s1"),)
    assert registered(endpoint("public", "s1")) == (Made(what="endpoint", name=("s1", "", "internal"), id="e9"),)
