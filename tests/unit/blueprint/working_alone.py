"""A resource of a service that works alone, and what its needs find."""

from dataclasses import dataclass
from typing import Any

from tests.unit.blueprint.resolving import resolved


@dataclass(frozen=True)
class Spec:
    secret: str = "login"
    other: str = ""
    keystoneAuthURL: str = "http://keystone:5000"
    serviceUser: str = "nova"
    region: str = ""
    hostname: str = "db.example.org"
    account: str = "nova"
    memcachedInstance: str = ""


@dataclass(frozen=True)
class Leaf:
    spec: Spec = Spec()


def given(need: Any, *there: Any, **spec: Any) -> Any:
    return resolved(need, *there, leaf=Leaf(Spec(**spec)))
