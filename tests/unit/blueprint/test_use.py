"""Who uses what a service exports: what it was before is retired only when nobody works with it any more."""

import base64
from typing import Any

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.blueprint import use
from stackwright.blueprint.service import Export
from stackwright.kube.builtin import Secret
from stackwright.services.placement.kinds import PlacementAPI

READER = ("PlacementAPI", "placement")
OTHER = ("OpenStackDataPlaneNodeSet", "compute")
MARK = "used-by.openstack.org/PlacementAPI.placement"


def exported(text: str = "new", readers: tuple[tuple[str, str], ...] = (READER,)) -> Export:
    return Export("teapot-cell1", {"password": text}, readers=readers)


def written(entry: Export, **marks: str) -> Secret:
    body = use.secret_of(entry).body
    annotations = {**body["metadata"]["annotations"], **{f"{use.USED_BY}{name}": text for name, text in marks.items()}}
    return Secret(metadata=ObjectMeta(name=entry.name, annotations=annotations), data=body["data"])


def content_of(entry: Export) -> str:
    return str(written(entry).metadata.annotations[use.CONTENT])


def reader() -> PlacementAPI:
    spec = {"secret": "s", "databaseInstance": "openstack"}
    return msgspec.convert({"metadata": {"name": "placement", "namespace": "cloud"}, "spec": spec}, PlacementAPI)


def test_an_export_is_a_secret_with_the_digest_of_its_content() -> None:
    secret = written(exported("hush"))
    assert base64.b64decode(secret.data["password"]) == b"hush"
    assert "hush" not in content_of(exported("hush"))
    assert content_of(exported("hush")) != content_of(exported("other"))


@pytest.mark.parametrize(
    ("marks", "readers", "there", "late"),
    [
        pytest.param({}, (READER,), {}, ("PlacementAPI placement",), id="one-that-has-not-begun"),
        pytest.param({"PlacementAPI.placement": "old"}, (READER,), {}, ("PlacementAPI placement",), id="one-behind"),
        pytest.param({"PlacementAPI.placement": "NEW"}, (READER,), {}, (), id="one-that-has-taken-it"),
        pytest.param({"PlacementAPI.placement": "old"}, (READER,), {READER: False}, (), id="one-that-is-gone"),
        pytest.param(
            {"PlacementAPI.placement": "NEW", "OpenStackDataPlaneNodeSet.compute": "old"},
            (READER,),
            {READER: True},
            ("OpenStackDataPlaneNodeSet compute",),
            id="machines-outside-that-nobody-told-of",
        ),
        pytest.param({}, (), {}, (), id="nobody-reads-it"),
    ],
)
def test_who_is_behind(
    marks: dict[str, str], readers: Any, there: dict[tuple[str, str], bool], late: tuple[str, ...]
) -> None:
    entry = exported(readers=readers)
    said = {name: content_of(entry) if text == "NEW" else text for name, text in marks.items()}
    assert use.behind(entry, written(entry, **said), there) == late


def test_a_reader_marks_what_it_reads_once() -> None:
    secret = written(exported())
    ((found, annotations),) = use.marks(reader(), [secret])
    assert found is secret
    assert annotations == {MARK: content_of(exported())}
    marked = written(exported(), **{"PlacementAPI.placement": content_of(exported())})
    assert list(use.marks(reader(), [marked])) == []


def test_what_somebody_wrote_by_hand_is_not_marked() -> None:
    assert list(use.marks(reader(), [Secret(metadata=ObjectMeta(name="mine"))])) == []
