"""What a need of a service comes to: a value that the modules of this folder pass on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.base import JsonObject
from stackwright.controllers.service.environment import Source
from stackwright.kube.conditions import Finding
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.children import Child


@dataclass(frozen=True)
class NewSecret:
    """A Secret to make once; `content` takes new passwords and keys from a source.

    `loss` is what to tell where it was there before.
    """

    name: str
    content: Callable[[Source], Mapping[str, str]]
    loss: str = ""


@dataclass(frozen=True)
class Resolved:
    """What a need comes to now. `ready` says that the fact is known, be it None."""

    ready: bool
    fact: Any = None
    children: tuple[Child, ...] = ()
    waits: tuple[Wait, ...] = ()
    findings: tuple[Finding, ...] = ()
    secrets: tuple[NewSecret, ...] = ()
    # What the chart has to do about it, where its Jobs do it.
    values: JsonObject = field(default_factory=dict)
