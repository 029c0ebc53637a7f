"""What is remembered of a role's nodes, and when it is worked out anew."""

from typing import Any

import msgspec
import pytest

from stackwright.api.annotations import DEPLOYED_BY
from stackwright.api.base import ObjectMeta
from stackwright.api.dataplane import (
    OpenStackDataPlaneNode,
    OpenStackDataPlaneNodeSpec,
    OpenStackDataPlaneRole,
    OpenStackDataPlaneRoleSpec,
)
from stackwright.api.node_sections import NodeSection
from stackwright.blueprint.dataplane.inputs import Work, reach_work
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.dataplane.memory import Memory
from stackwright.controllers.dataplane.preparation import Prepared
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Wait

WORKS = (reach_work("image:1"), Work("prepare", "image:1", playbook="p"))
ROLE = OpenStackDataPlaneRole(
    metadata=ObjectMeta(name="compute", namespace="cloud", uid="r", generation=1),
    spec=OpenStackDataPlaneRoleSpec(nodeTemplate=NodeSection(ansibleSSHPrivateKeySecret="ssh-key")),
)


def node(generation: int = 1, address: str = "192.0.2.1") -> OpenStackDataPlaneNode:
    metadata = ObjectMeta(name="one", namespace="cloud", uid="n", generation=generation)
    return OpenStackDataPlaneNode(
        metadata=metadata, spec=OpenStackDataPlaneNodeSpec(role="compute", ansibleHost=address)
    )


def noted(annotation: str, value: str) -> OpenStackDataPlaneNode:
    """Return the node with an annotation, which is in no generation."""
    one = node()
    return msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, annotations={annotation: value}))


def secret(version: str = "1", key: str = "k") -> Secret:
    metadata = ObjectMeta(name="ssh-key", namespace="cloud", uid="s", resourceVersion=version)
    return Secret(metadata=metadata, data=encode({"ssh-privatekey": key}))


class Looking:
    """Looks at one Secret, and counts."""

    def __init__(self, found: Secret | None) -> None:
        self.found = found
        self.looks = 0
        self.listed: list[Any] = []

    def __call__(self, kind: type[Any], name: str, *, namespace: str = "") -> Any:  # noqa: ARG002  there is one Secret
        self.looks += 1
        return self.found

    def of_kind(self, kind: type[Any]) -> list[Any]:  # noqa: ARG002  likewise
        self.looks += 1
        return self.listed


def prepared(memory: Memory, one: OpenStackDataPlaneNode, look: Looking, **given: Any) -> Prepared | Wait:
    return memory.prepare(given.get("role", ROLE), [one], given.get("works", WORKS), look)["one"]


def test_what_is_the_same_is_not_worked_out_again_but_looked_at() -> None:
    memory, look = Memory(), Looking(secret())
    first = prepared(memory, node(), look)
    looks = look.looks
    # A status that changes makes another object with the same spec.
    again = prepared(memory, msgspec.structs.replace(node()), look)
    assert again is first
    assert look.looks == looks * 2


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"one": node(2, "192.0.2.2")}, id="its-spec"),
        pytest.param({"one": noted(f"{DEPLOYED_BY}NovaExternalCompute", "p")}, id="what-an-operator-deploys-on-it"),
        pytest.param({"look": Looking(secret("2", "other"))}, id="the-secret"),
        pytest.param({"look": Looking(None)}, id="the-secret-is-gone"),
        pytest.param({"works": (reach_work("image:2"), *WORKS[1:])}, id="what-a-service-runs"),
        pytest.param(
            {"role": msgspec.structs.replace(ROLE, metadata=msgspec.structs.replace(ROLE.metadata, generation=2))},
            id="its-role",
        ),
    ],
)
def test_whatever_changes_is_seen(change: dict[str, Any]) -> None:
    memory = Memory()
    first = prepared(memory, node(), Looking(secret()))
    given = {"one": node(), "look": Looking(secret()), **change}
    again = prepared(memory, **given)
    assert again is not first
    # As if nothing had been remembered.
    assert again == prepared(Memory(), **given)


def test_a_node_that_is_gone_is_forgotten() -> None:
    memory, look = Memory(), Looking(secret())
    first = prepared(memory, node(), look)
    assert memory.prepare(ROLE, [], WORKS, look) == {}
    assert prepared(memory, node(), look) is not first


def test_a_role_that_is_gone_is_forgotten() -> None:
    memory, look = Memory(), Looking(secret())
    prepared(memory, node(), look)
    memory.forget(ROLE.key)
    assert not memory._roles
