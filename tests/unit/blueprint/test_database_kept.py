"""What is kept for a service: it rests with it if that is paused, and does not move to another server."""

from typing import Any

import msgspec
import pytest

from stackwright.api.mariadb import DATABASE_LABEL, SERVER_LABEL, MariaDBAccount, MariaDBDatabase
from stackwright.blueprint.needs import Database
from stackwright.controllers.needs import sight
from stackwright.kube.plan import Ends
from stackwright.kube.resource import R, Resource
from stackwright.kube.shapes.belonging import MADE_FOR
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.placement.kinds import PlacementAPI


def placement(name: str) -> PlacementAPI:
    spec = {"secret": "s", "databaseInstance": "db", "databaseAccount": "placement"}
    return msgspec.convert({"metadata": {"name": name, "namespace": "here"}, "spec": spec}, PlacementAPI)


def account(schema: str, maker: str = "") -> MariaDBAccount:
    metadata: dict[str, Any] = {"name": "placement", "namespace": "here", "labels": {DATABASE_LABEL: schema}}
    metadata["annotations"] = {MADE_FOR: maker} if maker else {}
    return msgspec.convert({"metadata": metadata, "spec": {"userName": "u", "secret": "s"}}, MariaDBAccount)


def kept(resource: PlacementAPI, *there: Resource) -> list[str]:
    def look(kind: type[R], name: str, **_: str) -> R | None:
        return next((item for item in there if isinstance(item, kind) and item.metadata.name == name), None)

    return [item.kind.name for item in Database().kept(resource, sight(look))]


@pytest.mark.parametrize(
    ("there", "rests"),
    [
        pytest.param(account("placement", "PlacementAPI/placement"), True, id="made-for-it"),
        pytest.param(account("placement"), True, id="a-users-or-of-a-version-before"),
        pytest.param(account("placement", "PlacementAPI/other"), False, id="made-for-another"),
        pytest.param(account("other"), False, id="of-the-schema-of-another"),
    ],
)
def test_the_account_rests_only_with_the_service_that_it_is_kept_for(there: MariaDBAccount, rests: bool) -> None:
    assert kept(placement("placement"), there) == (["MariaDBAccount"] if rests else [])


def test_a_schema_of_another_maker_goes_on() -> None:
    metadata = {"name": "placement", "namespace": "here", "annotations": {MADE_FOR: "Glance/placement"}}
    schema = msgspec.convert({"metadata": metadata, "spec": {"name": "placement"}}, MariaDBDatabase)
    assert kept(placement("placement"), schema) == []


@pytest.mark.parametrize(
    ("label", "stays"),
    [
        pytest.param("db", False, id="where-it-is-asked-for"),
        pytest.param("old", True, id="on-another-server"),
        pytest.param("nowhere", False, id="a-label-that-names-no-server"),
    ],
)
def test_a_schema_does_not_move_to_another_server_by_name(label: str, stays: bool) -> None:
    """A resource that is made again, or a cell that comes back, may name another one: there it would be empty."""
    metadata = {"name": "placement", "namespace": "here", "labels": {SERVER_LABEL: label}}
    schema = msgspec.convert({"metadata": metadata, "spec": {"name": "placement"}}, MariaDBDatabase)
    servers = [
        msgspec.convert(
            {
                "metadata": {"name": name, "namespace": "here"},
                "spec": {"storageClass": "c", "storageRequest": "1G"},
                "status": {"hostname": name, "bootstrapped": True},
            },
            Galera,
        )
        for name in ("db", "old")
    ]

    def look(kind: type[R], name: str, **_: str) -> R | None:
        return next(
            (item for item in (schema, *servers) if isinstance(item, kind) and item.metadata.name == name), None
        )

    found = Database().resolve(placement("placement"), sight(look))
    assert [wait.reason for wait in found.waits] == (["DatabaseElsewhere"] if stays else [])
    # As it is not asked for, nobody changes its label.
    assert (found.children == ()) == stays
    if stays:
        (wait,) = found.waits
        assert wait.ends is Ends.BY_USER
        assert "name old, or delete the MariaDBDatabase" in wait.message
