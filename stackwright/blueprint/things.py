"""Things of a service that no resource of Kubernetes stands for, such as Neutron's ports, and how they are explained.

A folder says in `explanations.py` which things it can explain, as `THINGS`; `stackwright explain port/ID` asks it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stackwright.api.base import JsonObject


@dataclass(frozen=True)
class Verdict:
    """How a thing is: a sentence, and what to do about it if something is wrong."""

    message: str
    to_do: str = ""
    well: bool = False


@dataclass(frozen=True)
class Thing:
    """A sort of things: what they are called, and the `type` of the API that has them.

    `reads` are the paths that are read, by name and in this order; `{id}` is what the user named, and what was read
    before has its name: `/v2.0/networks/{port[network_id]}`. Each answer is the object below the name, as APIs of
    OpenStack write it. `explain` is a pure function of all answers.
    """

    noun: str
    type: str
    reads: Mapping[str, str]
    explain: Callable[[Mapping[str, JsonObject]], Verdict]
