"""The keys by which SSH knows machines again, as lines of known_hosts. Pure.

A machine's key is recorded at the first contact, and checked from then on. What the user gives in the Secret with the
SSH key goes before what was recorded, so that a machine can be reinstalled.

The keys are also how a machine is known again that is reached at another address: services that operators have on it
must not go on with another machine.
"""

import re
from collections.abc import Iterable

from stackwright.blueprint.addresses.subnets import complete
from stackwright.blueprint.dataplane.inheritance import DEFAULT_PORT, Machine

# The key of a Secret with an SSH key that has the keys of machines.
KNOWN_HOSTS = "known_hosts"
# The name of a machine, the kind of its key, and the key. Only users write hashed names and marked lines.
_LINE = re.compile(r"([^\s|@#][^\s]*) ((?:ssh|ecdsa|sk)-\S{1,64} [A-Za-z0-9+/]{20,8000}={0,3})")


def name_machine(machine: Machine) -> str:
    """Return what SSH calls a machine."""
    return name_place(machine.address, machine.port)


def name_place(address: str, port: int) -> str:
    """Return what SSH calls a machine at an address and a port; it writes names in lower case, addresses complete."""
    name = complete(address)
    return name if port == DEFAULT_PORT else f"[{name}]:{port}"


def is_line(text: str) -> bool:
    """Return whether a text is a line of known_hosts, as SSH writes it when it meets a machine."""
    return _LINE.fullmatch(text) is not None


def record(
    before: Iterable[str], met: Iterable[str], machine: Machine, *, given: Iterable[str] = (), is_kept: bool = False
) -> tuple[str, ...]:
    """Return the keys that are recorded of a machine.

    These are the `given` ones, else the former ones, else those that it was met with. `is_kept` says that it has to be
    the former machine, even if it is reached elsewhere.
    """
    name, before = name_machine(machine), tuple(before)
    if own := rename(given, name):
        return own
    kept = rename(before, name) if is_kept else tuple(line for line in before if line.split()[0] == name)
    return kept or tuple(sorted({line for line in met if is_line(line) and line.split()[0] == name}))


def rename(lines: Iterable[str], name: str) -> tuple[str, ...]:
    """Return the keys of some lines as those of a machine of this name."""
    return tuple(sorted(f"{name} {key}" for key in keys_of(lines)))


def keys_of(lines: Iterable[str]) -> frozenset[str]:
    """Return the keys of some lines, each with its kind, without the names of machines."""
    return frozenset(found[2] for line in lines if (found := _LINE.match(line)) is not None)


def has_moved(recorded: Iterable[str], given: Iterable[str], name: str) -> bool:
    """Return whether a machine of this name is another one than before, by the keys that the user gives."""
    recorded, theirs = tuple(recorded), keys_of(given)
    was_elsewhere = bool(recorded) and all(line.split()[0] != name for line in recorded)
    return was_elsewhere and bool(theirs) and not keys_of(recorded) & theirs


def lines_for(machine: Machine, known_hosts: str) -> list[str]:
    """Return the lines of a user's known_hosts that name a machine."""
    name = name_machine(machine)
    return [line for line in known_hosts.splitlines() if name in _names_in(line)]


def write_recorded(recorded: Iterable[str], known_hosts: str) -> str:
    """Return a known_hosts of what was recorded, without the machines that the user's own has."""
    given = {name for line in known_hosts.splitlines() for name in _names_in(line)}
    return "".join(f"{line}\n" for line in sorted(set(recorded)) if line.split()[0] not in given)


def _names_in(line: str) -> list[str]:
    """Return the machines that a line of known_hosts names, whatever the case of their letters."""
    return line.split(" ", 1)[0].lower().split(",")
