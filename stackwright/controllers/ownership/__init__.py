"""Which things each resource makes, and which resource owns a thing that two of them would make.

The rule of this folder: it is pure. Admission asks it about a newcomer, and every controller asks it again at each pass
before it touches anything ([decision 9](../../../docs/decisions/0009-what-is-somebodys.md)).
"""

from stackwright.blueprint.claims import ANOTHER_NAME, Claim
from stackwright.controllers.ownership.claims import NAMES, Around, claiming, claims
from stackwright.controllers.ownership.rule import (
    Taken,
    blocked,
    caches,
    check,
    refusal,
    taken,
)
from stackwright.controllers.ownership.standing import TAKEN, is_refused, serving
from stackwright.controllers.ownership.users import MadeByUser, refuse_users

__all__ = [
    "ANOTHER_NAME",
    "NAMES",
    "TAKEN",
    "Around",
    "Claim",
    "MadeByUser",
    "Taken",
    "blocked",
    "caches",
    "check",
    "claiming",
    "claims",
    "is_refused",
    "refusal",
    "refuse_users",
    "serving",
    "taken",
]
