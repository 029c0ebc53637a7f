"""The variables of a machine: what its resources say, and what stands in the ConfigMaps and Secrets that they name.

A variable from a Secret stays apart, so that it is written into Secrets only. Pure.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.node_sections import VariablesSource
from stackwright.blueprint.dataplane.inheritance import Machine
from stackwright.blueprint.look import Look
from stackwright.blueprint.secret_values import texts_of
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.plan import Ends, Wait

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Variables:
    """The variables of a machine, by name; the secret ones are shown nowhere."""

    plain: Mapping[str, Any] = field(default_factory=dict)
    secret: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def all(self) -> dict[str, Any]:
        """All of them, as Ansible gets them."""
        return {**self.plain, **self.secret}


def gather(machine: Machine, look: Look, condition: str) -> Variables | Wait:
    """Return the variables of a machine, or a wait for the first source that is missing or broken.

    Later sources win over earlier ones, and what stands in the resources themselves over all sources.
    """
    plain: dict[str, Any] = {}
    secret: dict[str, Any] = {}
    for source in machine.sources:
        found = _read(source, look, condition)
        if isinstance(found, Wait):
            return found
        mine, other = (secret, plain) if source.secretRef is not None else (plain, secret)
        for name, value in found.items():
            other.pop(name, None)
            mine[name] = value
    stated = dict(machine.variables)
    return Variables({**plain, **stated}, {name: value for name, value in secret.items() if name not in stated})


def _read(source: VariablesSource, look: Look, condition: str) -> dict[str, Any] | Wait:
    reference = source.secretRef or source.configMapRef
    assert reference is not None  # noqa: S101  the schema requires one of them
    kind: type[Secret | ConfigMap] = Secret if source.secretRef is not None else ConfigMap
    there: Secret | ConfigMap | None = look(kind, reference.name)
    if there is None:
        if reference.optional:
            return {}
        message = f"{kind.kind.name} {reference.name} does not exist; create it, or correct ansibleVarsFrom"
        return Wait(f"{kind.kind.name}Missing", message, condition, ends=Ends.BY_AUTHOR)
    texts = texts_of(there) if isinstance(there, Secret) else there.data
    for key in texts:
        if not _IDENTIFIER.fullmatch(f"{source.prefix}{key}"):
            message = f"{kind.kind.name} {reference.name}: the key {key} cannot be the name of a variable; rename it"
            return Wait("VariableInvalid", message, condition, ends=Ends.BY_USER)
    found = {f"{source.prefix}{key}": parse(text) for key, text in texts.items()}
    for name, value in found.items():
        if not _can_be_written(value):
            message = f"{kind.kind.name} {reference.name}: the value of {name} has half of a character; correct it"
            return Wait("VariableInvalid", message, condition, ends=Ends.BY_USER)
    return found


def _can_be_written(value: Any) -> bool:
    """Return whether a value is text: JSON may have escapes that are no character."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def parse(text: str) -> Any:
    """Return a value that is JSON as a whole, else the text itself: 10.0.0.1 is an address, and no number.

    What would be another text as a number is none: a version 1.10, say, or a password 1e5.
    """
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_read_number)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, int | float) and not isinstance(value, bool) and json.dumps(value) != text.strip():
        return text
    return value


def _read_number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(text: str) -> float:
    """Refuse a number that JSON does not have; Ansible would get null."""
    raise ValueError(text)
