"""What tests of RabbitMQ's programs have in common: what nodes print of their cluster, and what is left on a volume."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

FILES = Path(__file__).parents[4] / "charts" / "rabbitmq" / "files"


def members(*numbers: int) -> str:
    """What Erlang prints of nodes."""
    return "[" + ",\n ".join(f"'rabbit@rabbitmq-server-{n}.rabbitmq-nodes.openstack.svc'" for n in numbers) + "]"


def cluster_of(*numbers: int, running: tuple[int, ...] | None = None) -> str:
    """What a node prints of the members of its cluster, and of those who run."""
    return f"{{{members(*numbers)},{members(*(numbers if running is None else running))}}}\n"


class Nodes:
    """What other nodes say of their cluster, and what this one was made to do."""

    def __init__(self, programs: dict[str, ModuleType], views: dict[int, str]) -> None:
        self.node, self.views, self.made = programs["cluster"].node, views, list[str]()

    def __call__(self, number: int, *words: str, **_: float) -> str:
        self.made.append(f"{number}: {' '.join(words)}")
        if words[0] == "forget_cluster_node" and number in self.views:
            members, running = re.findall(r"\[[^\]]*\]", self.views[number])
            self.views[number] = f"{{{members.replace(words[1], 'nobody')},{running.replace(words[1], 'nobody')}}}"
        return self.views.get(number, "") if words[0] == "eval" else ""


def write_tables(own: Any, *numbers: int) -> None:
    """Let a node have what the member of a cluster of these nodes has, of three if none are named."""
    known = members(*(numbers or (0, 1, 2)))
    own.place.mkdir()
    (own.place / "cluster_nodes.config").write_text(f"{{{known},{known}}}.\n")
    (own.place / "schema.DAT").write_text("tables")
    own.flags.write_text("[].\n")


Play = Callable[..., Nodes]
