"""Quantities as Kubernetes writes them (100m, 1.5, 256Mi, 10G), as exact numbers. Pure."""

import re
from decimal import Decimal
from functools import lru_cache

_FORM = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,3})|([KMGTPE]i|[numkMGTPE]))?")
_UNITS = {
    **{
        letter: Decimal(10) ** power
        for letter, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)
    },
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}


def amount(said: object) -> Decimal | None:
    """Return a quantity as a number, or None if it is not a quantity."""
    if isinstance(said, bool) or not isinstance(said, int | str):
        return None
    found = _FORM.fullmatch(str(said))
    if found is None:
        return None
    number, exponent, unit = found.groups()
    return Decimal(number) * Decimal(10) ** int(exponent or 0) * (_UNITS[unit] if unit else 1)


@lru_cache(maxsize=1024)
def number_of(quantity: str | int) -> Decimal:
    """Return the number of a quantity of which the API server has made sure that it is one."""
    found = amount(quantity)
    assert found is not None, quantity  # noqa: S101  the API server refuses others
    return found
