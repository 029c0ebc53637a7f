"""Who uses what a service exports: what it was before is retired only when nobody works with it any more."""

import base64
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.api.dataplane import OpenStackDataPlaneNode, ServiceRecord
from stackwright.blueprint import use
from stackwright.blueprint.service import Export
from stackwright.kube.builtin import Secret
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from stackwright.services.placement.kinds import PlacementAPI

READER = ("PlacementAPI", "placement")
OTHER = ("OpenStackDataPlaneNodeSet", "compute")
COMPUTE, NODE = ("NovaExternalCompute", "one"), ("OpenStackDataPlaneNode", "one")


def exported(text: str = "new", readers: tuple[tuple[str, str], ...] = ()) -> Export:
    return Export("teapot-cell1", {"password": text}, readers=readers)


def written(entry: Export, marks: Mapping[tuple[str, str], str] | None = None) -> Secret:
    body = use.secret_of(entry).body
    annotations = dict(body["metadata"]["annotations"])
    for reader, content in (marks or {}).items():
        annotations |= use._mark(reader, content)
    return Secret(metadata=ObjectMeta(name=entry.name, annotations=annotations), data=body["data"])


def content_of(entry: Export) -> str:
    return str(written(entry).metadata.annotations[use.CONTENT])


def reader(noted: str | None = None) -> PlacementAPI:
    spec = {"secret": "s", "databaseInstance": "openstack"}
    status = {"hash": {} if noted is None else {f"{use.NOTED}teapot-cell1": noted}}
    body = {"metadata": {"name": "placement", "namespace": "cloud"}, "spec": spec, "status": status}
    return msgspec.convert(body, PlacementAPI)


def compute(content: str, name: str = "teapot-cell1") -> NovaExternalCompute:
    record = {"name": "nova-external-compute", "exports": {name: content}}
    body = {"metadata": {"name": "one", "namespace": "cloud"}, "status": {"deployment": record}}
    return msgspec.convert({**body, "spec": {"cellName": "cell1"}}, NovaExternalCompute)


def node(*contents: str) -> OpenStackDataPlaneNode:
    records = [{"name": str(number), "exports": {"teapot-cell1": each}} for number, each in enumerate(contents)]
    body = {"metadata": {"name": "one", "namespace": "cloud"}, "spec": {"role": "r"}, "status": {"services": records}}
    return msgspec.convert(body, OpenStackDataPlaneNode)


NEW = content_of(exported())


def test_an_export_is_a_secret_with_the_digest_of_its_content() -> None:
    secret = written(exported("hush"))
    assert base64.b64decode(secret.data["password"]) == b"hush"
    assert "hush" not in content_of(exported("hush"))
    assert content_of(exported("hush")) != content_of(exported("other"))


@pytest.mark.parametrize(
    ("marks", "readers", "there", "late"),
    [
        pytest.param({}, (READER,), {READER: reader()}, ("PlacementAPI placement",), id="one-that-has-not-begun"),
        pytest.param({}, (READER,), {READER: reader("old")}, ("PlacementAPI placement",), id="one-behind"),
        pytest.param({}, (READER,), {READER: reader(NEW)}, (), id="one-that-has-taken-it"),
        pytest.param({}, (READER,), {READER: None}, (), id="one-that-is-gone"),
        pytest.param({}, (READER,), {READER: reader(use.ROLLING)}, ("PlacementAPI placement",), id="one-that-changes"),
        pytest.param(
            {READER: NEW}, (READER,), {READER: reader()}, ("PlacementAPI placement",), id="a-mark-of-an-older-operator"
        ),
        pytest.param({READER: "old"}, (), {READER: reader()}, ("PlacementAPI placement",), id="nobody-knew-of-it"),
        pytest.param({READER: NEW}, (), {READER: reader()}, (), id="nobody-knew-of-it-and-it-has-taken-it"),
        pytest.param({READER: "old"}, (), {READER: None}, (), id="nobody-knew-of-it-and-it-is-gone"),
        pytest.param(
            {OTHER: "old"},
            (READER,),
            {READER: reader(NEW)},
            ("OpenStackDataPlaneNodeSet compute",),
            id="machines-outside-that-nobody-told-of",
        ),
        pytest.param({}, (OTHER,), {}, ("OpenStackDataPlaneNodeSet compute",), id="machines-that-have-not-begun"),
        pytest.param({}, (), {}, (), id="nobody-reads-it"),
        pytest.param({}, (), {COMPUTE: compute("old")}, ("NovaExternalCompute one",), id="a-machine-that-is-off"),
        pytest.param({}, (), {COMPUTE: compute(NEW)}, (), id="a-machine-to-which-it-was-applied"),
        pytest.param({}, (), {COMPUTE: compute("old", "another")}, (), id="a-machine-that-reads-another"),
        pytest.param({}, (), {NODE: node(NEW, "old")}, ("OpenStackDataPlaneNode one",), id="one-service-of-two"),
        pytest.param({}, (), {NODE: node(NEW, NEW)}, (), id="both-services-of-a-machine"),
    ],
)
def test_who_is_behind(
    marks: dict[tuple[str, str], str], readers: Any, there: dict[tuple[str, str], Any], late: tuple[str, ...]
) -> None:
    entry = exported(readers=readers)
    assert use.behind(entry, written(entry, marks), there) == late


def look_at(secret: Secret | None) -> Any:
    return lambda *_, **__: secret


