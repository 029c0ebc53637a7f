"""Which schemas and users resources ask for, by name: none of the server's own. Pure.

Admission asks it early, and every controller asks again: a webhook may have been down.
"""

from collections.abc import Callable, Iterator

from stackwright import services
from stackwright.adapters.mariadb_names import schema_problem, user_problem
from stackwright.api.forms import Form
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.blueprint import names, structs
from stackwright.blueprint.spec_memory import SpecMemory
from stackwright.kube.resource import CustomResource

# An account of this type is the server's own.
SYSTEM = "System is not supported yet; root's password is in the Secret of the Galera"

Account = Callable[[str], MariaDBAccount | None]

_named = SpecMemory[tuple[str, str]]()


def problems(resource: CustomResource, account: Account) -> Iterator[tuple[str, str]]:
    """Yield the path of every name that cannot be used, with a sentence; `account` finds the account of a name."""
    match resource:
        case MariaDBDatabase():
            yield from _tell("spec.name", schema_problem(resource.schema))
        case MariaDBAccount(spec=user):
            yield from _tell("spec.userName", user_problem(user.userName))
            yield from _tell("spec.accountType", SYSTEM if user.accountType == "System" else "")
        case _:
            yield from _of_service(resource, account)


def _of_service(resource: CustomResource, account: Account) -> Iterator[tuple[str, str]]:
    blueprint = services.blueprint_of(type(resource)) if resource.metadata.name else None
    needs = blueprint.needs_of(resource) if blueprint is not None else ()
    schemas = dict.fromkeys(schema for need in needs for schema in need.schemas(resource))
    for problem in filter(None, map(schema_problem, schemas)):
        yield "metadata.name", f"the service's schema has the name of the resource, and {problem}"
    for path, named in _named.recall(resource, None, lambda: _accounts(resource)):
        # An account that is there has the name of its user written down.
        there = account(named)
        yield from _tell(path, user_problem(there.spec.userName if there else names.database_user(named)))


def _accounts(resource: CustomResource) -> Iterator[tuple[str, str]]:
    """Yield where a service, or its template in another resource, names an account: such fields are marked."""
    for field in structs.fields("spec", getattr(resource, "spec", None)):
        if Form.ACCOUNT in field.markers and field.value:
            yield field.path, field.value


def _tell(path: str, problem: str) -> Iterator[tuple[str, str]]:
    if problem:
        yield path, problem
