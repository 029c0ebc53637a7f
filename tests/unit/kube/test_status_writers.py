"""Who wrote a status, by what the server notes."""

import msgspec
import pytest

from stackwright.kube import status_writers
from stackwright.kube.informer import Change
from stackwright.kube.resource import FieldManager, ObjectMeta
from tests.unit.kube.pots import Pot, PotStatus

OURS = FieldManager(manager="stackwright", operation="Apply", subresource="status", time="1")
AGAIN = msgspec.structs.replace(OURS, time="2")
# What we ask of the resource is no word about its status.
SPEC = FieldManager(manager="kubectl-edit", operation="Update", time="2")
HAND = FieldManager(manager="kubectl-edit", operation="Update", subresource="status", time="2")
UNDER_OUR_NAME = msgspec.structs.replace(HAND, manager="stackwright")


def pot(address: str, *managers: FieldManager) -> Pot:
    return Pot(metadata=ObjectMeta(name="a", managedFields=managers), status=PotStatus(address=address))


@pytest.mark.parametrize(
    ("change", "is_by_another", "is_by_hand"),
    [
        pytest.param(Change(pot("a", OURS), pot("b", OURS, HAND)), True, True, id="somebody-changed-it"),
        pytest.param(Change(pot("a", OURS), pot("b", OURS, UNDER_OUR_NAME)), True, True, id="under-our-name"),
        pytest.param(Change(pot("a", OURS), pot("", OURS)), False, True, id="somebody-took-something-away"),
        pytest.param(Change(pot("a", OURS), pot("b", AGAIN)), False, False, id="we-changed-it"),
        pytest.param(Change(pot("a", OURS), pot("a", OURS, HAND)), False, True, id="they-agree"),
        pytest.param(Change(pot("b", OURS, HAND), pot("a", AGAIN)), False, False, id="we-put-it-right"),
        pytest.param(Change(pot("a", OURS), pot("b", AGAIN, HAND)), True, False, id="both-changed-it"),
        pytest.param(Change(pot("a", OURS), pot("b", AGAIN, SPEC)), False, False, id="they-asked-for-something"),
        pytest.param(Change(pot("a"), pot("b", HAND)), False, False, id="nobody-of-us-keeps-it"),
        pytest.param(Change(None, pot("b", OURS, HAND)), False, False, id="it-was-not-known"),
    ],
)
def test_whose_word_a_change_is(change: Change[Pot], *, is_by_another: bool, is_by_hand: bool) -> None:
    assert status_writers.is_by_another(change, "stackwright") is is_by_another
    assert status_writers.is_by_hand(change, "stackwright") is is_by_hand
