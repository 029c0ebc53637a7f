"""Wherever a user may name an image, what is no reference is refused."""

import typing
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.base import CustomResource, JsonObject
from stackwright.api.embedded import Embedded
from stackwright.api.forms import Form
from stackwright.blueprint import images, structs
from stackwright.controllers import doors
from tests.functional.crds.samples import LEAST
from tests.surroundings import nothing_known

# Ceph calls its devices images, and imageCache says how Glance keeps some.
OTHERS = ("rbd.image", "imageCache")
KINDS = {kind.kind.name: kind for kind in services.kinds()}


def texts(
    annotation: Any, path: str, above: tuple[type, ...] = (), *, marked: bool = False
) -> Iterator[tuple[str, bool]]:
    """Yield the path of each text in a type, and whether it has to be the reference of an image."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        for marker in arguments[1:]:
            if isinstance(marker, Embedded):
                yield from texts(marker.part, path, above)
        yield from texts(arguments[0], path, above, marked=marked or Form.IMAGE in arguments[1:])
    elif arguments:
        for each in arguments:
            yield from texts(each, path, above, marked=marked)
    elif annotation is str:
        yield path, marked
    elif isinstance(annotation, type) and issubclass(annotation, msgspec.Struct) and annotation not in above:
        for name, hint in structs.hints(annotation).items():
            yield from texts(hint, f"{path}.{name}", (*above, annotation))


def names_image(path: str) -> bool:
    field = path.rpartition(".")[2]
    return "image" in field.lower() or path.endswith("image.reference")


@pytest.mark.parametrize("kind", services.kinds(), ids=lambda kind: kind.kind.name)
def test_each_field_that_names_an_image_takes_only_references(kind: type[CustomResource]) -> None:
    found = dict(texts(structs.hints(kind)["spec"], "spec"))
    assert [
        path for path, marked in found.items() if names_image(path) and not marked and not path.endswith(OTHERS)
    ] == []


def mounted(reference: str) -> list[JsonObject]:
    volume = {"name": "a", "image": {"reference": reference}}
    return [{"extraVol": [{"volumes": [volume], "mounts": [{"name": "a", "mountPath": "/a"}]}]}]


def refused(kind: str, **spec: Any) -> list[str]:
    body = {"metadata": {"name": "one", "namespace": "here"}, "spec": {**LEAST[kind], **spec}}
    found = doors.check(None, msgspec.convert(body, KINDS[kind]), nothing_known).errors
    return [f"{error.field} {error.message}" for error in found]


@pytest.mark.parametrize(("said", "fits"), [("a.example/b:1", True), ("http://a.example/b", False), ("A B", False)])
def test_a_volume_of_an_image_and_an_image_that_nothing_reads_yet(said: str, fits: bool) -> None:
    for found in (
        refused("KeystoneAPI", extraMounts=mounted(said)),
        refused("OVNDBCluster", exporterImage=said),
    ):
        assert len(found) == (not fits)
        assert all("is not an image reference" in each for each in found)


@pytest.mark.parametrize("said", ["", "Keystone:1", "a//b:1", "a.example/Keystone:1", "a.example:x/b:1"])
def test_the_manifest_of_images_asks_for_the_same(said: str) -> None:
    assert images.REFERENCE.fullmatch(said) is None
