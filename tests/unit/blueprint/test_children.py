"""Children are created in order; one that is there follows its parent whatever becomes of the others."""

from typing import Any

import msgspec
import pytest

from stackwright.blueprint.children import Later, find_ready, put_in_order
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Condition, Resource
from stackwright.kube.shapes.child import Child, child
from stackwright.services.memcached.kinds import Memcached

CELL0, API, CELL1 = (f"Memcached/{name}" for name in ("cell0", "api", "cell1"))


def cache(name: str, *, ready: bool = False) -> Memcached:
    made = msgspec.convert({"metadata": {"name": name}, "spec": {}}, Memcached)
    conditions = (Condition(type="Ready", status="True"),) if ready else ()
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, conditions=conditions))


def asked() -> tuple[Child | Later | Wait, ...]:
    return (
        child(cache("cell0")),
        Later(child(cache("api"), condition="ApiReady"), after=(CELL0,)),
        Later(child(cache("cell1")), after=(API, "map-cell1")),
    )


def nothing(kind: type[Any], name: str, *, namespace: str = "") -> Any:
    return None


def ordered(*there: Resource, done: frozenset[str] = frozenset()) -> tuple[list[str], list[Wait]]:
    def look(kind: type[Any], name: str, *, namespace: str = "") -> Any:
        return next((item for item in there if isinstance(item, kind) and item.metadata.name == name), None)

    everything = done | find_ready(asked(), look)
    children, waits = put_in_order(asked(), ("map-cell1",), everything, look)
    return [item.key.name for item in children], list(waits)


def test_cell0_comes_before_the_api_and_the_api_before_further_cells() -> None:
    children, waits = ordered()
    assert children == ["cell0"]
    assert waits[0] == Wait("Waiting", "Memcached api is created after Memcached/cell0", "ApiReady")
    assert ordered(cache("cell0"))[0] == ["cell0"], "it is there, and not ready"
    assert ordered(cache("cell0", ready=True))[0] == ["cell0", "api"]
    both = (cache("cell0", ready=True), cache("api", ready=True))
    assert [wait.message for wait in ordered(*both)[1]] == ["Memcached cell1 is created after map-cell1"]
    assert ordered(*both, done=frozenset({"map-cell1"})) == (["cell0", "api", "cell1"], [])


def test_a_child_that_is_there_does_not_go_back_into_the_queue() -> None:
    assert ordered(cache("cell0"), cache("api", ready=True), cache("cell1")) == (["cell0", "api", "cell1"], [])


@pytest.mark.parametrize("name", ["map-cell2", "Memcached/cell1"], ids=["unheard-of", "itself"])
def test_an_order_that_cannot_be_kept_is_our_mistake(name: str) -> None:
    wrong = Later(child(cache("cell1")), after=(name,))
    with pytest.raises(ValueError, match=f"created after {name}, which the service does not have"):
        put_in_order((wrong,), ("map-cell1",), frozenset(), nothing)
