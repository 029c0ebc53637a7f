"""A resource whose claims cannot be worked out stops nobody but itself."""

from typing import Any

import pytest

from stackwright import services
from stackwright.blueprint import object_names
from stackwright.blueprint.service import Service
from stackwright.controllers.ownership import Around, check, taken
from stackwright.controllers.ownership.claims import claims_of_another
from tests.surroundings import listing
from tests.unit.controllers.ownership.making import KINDS, changed, made, seen

OTHERS = [
    made(kind, "x") for kind in ("PlacementAPI", "KeystoneAPI", "MariaDBAccount", "KeystoneService", "TransportURL")
]


def let_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the claims of every NeutronAPI fail, as a bug of ours would."""
    neutron = services.blueprint_of(KINDS["NeutronAPI"])
    needs = Service.needs_of

    def needs_of(service: Service[Any, Any], resource: Any) -> Any:
        if service is neutron:
            raise ValueError("no number")
        return needs(service, resource)

    monkeypatch.setattr(Service, "needs_of", needs_of)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    let_fail(monkeypatch)


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("resource", OTHERS, ids=lambda resource: resource.kind.name)
def test_others_are_asked_as_if_it_had_only_its_release(resource: Any) -> None:
    broken = made("NeutronAPI", "neutron", uid=f"broken-{resource.kind.name}")
    assert taken(resource, listing(resource, broken)) == taken(resource, listing(resource))
    assert check(None, resource, listing(broken)) == check(None, resource, listing())


@pytest.mark.usefixtures("failing")
def test_its_release_stays_its_own() -> None:
    broken = made("NeutronAPI", "x", uid="broken-release")
    (found,) = taken(made("PlacementAPI", "x", creationTimestamp="2026-11-16T00:00:00Z"), listing(broken))
    assert "Helm release x belongs to NeutronAPI x" in str(found)


@pytest.mark.usefixtures("failing")
def test_its_own_passes_report_the_bug() -> None:
    broken = made("NeutronAPI", "neutron", uid="broken-own")
    with pytest.raises(ValueError, match="no number"):
        taken(broken, listing(broken))


def rival() -> Any:
    """Return a resource that asks for the account of another one."""
    return made(
        "PlacementAPI",
        "x",
        {"databaseAccount": "neutron", "serviceUser": "neutron"},
        creationTimestamp="2026-11-16T00:00:00Z",
    )


def test_what_it_claimed_before_stays_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = seen(made("NeutronAPI", "neutron", uid="broken-later"))
    mine = rival()
    refused = check(None, mine, listing(before))
    assert refused.errors
    let_fail(monkeypatch)
    # The same resource as its next event brings it: what is remembered of it is not asked again.
    broken = changed(before)
    assert check(None, mine, listing(broken)) == refused
    assert taken(mine, listing(mine, broken))


@pytest.mark.usefixtures("failing")
def test_what_comes_before_the_error_is_its_own() -> None:
    broken = made("NeutronAPI", "neutron", uid="broken-in-part")
    service = services.blueprint_of(KINDS["NeutronAPI"])
    assert service is not None
    around = Around(listing(broken), "cloud")
    names = {claim.name for claim in claims_of_another(broken, around)}
    assert names >= {*object_names.of_release(service, broken), *object_names.of_secrets(service, broken)}


@pytest.mark.usefixtures("failing")
def test_a_new_resource_waits_while_nobody_knows_what_is_taken() -> None:
    broken, mine = seen(made("NeutronAPI", "neutron", uid="broken-unknown")), rival()
    found = check(None, mine, listing(broken)).errors
    assert {error.field for error in found} >= {"spec.databaseAccount", "spec.serviceUser"}
    assert all("may belong to NeutronAPI neutron" in error.message for error in found)
    # Those that are there go on, and what operators make for them.
    assert check(mine, changed(mine), listing(mine, broken)) == check(mine, changed(mine), listing(mine))
    assert taken(mine, listing(mine, broken)) == taken(mine, listing(mine))
    account = made("MariaDBAccount", "x")
    assert check(None, account, listing(broken)) == check(None, account, listing())
