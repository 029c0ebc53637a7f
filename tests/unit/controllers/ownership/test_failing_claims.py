"""A resource whose claims cannot be worked out stops nobody but itself."""

from typing import Any

import pytest

from stackwright import services
from stackwright.blueprint.service import Service
from stackwright.controllers.ownership import check, taken
from tests.surroundings import listing
from tests.unit.controllers.ownership.making import KINDS, made

OTHERS = [
    made(kind, "x") for kind in ("PlacementAPI", "KeystoneAPI", "MariaDBAccount", "KeystoneService", "TransportURL")
]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the claims of every NeutronAPI fail, as a bug of ours would."""
    neutron = services.blueprint_of(KINDS["NeutronAPI"])
    needs = Service.needs_of

    def needs_of(service: Service[Any, Any], resource: Any) -> Any:
        if service is neutron:
            raise ValueError("no number")
        return needs(service, resource)

    monkeypatch.setattr(Service, "needs_of", needs_of)


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
