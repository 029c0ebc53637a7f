"""What is Placement's own, beside what its row says; the catalog is a fake Keystone's."""

import pytest

from stackwright.adapters.identity import Credentials
from tests.functional.services.case import ServiceCase
from tests.functional.services.cases.placement import CASES
from tests.functional.services.place import Place


@pytest.fixture
def case() -> ServiceCase:
    return CASES[0]


async def test_who_keeps_it_in_keystone_does_not_change_under_way(standing: Place) -> None:
    await standing.ask()
    await standing.up()
    await standing.ask(provisioning="Job")
    await standing.told("spec.provisioning: KeystoneService placement keeps", "InputReady")
    assert standing.keystone is not None
    password = standing.case.passwords["PlacementPassword"]
    assert await standing.keystone.login(Credentials("placement", password, "service")) is not None
    await standing.ask()
    await standing.up()