def used(text: str = "new") -> use.Used:
    found = use.read_of(written(exported(text)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("marks", "begins"),
    [
        pytest.param({}, True, id="nobody-knew-of-it"),
        pytest.param({READER: "old"}, True, id="it-had-another-content"),
        pytest.param({READER: use.ROLLING}, False, id="it-has-begun"),
        pytest.param({READER: "NEW"}, False, id="it-works-with-it"),
    ],
)
def test_a_reader_says_that_it_changes_before_it_does(marks: dict[tuple[str, str], str], begins: bool) -> None:
    said = {reader: content_of(exported()) if text == "NEW" else text for reader, text in marks.items()}
    found = list(use.begin(reader(), [used()], look_at(written(exported(), said))))
    assert found == ([("teapot-cell1", use.mark_of(reader(), use.ROLLING))] if begins else [])


def test_a_reader_marks_what_it_read_once() -> None:
    before = written(exported(), {READER: use.ROLLING})
    assert list(use.finish(reader(), [used()], look_at(before))) == [
        ("teapot-cell1", use.mark_of(reader(), content_of(exported())))
    ]
    marked = written(exported(), {READER: content_of(exported())})
    assert list(use.finish(reader(), [used()], look_at(marked))) == []


def test_what_has_changed_since_it_was_read_is_not_marked() -> None:
    newer = written(exported("newer"), {READER: use.ROLLING})
    assert list(use.finish(reader(), [used("new")], look_at(newer))) == []
    assert list(use.finish(reader(), [used("new")], look_at(None))) == []


def test_data_that_is_not_what_the_digest_says_is_not_marked() -> None:
    """Somebody else owns the data: the exporter's digest is of a content that nobody has."""
    secret = written(exported("new"))
    torn = msgspec.structs.replace(secret, data=written(exported("old")).data)
    found = use.read_of(torn)
    assert found is not None
    assert list(use.finish(reader(), [found], look_at(torn))) == []


def test_what_somebody_wrote_by_hand_is_not_marked() -> None:
    assert use.read_of(Secret(metadata=ObjectMeta(name="mine"))) is None


def test_a_mark_fits_whatever_the_reader_is_called() -> None:
    (name,) = use._mark(("NovaMetadata", "n" * 253), "x")
    assert len(name.partition("/")[2]) <= 63


@pytest.mark.parametrize(
    ("noted", "settled", "notes"),
    [
        pytest.param(None, False, None, id="it-has-not-started-yet"),
        pytest.param(None, True, NEW, id="it-has-started"),
        pytest.param("old", False, use.ROLLING, id="it-changes"),
        pytest.param(use.ROLLING, False, use.ROLLING, id="it-still-changes"),
        pytest.param(use.ROLLING, True, NEW, id="it-has-changed"),
        pytest.param(NEW, False, NEW, id="it-is-away-and-has-what-it-had"),
    ],
)
def test_a_reader_that_is_known_notes_in_its_status_what_it_works_with(
    noted: str | None, settled: bool, notes: str | None
) -> None:
    secret, who = written(exported(readers=(READER,))), reader(noted)
    found = use.notes(who, [used()], look_at(secret), settled=settled)
    assert found == ({} if notes is None else {f"{use.NOTED}teapot-cell1": notes})
    # Its status is where its mark is, and the Secret has none of it.
    assert [*use.begin(who, [used()], look_at(secret)), *use.finish(who, [used()], look_at(secret))] == []


def test_a_reader_that_nobody_knows_of_notes_nothing_in_its_status() -> None:
    assert use.notes(reader(), [used()], look_at(written(exported())), settled=True) == {}


def test_a_reader_notes_nothing_that_has_changed_since_it_was_read() -> None:
    newer = written(exported("newer", (READER,)))
    assert use.notes(reader(), [used("new")], look_at(newer), settled=True) == {}
    assert use.notes(reader("old"), [used("new")], look_at(newer), settled=True) == {
        f"{use.NOTED}teapot-cell1": use.ROLLING
    }
    assert use.notes(reader("old"), [used("new")], look_at(None), settled=True) == {}


BEFORE = ServiceRecord(name="nova", run="run-1", appliedHash="1", inputHash="1", exports={"teapot-cell1": "old"})


@pytest.mark.parametrize(
    ("changes", "known", "running", "expected"),
    [
        pytest.param({}, True, False, NEW, id="applied-as-it-is-wanted"),
        pytest.param({"inputHash": "2"}, True, False, "old", id="not-applied-yet"),
        pytest.param({"inputHash": "2"}, True, True, use.ROLLING, id="being-applied"),
        pytest.param({}, True, True, use.ROLLING, id="changed-back-while-another-content-is-being-applied"),
        pytest.param({"inputHash": "2", "appliedHash": ""}, True, False, use.ROLLING, id="a-run-failed"),
        pytest.param({}, False, False, "old", id="what-is-wanted-is-not-known"),
        pytest.param({"inputHash": "", "appliedHash": "", "run": ""}, True, False, "old", id="nothing-ran-yet"),
    ],
)
def test_a_machine_is_marked_with_what_was_applied_to_it(
    changes: dict[str, str], *, known: bool, running: bool, expected: str
) -> None:
    record = msgspec.structs.replace(BEFORE, **changes)
    found = use.with_use(record, (used(),) if known else None, running=running)
    assert found.exports == {"teapot-cell1": expected}


def test_a_machine_to_which_nothing_was_applied_has_no_mark() -> None:
    assert use.with_use(ServiceRecord(name="nova", inputHash="1"), (used(),), running=False).exports == {}
