"""The order in which the children of a service are created. Pure.

A cell of Nova comes when Nova's user is there:

yield child(user, condition=...)
yield Later(child(cell), after=("KeystoneService/nova",))
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stackwright.blueprint.look import Look
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.child import Child
from stackwright.kube.shapes.states import state_of


@dataclass(frozen=True)
class Later:
    """A child that is created only after others: jobs of the service by name, and children as Kind/name.

    What the needs of the service make counts among the children, such as its KeystoneService. A job counts once it is
    done, a child once it is ready. The order is for creation alone: a child that exists follows
    its parent whatever becomes of the others, so that a broken cell stops nothing else. Where changes have to wait too,
    yield a `Wait` in place of the child.
    """

    child: Child
    after: tuple[str, ...]


def name_child(child: Child) -> str:
    """Return what `after` calls a child: TeapotCell/teapot-cell1."""
    return f"{child.of.kind.name}/{child.key.name}"


def find_ready(wanted: Iterable[Child | Later | Wait], look: Look) -> frozenset[str]:
    """Return the children that are ready, as `after` calls them."""
    there = ((name_child(child), look(child.of, child.key.name)) for child in _children(wanted))
    return frozenset(name for name, found in there if found is not None and state_of(found).status == "True")


def put_in_order(
    wanted: Iterable[Child | Later | Wait], others: Iterable[str], done: frozenset[str], look: Look
) -> tuple[tuple[Child, ...], tuple[Wait, ...]]:
    """Return the children that may be applied now, and what those wait for that may not.

    `others` are the names of all jobs of the resource, and of the children of its needs; `done` is everything that is
    done or ready.
    """
    entries = tuple(wanted)
    known = {*others, *map(name_child, _children(entries))}
    children: list[Child] = []
    waits: list[Wait] = []
    for entry in entries:
        match entry:
            case Wait():
                waits.append(entry)
            case Later(child, after):
                if unknown := sorted(set(after) - (known - {name_child(child)})):
                    raise ValueError(f"{child} is created after {', '.join(unknown)}, which the service does not have")
                missing = [name for name in after if name not in done]
                if missing and look(child.of, child.key.name) is None:
                    message = f"{child} is created after {' and '.join(missing)}"
                    waits.append(Wait("Waiting", message, child.condition))
                else:
                    children.append(child)
            case child:
                children.append(child)
    return tuple(children), tuple(waits)


def _children(wanted: Iterable[Child | Later | Wait]) -> Iterator[Child]:
    return (item.child if isinstance(item, Later) else item for item in wanted if not isinstance(item, Wait))
