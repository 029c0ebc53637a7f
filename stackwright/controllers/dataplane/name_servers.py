"""The servers that machines ask for names: found by what they offer, whatever their kind is."""

from typing import Any

from stackwright import services
from stackwright.blueprint.dataplane.names import choose_servers
from stackwright.blueprint.look import Look, Survey
from stackwright.blueprint.providers import NAME_SERVER, Offerer
from stackwright.controllers.looks import Interests
from stackwright.kube.controller import Watch
from stackwright.kube.informer import Change


def _known() -> Offerer:
    return services.providers()[NAME_SERVER]


def find_name_servers(look: Look) -> tuple[str, ...]:
    """Return the addresses of the namespace's name servers; none as long as machines cannot reach them."""
    known = _known()
    there = look.of_kind(known.kind) if isinstance(look, Survey) else ()
    alive = sorted((each for each in there if not each.deleting), key=lambda each: each.metadata.name)
    return choose_servers(known.offer(each) for each in alive)


def watch_name_servers(interests: Interests) -> Watch[Any]:
    """Return the watch that wakes whoever looked, if a server can be reached elsewhere; there may be many of them."""
    known = _known()

    def has_moved(change: Change[Any]) -> bool:
        before, after = (
            known.offer(each) if each is not None and not each.deleting else None for each in (change.old, change.new)
        )
        return bool(before != after)

    return interests.watch(known.kind, has_moved)
