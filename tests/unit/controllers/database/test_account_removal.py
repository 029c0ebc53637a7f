"""What becomes of a user at the server when its MariaDBAccount is deleted."""

from typing import Any

import msgspec
import pytest

from stackwright.adapters.mariadb_grants import needed_in
from stackwright.adapters.mariadb_marks import Mark
from stackwright.api.mariadb import MariaDBAccount, MariaDBAccountStatus
from stackwright.controllers.database.account import DropUser, Seen, remove
from stackwright.controllers.database.marks import FREE, Holding
from stackwright.controllers.database.server import Server
from stackwright.kube.errors import Blocked

GRANTS = (needed_in("keystone"),)
MADE = Holding(Mark("openstack/keystone", made=True))


def account(user: str = "keystone", **spec: Any) -> MariaDBAccount:
    said = {"userName": user, "secret": "keystone-db-secret", "deletionPolicy": "Delete", **spec}
    metadata = {"name": "keystone", "namespace": "openstack", "deletionTimestamp": "2026-11-15T00:00:00Z"}
    return msgspec.convert({"metadata": metadata, "spec": said}, MariaDBAccount)


def dropped(
    resource: MariaDBAccount,
    *,
    administrator: str = "root",
    foreign: Blocked | None = None,
    holding: Holding = MADE,
) -> list[str]:
    seen = Seen(server(administrator), foreign=foreign, schema="keystone", grants=GRANTS, holding=holding)
    plan = remove(resource, seen)
    assert not plan.waits
    return [step.user for step in plan.steps if isinstance(step, DropUser)]


def server(administrator: str) -> Server:
    return Server("openstack", "openstack.openstack.svc", 3306, administrator, "root-password")


def test_the_user_goes_with_the_resource_that_says_so() -> None:
    assert dropped(account()) == ["keystone"]


@pytest.mark.parametrize("user", ["root", "mysql", "mariadb.sys", "PUBLIC"])
def test_the_servers_own_users_stay(user: str) -> None:
    assert dropped(account(user)) == []


def test_the_user_that_we_work_as_stays() -> None:
    assert dropped(account("operator"), administrator="operator") == []


def test_the_user_of_an_older_resource_stays() -> None:
    assert dropped(account(), foreign=Blocked("it belongs to MariaDBAccount other")) == []


def test_a_user_stays_by_default() -> None:
    assert dropped(account(deletionPolicy="Retain")) == []


@pytest.mark.parametrize(
    "holding",
    [
        pytest.param(Holding(Mark("openstack/other", made=True)), id="another-resource-made-it"),
        pytest.param(Holding(Mark("elsewhere/keystone", made=True)), id="one-of-another-namespace-made-it"),
        pytest.param(Holding(Mark("openstack/keystone", made=False)), id="it-was-found"),
        pytest.param(FREE, id="nobody-knows-who-made-it"),
    ],
)
def test_a_user_that_the_resource_has_not_made_stays(holding: Holding) -> None:
    assert dropped(account(), holding=holding) == []


def test_a_user_that_a_version_without_marks_made_goes() -> None:
    made = msgspec.structs.replace(account(), status=MariaDBAccountStatus(server="openstack"))
    for holding in (FREE, Holding(mark=None)):
        assert dropped(made, holding=holding) == ["keystone"]
