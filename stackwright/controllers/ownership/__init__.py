"""What each resource creates, and which of two resources owns a thing that both would create.

The rule of this folder: it is pure, and what it remembers (`memory`) changes no answer. Admission applies it to new
resources and to changes. Every controller applies it again at each pass before it touches anything
([decision 9](../../../docs/decisions/0009-what-is-somebodys.md)).
"""

from stackwright.blueprint.claims import ANOTHER_NAME, Claim
from stackwright.controllers.ownership.claims import NAMES, Around, claiming, claims
from stackwright.controllers.ownership.ports import asked_by
from stackwright.controllers.ownership.rule import (
    Taken,
    blocked,
    caches,
    check,
    check_ports,
    refusal,
    taken,
)
from stackwright.controllers.ownership.standing import TAKEN, is_refused, serving
from stackwright.controllers.ownership.users import MadeByUser, keeper_of, refuse_users

__all__ = [
    "ANOTHER_NAME",
    "NAMES",
    "TAKEN",
    "Around",
    "Claim",
    "MadeByUser",
    "Taken",
    "asked_by",
    "blocked",
    "caches",
    "check",
    "check_ports",
    "claiming",
    "claims",
    "is_refused",
    "keeper_of",
    "refusal",
    "refuse_users",
    "serving",
    "taken",
]
