"""A kind for tests of when a status is written."""

from typing import ClassVar

from stackwright.kube.conditions import MARK
from stackwright.kube.resource import CustomResource, Kind, Status

MADE = {f"test{MARK}": "digest"}


class PotStatus(Status, frozen=True, kw_only=True):
    """A pot has one field that others wait for, and one that is only shown."""

    unhurried: ClassVar[frozenset[str]] = frozenset({"bubbles"})

    address: str = ""
    bubbles: int = 0


class Pot(CustomResource, frozen=True, kw_only=True):
    """A kind that is nobody's."""

    kind: ClassVar[Kind] = Kind("example.org", "v1", "Pot", "pots")
    conditions: ClassVar[tuple[str, ...]] = ("Hot",)

    status: PotStatus = PotStatus()
