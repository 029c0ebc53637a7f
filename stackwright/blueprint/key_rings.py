"""How a ring of keys is made and turned. Pure: the caller passes the randomness.

The staged key 0 becomes the primary one, a new staged key comes, and of the oldest go as many as are over the size,
unless something that was written with them is still to be read: until then the ring is longer. Every holder of the ring
before a turn can read what is written with it after the turn, because the new primary key was the staged one. So a ring
may turn only when everybody holds the present one.
"""

import base64
import json
from collections.abc import Callable, Container, Mapping
from datetime import datetime

from stackwright.blueprint.whole_numbers import read_number

KEY_BYTES = 32
STAGED = 0
DAY = 86400.0

Keys = Mapping[str, str]
Chance = Callable[[int], bytes]


def made(chance: Chance) -> dict[str, str]:
    """Return a new ring: a staged and a primary key."""
    return {"0": new_key(chance), "1": new_key(chance)}


def turned(keys: Keys, size: int, chance: Chance, *, needed: Container[str] = ()) -> dict[str, str]:
    """Return a ring with its staged key as the primary one and a new staged key.

    It has at most `size` keys, and more only where they are `needed`.
    """
    ring = {name: keys[name] for name in _oldest_first(keys)}
    ring[next_primary(keys)] = keys[str(STAGED)]
    grown = {"0": new_key(chance), **ring}
    gone = {name for name in surplus(grown, size) if name not in needed}
    return {name: key for name, key in grown.items() if name not in gone}


def primary(keys: Keys) -> str:
    """Return the name of the key that is written with."""
    return max(keys, key=int)


def next_primary(keys: Keys) -> str:
    """Return the name of the key that is written with after the next turn."""
    return str(int(primary(keys)) + 1)


def surplus(keys: Keys, size: int) -> tuple[str, ...]:
    """Return the oldest keys of a ring, as many as are over the size."""
    return tuple(_oldest_first(keys)[: max(0, len(keys) - size)])


def primary_until(keys: Keys, noted: str, turned_at: str) -> dict[str, str]:
    """Return until when each key was the primary one; the present primary key and the staged one are left out.

    Of a key of which nothing was `noted` that is known: no longer than until the ring was turned last.
    """
    try:
        said = json.loads(noted or "{}")
    except ValueError:
        said = {}
    times = {name: str(at) for name, at in said.items() if is_time(str(at))} if isinstance(said, dict) else {}
    return {name: times.get(name, turned_at) for name in _oldest_first(keys)[:-1]}


def read_lives(noted: str) -> dict[str, int]:
    """Return for how many seconds keys are needed, as it is noted; nothing of what cannot be read."""
    try:
        said = json.loads(noted or "{}")
    except ValueError:
        said = {}
    read = {name: read_number(str(seconds)) for name, seconds in said.items()} if isinstance(said, dict) else {}
    return {name: seconds for name, seconds in read.items() if seconds is not None}


def _oldest_first(keys: Keys) -> list[str]:
    return sorted((name for name in keys if int(name) != STAGED), key=int)


def due_in(turned_at: str, days: int, now: datetime) -> float:
    """Return in how many seconds a ring has to be turned; never less than 0."""
    # In seconds: a sum of dates has an end, and a user's number of days may lie beyond it.
    return max(0.0, days * DAY - seconds_since(turned_at, now))


def seconds_since(time: str, now: datetime) -> float:
    """Return how many seconds have passed since a time."""
    return (now - datetime.fromisoformat(time)).total_seconds()


def is_time(text: str) -> bool:
    """Return whether a text is a time that others can be compared with."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def was_turned(keys: Keys) -> bool:
    """Return whether a ring has been turned since it was made."""
    return max((read_number(name) or 0 for name in keys), default=0) > 1


def is_ring(keys: Keys) -> bool:
    """Return whether these are keys under numbers, with a staged one and a primary one."""
    return str(STAGED) in keys and len(keys) > 1 and all(read_number(name) is not None for name in keys)


def new_key(chance: Chance) -> str:
    """Return a new key in Fernet's form."""
    return base64.urlsafe_b64encode(chance(KEY_BYTES)).decode()
