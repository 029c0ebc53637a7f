"""Needs on paper: a resource that has one, and what it finds in the caches."""

import base64
from dataclasses import dataclass, field
from typing import Any

from stackwright.api.base import ObjectMeta
from stackwright.blueprint import needs
from stackwright.blueprint.needs.need import Resolved
from stackwright.controllers.needs import sight
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import Resource

METADATA = ObjectMeta(name="nova", namespace="cloud")


@dataclass(frozen=True)
class Spec:
    """What a leaf kind says: where the Secret with its connections is, and the cells of its parent."""

    secret: str = "connections"
    provisioning: str = "Operator"
    cells: dict[str, dict[str, str]] = field(default_factory=dict)
    passwordSelectors: dict[str, str] = field(
        default_factory=lambda: {"metadata": "MetadataSecret", "cellsPrefix": "MetadataCellsSecret"}
    )


@dataclass(frozen=True)
class Leaf:
    spec: Spec = Spec()
    metadata: ObjectMeta = METADATA


def look_at(*there: Resource) -> Any:
    def look(kind: type[Any], name: str, **_: str) -> Any:
        return next((item for item in there if isinstance(item, kind) and item.metadata.name == name), None)

    return look


def secret(name: str, content: dict[str, str]) -> Secret:
    data = {key: base64.b64encode(text.encode()).decode() for key, text in content.items()}
    return Secret(metadata=ObjectMeta(name=name, namespace="cloud"), data=data)


def resolved(need: needs.Need, *there: Resource, leaf: Any = None) -> Resolved:
    return need.resolve(leaf or Leaf(), sight(look_at(*there)))
