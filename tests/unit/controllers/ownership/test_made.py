"""Things that no object stands for belong to the resource that reports to have made them."""

from typing import Any

import pytest

from stackwright.api.mariadb import DATABASE_LABEL, SERVER_LABEL
from stackwright.controllers.ownership import check, taken
from stackwright.kube.shapes.belonging import MADE_FOR
from tests.surroundings import listing
from tests.unit.controllers.ownership.making import at_work, changed, made, said, seen

KEYSTONE = made("KeystoneAPI", "keystone")
USER = {"serviceType": "other", "serviceName": "other", "serviceUser": "glance", "secret": "mine"}


def test_an_elder_that_pointed_nowhere_does_not_take_what_runs() -> None:
    """Its label names a schema that somebody makes later: it claims the user from then on."""
    elder = seen(
        made(
            "MariaDBAccount",
            "aaa",
            {"userName": "glance"},
            labels={DATABASE_LABEL: "later"},
            creationTimestamp="2026-11-14T00:00:00Z",
        )
    )
    glance = seen(made("Glance", "glance"))
    account = at_work(
        made("MariaDBAccount", "glance", {"userName": "glance"}, annotations={MADE_FOR: "Glance/glance"}),
        server="openstack",
    )
    schemas = [made("MariaDBDatabase", name, {"name": name}) for name in ("glance", "later")]
    galera = made("Galera", "openstack")
    known = listing(elder, glance, account, galera, *schemas)
    assert taken(account, known) == ()
    assert [each for each in said(taken(glance, known)) if "user glance" in each] == []
    sentences = said(taken(elder, known))
    assert len(sentences) > 0
    assert all("user glance of Galera openstack belongs to" in each for each in sentences)
    # What it reports of another server, or of a former spec, counts for nothing.
    for stale in (at_work(elder, server="elsewhere"), changed(at_work(elder, server="openstack"))):
        assert taken(account, listing(stale, glance, account, galera, *schemas)) == ()


def test_a_user_of_keystone_is_of_the_one_that_made_it() -> None:
    elder = seen(made("KeystoneService", "aaa", USER, creationTimestamp="2026-11-14T00:00:00Z"))
    later = at_work(
        made("KeystoneService", "zzz", {**USER, "serviceType": "x", "secret": "theirs"}),
        userID="1",
        serviceID="2",
        keystoneInstance="keystone",
    )
    known = listing(elder, later, KEYSTONE)
    assert taken(later, known) == ()
    assert [each.owner for each in taken(elder, known)] == ["KeystoneService zzz"]


@pytest.mark.parametrize("completed", [True, False])
@pytest.mark.parametrize("kept", ["Galera-other", ""])
def test_a_schema_of_another_server_is_no_title_to_one_here(*, completed: bool, kept: str) -> None:
    """A new label does not raise the generation, so that the status is about the server of before."""
    server, other, glance = made("Galera", "openstack"), made("Galera", "other"), seen(made("Glance", "glance"))
    mark = {MADE_FOR: "Glance/glance"}
    own = at_work(
        made("MariaDBDatabase", "glance", annotations=mark), completed=completed, hash={"galera": "Galera-openstack"}
    )
    later = {"creationTimestamp": "2026-11-16T00:00:00Z"}
    before, after = (
        at_work(
            made("MariaDBDatabase", "x", {"name": "glance"}, labels={SERVER_LABEL: name}, **later),
            completed=True,
            hash={"galera": kept} if kept else {},
        )
        for name in ("other", "openstack")
    )
    (error,) = check(before, after, listing(server, other, glance, own, before)).errors
    assert "schema glance of Galera openstack belongs to Glance glance" in error.message
    known = listing(server, other, glance, own, after)
    assert taken(glance, known) == ()
    assert taken(own, known) == ()
    assert [each.owner for each in taken(after, known)] == ["Glance glance"]


def test_a_schema_on_the_server_that_is_named_is_of_the_one_that_made_it() -> None:
    """Its Galera is known by its uid: what was made on one of the same name that is gone counts for nothing."""
    elder = seen(made("MariaDBDatabase", "aaa", {"name": "x"}, creationTimestamp="2026-11-14T00:00:00Z"))
    younger = made("MariaDBDatabase", "zzz", {"name": "x"})
    galera = made("Galera", "openstack")
    for uid, owners in (("Galera-openstack", []), ("gone", ["MariaDBDatabase aaa"])):
        mine = at_work(younger, completed=True, hash={"galera": uid})
        assert [each.owner for each in taken(mine, listing(elder, mine, galera))] == owners


def test_a_changed_claim_is_not_made_by_the_status_of_before() -> None:
    """Both labels name accounts of one server, and a change of labels leaves status and generation as they are."""
    galera = made("Galera", "openstack")
    schema = made("MariaDBDatabase", "glance")
    elder = seen(made("MariaDBAccount", "aaa", {"userName": "glance"}, labels={DATABASE_LABEL: "glance"}))
    status: dict[str, Any] = {"server": "openstack"}
    before = at_work(made("MariaDBAccount", "zzz", {"userName": "glance"}, labels={DATABASE_LABEL: "later"}))
    after = at_work(made("MariaDBAccount", "zzz", {"userName": "glance"}, labels={DATABASE_LABEL: "glance"}), **status)
    assert check(before, after, listing(galera, schema, elder, before)).errors


def test_an_endpoint_is_of_the_one_that_has_registered_that_interface() -> None:
    """The entry alone, which all of them share, is no endpoint."""
    urls = {"serviceName": "other", "endpoints": {"public": "http://a", "internal": "http://b"}}
    elder = seen(made("KeystoneEndpoint", "aaa", urls, creationTimestamp="2026-11-14T00:00:00Z"))
    status = {"serviceID": "1", "keystoneInstance": "keystone"}
    for interfaces, owned in (((), ["internal", "public"]), (("public", "internal"), []), (("public",), [])):
        ids = {interface: interface for interface in interfaces}
        later = at_work(made("KeystoneEndpoint", "zzz", urls), endpointIDs=ids, **status)
        found = [each.claim.sort.split()[0] for each in taken(later, listing(elder, later, KEYSTONE))]
        assert sorted(found) == owned
