"""The need of a database of the virtual networks: found by its role, whatever it is called."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from stackwright.blueprint.needs import NetworkDatabase
from stackwright.blueprint.needs.need import Resolved
from stackwright.blueprint.needs.network_database import NETWORK_DATABASE, NetworkDatabaseServer
from stackwright.blueprint.places import connection_places
from stackwright.blueprint.providers import Offerer, Sight
from stackwright.kube.plan import Ends

NEED = NetworkDatabase(name="north", role="NB", usual="networks-nb")
KIND = SimpleNamespace(kind=SimpleNamespace(name="Networks"))


def database(name: str, role: str, inside: str = "tcp:10.96.1.2:6641", *, deleting: bool = False) -> Any:
    return SimpleNamespace(
        kind=KIND.kind,
        metadata=SimpleNamespace(name=name),
        status=SimpleNamespace(conditions=()),
        deleting=deleting,
        offer=NetworkDatabaseServer(role, inside),
    )


class Listing:
    """A look that can list."""

    def __init__(self, there: tuple[Any, ...]) -> None:
        self.there = there

    def __call__(self, kind: type[Any], name: str, *, namespace: str = "") -> Any:  # noqa: ARG002  the form of `Look`
        return next((item for item in self.there if item.metadata.name == name), None)

    def of_kind(self, kind: type[Any]) -> list[Any]:  # noqa: ARG002  the form of `Survey`
        return list(self.there)


def resolve(*there: Any, need: NetworkDatabase = NEED) -> Resolved:
    known = Offerer(cast("Any", KIND), "networks", lambda item: item.offer)
    return need.resolve(None, Sight(Listing(there), {NETWORK_DATABASE: known}))


@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        pytest.param((database("networks-nb", "NB"),), "networks-nb", id="the-usual-one"),
        pytest.param((database("mine", "NB"), database("other", "SB")), "mine", id="one-of-another-name"),
        pytest.param((database("a", "NB"), database("networks-nb", "NB")), "networks-nb", id="the-usual-of-two"),
        pytest.param((database("b", "NB"), database("a", "NB")), "a", id="always-the-same-of-two"),
        pytest.param((database("a", "NB", deleting=True), database("b", "NB")), "b", id="none-that-is-deleted"),
        pytest.param(
            (database("networks-nb", "SB"), database("x", "NB")), "x", id="not-the-usual-name-of-another-role"
        ),
    ],
)
def test_the_database_of_the_role_is_found_by_what_it_is(there: tuple[Any, ...], chosen: str) -> None:
    found = resolve(*there)
    assert found.ready
    assert found.fact.server == chosen
    assert NEED.server(None, found.fact) == chosen


def test_one_that_is_missing_is_named_for_the_author_to_create() -> None:
    found = resolve(database("networks-sb", "SB"))
    assert not found.ready
    (wait,) = found.waits
    assert (wait.reason, wait.ends) == ("NetworksMissing", Ends.BY_AUTHOR)
    assert wait.message == "No Networks of type NB exists in this namespace; create Networks networks-nb"


def test_one_without_addresses_is_waited_for() -> None:
    found = resolve(database("networks-nb", "NB", inside=""))
    assert not found.ready
    assert [wait.reason for wait in found.waits] == ["NetworksNotReady"]


def test_the_places_are_numbers() -> None:
    places = tuple(connection_places("tcp:10.96.1.2:6641,ssl:[fd00::2]:6641"))
    assert places == (("10.96.1.2", 6641), ("fd00::2", 6641))
    assert tuple(connection_places("")) == ()
    assert NEED.places(resolve(database("networks-nb", "NB")).fact) == (("10.96.1.2", 6641),)
