"""Kubernetes' quantities as numbers: "500m" is a half, "1Ki" is 1024; pure."""

from decimal import Decimal
from functools import lru_cache

_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


@lru_cache(maxsize=1024)
def number_of(quantity: str | int) -> Decimal:
    """Return a quantity's number; the API server has made sure that it is one."""
    text = str(quantity)
    if text[-2:] in _BINARY:
        return Decimal(text[:-2]) * Decimal(1024) ** _BINARY[text[-2:]]
    if text[-1:] in _DECIMAL:
        return Decimal(text[:-1]).scaleb(_DECIMAL[text[-1:]])
    return Decimal(text)
