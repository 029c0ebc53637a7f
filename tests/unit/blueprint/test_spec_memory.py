"""What is remembered of a spec, and for how long."""

from collections.abc import Iterator

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.blueprint import spec_memory
from stackwright.blueprint.spec_memory import SpecMemory
from stackwright.services.placement.kinds import PlacementAPI, PlacementAPISpec


class Making:
    """Counts how often something is worked out."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Iterator[int]:
        self.times += 1
        yield self.times


def resource(uid: str = "1", replicas: int = 1, version: str = "1") -> PlacementAPI:
    metadata = ObjectMeta(name="placement", uid=uid, resourceVersion=version)
    spec = PlacementAPISpec(databaseInstance="openstack", secret="osp-secret", replicas=replicas)
    return PlacementAPI(metadata=metadata, spec=spec)


def test_an_equal_spec_is_not_worked_out_again() -> None:
    memory, making = SpecMemory[int](), Making()
    assert memory.recall(resource(), "image", making) == (1,)
    assert memory.recall(resource(version="2"), "image", making) == (1,)


@pytest.mark.parametrize(("other", "beside"), [(resource(replicas=2), "image"), (resource(), "another image")])
def test_a_changed_spec_or_image_is_worked_out_again(other: PlacementAPI, beside: str) -> None:
    memory, making = SpecMemory[int](), Making()
    memory.recall(resource(), "image", making)
    assert memory.recall(other, beside, making) == (2,)
    assert memory.recall(resource(), "image", making) == (3,)


def test_what_nobody_has_created_is_not_remembered() -> None:
    memory, making = SpecMemory[int](), Making()
    memory.recall(resource(uid=""), None, making)
    assert memory.recall(resource(uid=""), None, making) == (2,)
    assert not memory.known


def test_the_least_recently_asked_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec_memory, "REMEMBERED", 2)
    memory, making = SpecMemory[int](), Making()
    for uid in ("1", "2", "1", "3"):
        memory.recall(resource(uid=uid), None, making)
    assert list(memory.known) == ["1", "3"]
    memory.recall(resource(uid="2"), None, making)
    assert making.times == 4


def test_a_spec_that_is_changed_in_a_map_is_seen() -> None:
    memory, making = SpecMemory[int](), Making()
    first = resource()
    memory.recall(first, None, making)
    spec = msgspec.structs.replace(first.spec, nodeSelector={"zone": "a"})
    assert memory.recall(msgspec.structs.replace(first, spec=spec), None, making) == (2,)
