"""Durations as people say them. Pure."""

from datetime import datetime


def spell(seconds: float) -> str:
    """Return a time as people say it, in at most two units: 8 s, 4 min 12 s, 3 h 5 min, 2 d 4 h."""
    whole = max(0, int(seconds))
    for size, unit, smaller_size, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller_size
            return f"{whole // size} {unit} {rest} {smaller}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"


def spell_since(moment: str, now: datetime) -> str:
    """Return how long ago a moment of Kubernetes was; "" where it is not known."""
    if not moment:
        return ""
    return spell((now - datetime.fromisoformat(moment)).total_seconds())
