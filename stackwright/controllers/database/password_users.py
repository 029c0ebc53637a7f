"""Which services may still log in with the former password of an account, and who says that they do not.

A service logs in with the password with which its pods started, and the leaves of a Nova with the one that was handed
down to them. When none of them has another one than the Secret, the service writes the version of the Secret on the
account (`controllers/service/credentials.py`). Nobody does so for an account that no service names. One that was made
for a service which names another one by now keeps its former password until it is deleted: the service does that when
no pod logs in with it any more.
"""

from collections.abc import Iterator
from typing import Any

from stackwright import services
from stackwright.api.annotations import CONFIGURED_WITH
from stackwright.api.base import CustomResource
from stackwright.api.mariadb import MariaDBAccount
from stackwright.blueprint.service import Service
from stackwright.controllers import release
from stackwright.kube.builtin import Secret
from stackwright.kube.controller import Context
from stackwright.kube.shapes.belonging import made_for


def find_behind(account: MariaDBAccount, secret: Secret | None, context: Context) -> tuple[str, ...]:
    """Return the resources that may not work with the password in the Secret yet, as Kind/name."""
    if secret is not None and is_confirmed(account, secret):
        return ()
    there = (
        (service, resource)
        for service in services.blueprints()
        if any(need.credential is MariaDBAccount for need in service.need_types)
        for resource in context.store(service.kind).list(account.metadata.namespace)
    )
    return tuple(_list_users(account, there))


def is_confirmed(account: MariaDBAccount, secret: Secret) -> bool:
    """Return whether all that logs in with an account works with this version of its Secret."""
    return account.metadata.annotations.get(CONFIGURED_WITH) == secret.metadata.resourceVersion


def _list_users(account: MariaDBAccount, there: Iterator[tuple[Service[Any, Any], CustomResource]]) -> Iterator[str]:
    """Yield which of the resources log in with an account; one whose release is in helm's hands confirms nothing."""
    for service, resource in there:
        if service.elsewhere(resource) or release.is_given(resource):
            continue
        needs = (need for need in service.needs_of(resource) if need.credential is MariaDBAccount)
        names = {need.credential_of(resource) for need in needs}
        # One that leaves its accounts to a Job says no name, and would never delete what was made for it before.
        is_left = "" not in names and made_for(account, resource)
        if account.metadata.name in names or is_left:
            yield f"{resource.kind.name}/{resource.metadata.name}"
