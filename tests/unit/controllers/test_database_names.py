"""Names of schemas and users are refused at admission, in every kind that asks for one."""

from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.blueprint.needs import Database
from stackwright.controllers import admission
from stackwright.kube.resource import CustomResource
from tests.surroundings import listing

# Of a service with several accounts, its own tests try each.
SERVED = [blueprint.kind for blueprint in services.blueprints() if any(n == Database() for n in blueprint.needs)]


def made(kind: type[CustomResource], name: str, spec: dict[str, Any]) -> CustomResource:
    return msgspec.convert({"metadata": {"name": name, "namespace": "cloud"}, "spec": spec}, kind)


def served(kind: type[CustomResource], name: str, **spec: Any) -> CustomResource:
    """A service's resource, with what its schema asks for."""
    filled = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    return made(kind, name, {key: value for key, value in filled.items() if key in _spec(kind).__struct_fields__})


def _spec(kind: type[CustomResource]) -> type[msgspec.Struct]:
    found: type[msgspec.Struct] = next(each.type for each in msgspec.structs.fields(kind) if each.name == "spec")
    return found


def refused(resource: CustomResource, *others: CustomResource, old: CustomResource | None = None) -> dict[str, str]:
    (webhook,) = admission.webhooks((type(resource),), listing(*others))
    assert webhook.validate is not None
    return {error.field: error.message for error in webhook.validate(old, resource).errors}


@pytest.mark.parametrize("name", ["mysql", "MYSQL", "sys", "Information_Schema", "performance_schema"])
def test_a_schema_of_the_server_itself_is_refused(name: str) -> None:
    said = refused(made(MariaDBDatabase, "one", {"name": name}))
    assert said == {"spec.name": f"{name} is a schema of the server itself; choose another name"}


@pytest.mark.parametrize(("name", "schema"), [("nova-cell1", "nova_cell1"), ("a.b", "a_b"), ("x" * 70, "x" * 64)])
def test_a_schema_that_is_not_named_is_called_like_its_resource(name: str, schema: str) -> None:
    assert msgspec.convert({"metadata": {"name": name}}, MariaDBDatabase).schema == schema
    assert msgspec.convert({"metadata": {"name": name}, "spec": {"name": "own"}}, MariaDBDatabase).schema == "own"
    assert refused(made(MariaDBDatabase, "mysql", {})).keys() == {"spec.name"}


def test_an_account_of_the_server_is_refused_when_it_is_written() -> None:
    said = refused(made(MariaDBAccount, "one", {"userName": "a", "secret": "s", "accountType": "System"}))
    assert said["spec.accountType"].startswith("System is not supported yet")


@pytest.mark.parametrize("name", ["root", "root ", "ROOT", "'root'", "mysql", "mariadb.sys", "public"])
def test_a_user_of_the_server_itself_is_refused(name: str) -> None:
    said = refused(made(MariaDBAccount, "one", {"userName": name, "secret": "s"}))
    assert said == {"spec.userName": f"{name} is the server's own; choose another name"}


@pytest.mark.parametrize("kind", SERVED, ids=lambda kind: kind.kind.name)
def test_a_service_cannot_be_called_like_a_schema_of_the_server(kind: type[CustomResource]) -> None:
    # Schemas are named after the resource, with underscores for dashes.
    for name in ("mysql", "information-schema", "performance-schema", "sys"):
        said = refused(served(kind, name))
        assert "is a schema of the server itself" in said["metadata.name"]
    assert refused(served(kind, "mysql2")) == {}


@pytest.mark.parametrize("kind", SERVED, ids=lambda kind: kind.kind.name)
def test_a_service_cannot_use_a_user_of_the_server(kind: type[CustomResource]) -> None:
    service = served(kind, "one", databaseAccount="root")
    assert refused(service) == {"spec.databaseAccount": "root is the server's own; choose another name"}
    # An account of that name may have another user; then its name is only a name.
    account = made(MariaDBAccount, "root", {"userName": "one", "secret": "s"})
    assert refused(service, account) == {}


def test_every_kind_that_names_an_account_is_tried_here() -> None:
    assert len(SERVED) >= 4
    assert all("databaseAccount" in _spec(kind).__struct_fields__ for kind in SERVED)


def test_the_umbrella_is_looked_at_as_deep_as_it_goes() -> None:
    spec = {"secret": "osp-secret", "storageClass": "local", "keystone": {"template": {"databaseAccount": "root"}}}
    said = refused(made(services.control_plane(), "one", spec))
    assert said == {"spec.keystone.template.databaseAccount": "root is the server's own; choose another name"}


def test_one_from_before_the_check_can_still_be_changed_and_deleted() -> None:
    before = made(MariaDBDatabase, "one", {"name": "mysql", "deletionPolicy": "Delete"})
    after = made(MariaDBDatabase, "one", {"name": "mysql", "deletionPolicy": "Retain"})
    assert refused(after, old=before) == {}
