"""What was kept for an entry that a resource has no more goes; what others keep stays."""

import msgspec
import pytest

from stackwright.api.annotations import GENERATED_FOR
from stackwright.api.base import Resource
from stackwright.api.mariadb import DATABASE_LABEL, MariaDBAccount, MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.blueprint.needs import TYPES, Leftovers
from stackwright.controllers.needs import sight
from stackwright.kube.shapes.belonging import MADE_FOR, maker_of
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.nova import NOVA
from tests.unit.blueprint.resolving import look_at, secret
from tests.unit.services.novas import nova

CELLS: dict[str, dict[str, str]] = {"cell0": {}, "cell1": {}}
RESOURCE: Nova = nova(cellTemplates=CELLS)


def bus(name: str, made_for: str = "") -> Resource:
    metadata = {"name": name, "namespace": "openstack", "annotations": {MADE_FOR: made_for or maker_of(RESOURCE)}}
    return msgspec.convert({"metadata": metadata, "spec": {"rabbitmqClusterName": "rabbitmq"}}, TransportURL)


def account(name: str, *held: str) -> Resource:
    metadata = {
        "name": name,
        "namespace": "openstack",
        "annotations": {MADE_FOR: maker_of(RESOURCE)},
        "labels": {DATABASE_LABEL: name},
        "finalizers": list(held),
    }
    return msgspec.convert({"metadata": metadata, "spec": {"userName": name, "secret": f"{name}-db"}}, MariaDBAccount)


def schema(name: str) -> Resource:
    metadata = {"name": name, "namespace": "openstack", "annotations": {MADE_FOR: maker_of(RESOURCE)}}
    return msgspec.convert({"metadata": metadata, "spec": {"name": name}}, MariaDBDatabase)


@pytest.mark.parametrize(
    ("known", "gone"),
    [
        pytest.param(bus("nova-cell2-transport"), True, id="the-login-of-a-removed-cell"),
        pytest.param(bus("nova-cell1-transport"), False, id="that-of-a-cell"),
        pytest.param(bus("nova-api-transport"), False, id="that-of-the-api"),
        pytest.param(bus("nova-notification-transport"), False, id="that-of-notifications-goes-its-own-way"),
        pytest.param(bus("nova-cell2-transport", "Nova/other"), False, id="that-of-another-resource"),
        pytest.param(account("nova-cell2"), True, id="the-account-of-a-removed-cell"),
        pytest.param(account("nova-cell1"), False, id="that-of-a-present-cell"),
        pytest.param(schema("nova-cell2"), False, id="a-schema-stays"),
    ],
)
def test_logins_of_what_is_no_more_go(known: Resource, gone: bool) -> None:
    (need,) = (need for need in NOVA.needs_of(RESOURCE) if isinstance(need, Leftovers))
    found = [entry.resource for entry in need.retired(RESOURCE, None, sight(look_at()), [known])]
    assert found == ([known] if gone else [])


def test_a_need_that_logs_in_leaves_something() -> None:
    """What a need makes to log in with has to be known here, or that of a removed entry stays for ever."""
    assert {of.credential for of in TYPES if of.credential is not None} == set(Leftovers.keeps)


def test_an_account_goes_with_its_user_and_its_secret() -> None:
    (need,) = (need for need in NOVA.needs_of(RESOURCE) if isinstance(need, Leftovers))
    kept = secret("nova-cell2-db-secret", {"DatabasePassword": "hush"})
    metadata = msgspec.structs.replace(kept.metadata, annotations={GENERATED_FOR: maker_of(RESOURCE)})
    around = sight(look_at(msgspec.structs.replace(kept, metadata=metadata)))
    (first,) = need.retired(RESOURCE, None, around, [account("nova-cell2")])
    assert first.prepare == {"spec": {"deletionPolicy": "Delete"}}
    (then,) = need.retired(RESOURCE, None, around, [account("nova-cell2", "held")])
    assert then.prepare is None
    assert then.secret is not None
