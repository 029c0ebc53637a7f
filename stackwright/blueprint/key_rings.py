"""How a ring of keys is made and turned. Pure, but for the randomness that it is given.

The staged key 0 becomes the primary one, a new staged key comes, and of the oldest go as many as are over the size.
Every holder of the ring before a turn can read what is written with it after the turn, because the new primary key
was the staged one. So a ring may turn only when everybody holds the present one.
"""

import base64
from collections.abc import Callable, Mapping
from datetime import datetime

KEY_BYTES = 32
STAGED = 0
DAY = 86400.0

Keys = Mapping[str, str]
Chance = Callable[[int], bytes]


def made(chance: Chance) -> dict[str, str]:
    """Return a new ring: a staged and a primary key."""
    return {"0": _key(chance), "1": _key(chance)}


def turned(keys: Keys, size: int, chance: Chance) -> dict[str, str]:
    """Return a ring with its staged key as the primary one, a new staged key, and at most `size` keys."""
    numbers = sorted(int(name) for name in keys if int(name) != STAGED)
    ring = {number: keys[str(number)] for number in numbers}
    ring[(numbers[-1] if numbers else 0) + 1] = keys[str(STAGED)]
    oldest_first = sorted(ring)
    for number in oldest_first[: max(0, len(ring) + 1 - size)]:
        del ring[number]
    return {"0": _key(chance), **{str(number): ring[number] for number in sorted(ring)}}


def due_in(turned_at: str, days: int, now: datetime) -> float:
    """Return in how many seconds a ring is to be turned; never less than 0."""
    # In seconds: a sum of dates has an end, and a user's number of days may lie beyond it.
    since = (now - datetime.fromisoformat(turned_at)).total_seconds()
    return max(0.0, days * DAY - since)


def is_time(text: str) -> bool:
    """Return whether a text is a time that others can be compared with."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def was_turned(keys: Keys) -> bool:
    """Return whether a ring has been turned since it was made."""
    return max((int(name) for name in keys if name.isdigit()), default=0) > 1


def is_ring(keys: Keys) -> bool:
    """Return whether these are keys under numbers, with a staged one and a primary one."""
    return str(STAGED) in keys and len(keys) > 1 and all(name.isdigit() for name in keys)


def _key(chance: Chance) -> str:
    return base64.urlsafe_b64encode(chance(KEY_BYTES)).decode()
