"""Which quantities of resources cannot be, and why. Pure."""

import re
from collections.abc import Iterator, Mapping

from stackwright.kube.quantities import amount

# Kubernetes counts in 64 bits; what is more, it cuts off, or compares wrongly.
MOST = 2**63 - 1
TOO_MUCH = "is more than Kubernetes can count; write a smaller amount"
# What every node has; all other names have a domain, or are a size of huge pages.
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_QUALIFIED = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def size_problem(said: object) -> str:
    """Return why a quantity cannot be the size of a volume; an empty text if it can."""
    number = amount(said)
    if number is None:
        return "is not a quantity; write a number with a unit, such as 10G or 500Mi"
    if number > MOST:
        return TOO_MUCH
    return "" if number > 0 else "must be more than 0; a volume cannot have size 0"


def requirement_problems(requests: Mapping[str, object], limits: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what no pod can request, by its path below `resources`."""
    for place, said in (("limits", limits), ("requests", requests)):
        for name, quantity in said.items():
            if sentence := _name_problem(name) or _amount_problem(name, quantity):
                yield f"{place}[{name}]", sentence
    for name, quantity in requests.items():
        asked, most = amount(quantity), amount(limits.get(name))
        if asked is not None and most is not None and asked > most:
            yield f"requests[{name}]", f"requests {quantity}, more than its limit of {limits[name]}; raise the limit"
        elif name not in _STANDARD and _name_problem(name) == "" and asked != most:
            yield f"requests[{name}]", "is not shared between containers; write the same amount in limits"


def _name_problem(name: str) -> str:
    if name in _STANDARD or name.startswith(_HUGE_PAGES) or _QUALIFIED.fullmatch(name):
        return ""
    return f"is not a resource of a node; there are {', '.join(_STANDARD)}, and names with a domain (example.org/card)"


def _amount_problem(name: str, quantity: object) -> str:
    number = amount(quantity)
    if number is None:
        return "is not a quantity; write a number with a unit, such as 500m or 2Gi"
    # Processors are counted in thousandths.
    if number * (1000 if name == "cpu" else 1) > MOST:
        return TOO_MUCH
    return "" if number >= 0 else "must be 0 or more"
