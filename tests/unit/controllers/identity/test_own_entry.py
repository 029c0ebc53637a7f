"""What is decided for Keystone's own entry in its catalog."""

from dataclasses import replace

import pytest

from stackwright.adapters.identity import Endpoint, Service
from stackwright.controllers.identity.marks import NOTHING, owner
from stackwright.controllers.identity.own_entry import Repair, decide, own_entry
from stackwright.kube.resource import Key

OWN = Service("k1", "identity", "keystone")
GLANCE = Service("a0", "image", "glance")
WHO = owner("KeystoneAPI", Key("cloud", "keystone"), "ours", NOTHING, external=False)
PUBLIC = Endpoint("e1", "k1", "regionOne", "public", "http://public", made_for=WHO.mark)
INTERNAL = replace(PUBLIC, id="e2", interface="internal", url="http://internal")
URLS = {"public": "http://public", "internal": "http://internal"}


def decided(services: tuple[Service, ...], endpoints: tuple[Endpoint, ...]) -> list[tuple[Service | Endpoint, bool]]:
    return [(repair.thing, repair.gone) for repair in decide(services, endpoints, URLS, "regionOne", WHO)]


@pytest.mark.parametrize(
    ("services", "endpoints", "repairs"),
    [
        pytest.param((GLANCE, OWN), (PUBLIC, INTERNAL), [], id="all-is-well"),
        pytest.param((GLANCE,), (), [replace(OWN, id="")], id="the-entry-is-gone"),
        pytest.param((replace(OWN, enabled=False),), (PUBLIC, INTERNAL), [OWN], id="the-entry-is-disabled"),
        pytest.param((replace(OWN, name="evil"),), (PUBLIC, INTERNAL), [OWN], id="the-entry-has-another-name"),
        pytest.param((OWN,), (INTERNAL,), [replace(PUBLIC, id="")], id="an-endpoint-is-gone"),
        pytest.param((OWN,), (replace(PUBLIC, url="http://evil"), INTERNAL), [PUBLIC], id="another-url"),
        pytest.param((OWN,), (PUBLIC, replace(INTERNAL, enabled=False)), [INTERNAL], id="a-disabled-endpoint"),
        pytest.param(
            (OWN, GLANCE),
            (PUBLIC, INTERNAL, replace(PUBLIC, id="e9", service_id="a0", url="http://glance")),
            [],
            id="the-endpoints-of-others-are-left-alone",
        ),
        pytest.param(
            (OWN,),
            (
                PUBLIC,
                INTERNAL,
                replace(PUBLIC, id="e9", region="two", made_for=""),
                replace(PUBLIC, id="e8", interface="admin"),
            ),
            [],
            id="so-are-other-regions-and-interfaces",
        ),
    ],
)
def test_keystones_own_entry_becomes_what_bootstrap_made(
    services: tuple[Service, ...], endpoints: tuple[Endpoint, ...], repairs: list[Service | Endpoint]
) -> None:
    assert decided(services, endpoints) == [(thing, False) for thing in repairs]


@pytest.mark.parametrize(("mark", "goes"), [(WHO.mark, True), ("", False), ("KeystoneEndpoint cloud/keystone", False)])
def test_our_endpoints_of_a_former_region_go_when_there_are_new_ones(mark: str, goes: bool) -> None:
    former = replace(PUBLIC, id="e9", region="former", made_for=mark)
    assert decided((OWN,), (former, PUBLIC, INTERNAL)) == ([(former, True)] if goes else [])
    assert decided((OWN,), (former, PUBLIC)) == [(replace(INTERNAL, id=""), False)]


def test_endpoints_that_bootstrap_made_get_a_mark_without_a_word() -> None:
    unmarked = replace(PUBLIC, made_for="")
    assert decide((OWN,), (unmarked, INTERNAL), URLS, "regionOne", WHO) == (Repair(PUBLIC, ""),)


def test_a_second_endpoint_goes_and_the_right_one_stays() -> None:
    evil = replace(PUBLIC, id="e0", url="http://evil")
    assert decided((OWN,), (evil, PUBLIC, INTERNAL)) == [(evil, True)]


def test_a_description_that_a_person_wrote_stays() -> None:
    described = replace(OWN, description="Ours", enabled=False)
    assert decide((described,), (), URLS, "regionOne", WHO) == (
        Repair(replace(described, enabled=True), "Keystone's own entry was another in the catalog and is changed back"),
    )


def test_of_several_entries_of_its_type_keystones_own_is_known_by_its_name() -> None:
    assert own_entry((Service("a1", "identity", "evil"), GLANCE, OWN)) == OWN
    assert own_entry((GLANCE,)) is None
