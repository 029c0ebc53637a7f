"""Building images, tried with the one that needs no builder: what is kept, what is made once, what is left alone."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackwright.cli.commands.image import image as command
from stackwright.local.errors import ImageFailed, PackagesMissing
from stackwright.local.images import archives, building, loading
from stackwright.local.images.archives import Image
from stackwright.local.progress import Silent


class Told:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def update(self, text: str) -> None:
        pass


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("STACKWRIGHT_DEBIAN_IMAGE", raising=False)
    return tmp_path / "cache" / "stackwright" / "images"


def never(question: str) -> bool:
    pytest.fail(f"asked: {question}")


def build(*names: str, told: Told | None = None) -> list[Image]:
    return building.build(names, building.catalogue(), ask=never, progress=told or Silent())


def test_an_image_is_kept_under_its_hash_and_made_once(cache: Path) -> None:
    told = Told()
    [first] = build("pause", told=told)
    assert first.archive == cache / f"pause-{first.hash}" / "image.tar"
    with tarfile.open(first.archive) as archive:
        index = archive.extractfile("index.json")
        assert index is not None
        named = json.load(index)["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"]
    assert named == first.reference == f"stackwright.local/pause:{first.hash}"
    assert told.lines == ["Wrote pause."]
    made = first.archive.stat()
    assert build("pause", told=told) == [first]
    assert told.lines == ["Wrote pause."]
    assert first.archive.stat() == made


def test_what_an_interrupted_build_left_is_no_image_and_goes_away(cache: Path) -> None:
    left = cache / "images.staging"
    left.mkdir(parents=True)
    (left / "image.tar").write_text("half")
    [image] = build("pause")
    assert image.archive.stat().st_size > 1000
    assert not left.exists()


def test_two_at_once_make_it_once(cache: Path) -> None:
    program = [sys.executable, "-c", "from stackwright.cli.main import main; main()", "image", "build", "pause"]
    running = [
        subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert len({output for output, _ in said}) == 1
    assert "".join(errors for _, errors in said).count("Wrote pause.") == 1
    assert len(list(cache.glob("pause-*"))) == 1


def test_only_the_latest_few_are_kept(cache: Path) -> None:
    for number in range(5):
        old = cache / f"pause-{number:016x}" / "image.tar"
        old.parent.mkdir(parents=True)
        old.write_text("")
        os.utime(old, (number, number))
    other = cache / "pause-other-0000000000000000" / "image.tar"
    other.parent.mkdir()
    other.write_text("")
    [image] = build("pause")
    left = {path.parent.name for path in cache.glob("*/image.tar")}
    assert left == {f"pause-{image.hash}", f"pause-{4:016x}", f"pause-{3:016x}", other.parent.name}


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ImageFailed, match=r"Not a directory\. Images are kept there; set XDG_CACHE_HOME"):
        build("pause")


def test_without_names_all_that_are_run_are_chosen() -> None:
    known = building.catalogue()
    names = {image.name for image in building.chosen(known)}
    assert {"openstack", "pause"} <= names
    assert not {"base", "builder", "debian"} & names
    assert [image.name for image in building.chosen(known, ["base"])] == ["base"]


@pytest.mark.parametrize("name", ["ansible-runner", "compute", "guest", "tempest"])
def test_an_image_on_request_is_built_only_by_its_name(name: str) -> None:
    known = building.catalogue()
    assert known.recipes[name].on_request
    assert name not in {image.name for image in building.chosen(known)}
    assert [image.name for image in building.chosen(known, [name])] == [name]


def test_another_debian_makes_other_images_but_not_of_those_from_scratch() -> None:
    ours, others = building.catalogue().images, building.catalogue(debian="debian:trixie-slim").images
    assert ours["mariadb"].hash != others["mariadb"].hash
    assert ours["pause"] == others["pause"]


def test_without_buildah_and_consent_nothing_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("apt-get", "apt-config"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("stackwright.local.distribution.EXTRA_PATH", "")
    with pytest.raises(PackagesMissing, match=r"buildah.*apt-get install buildah"):
        building.build(["base"], building.catalogue(), ask=lambda _: False, progress=Silent())


def test_what_is_not_built_is_not_loaded() -> None:
    with pytest.raises(ImageFailed, match=r"Not built yet: pause\. First run: stackwright image build pause"):
        loading.load(building.chosen(building.catalogue(), ["pause"]), 1, progress=Silent())


def test_a_cluster_that_does_not_run_is_named() -> None:
    with pytest.raises(ImageFailed, match=r"no running cluster trial\. Bring it up: stackwright local up --name trial"):
        loading.node_of("trial")


def test_the_list_says_what_is_built() -> None:
    [image] = build("pause")
    answer = CliRunner().invoke(command, ["list"])
    assert answer.exit_code == 0, answer.output
    lines = {line.split()[0]: line.split()[1:3] for line in answer.stdout.splitlines()}
    assert lines["pause"] == [image.hash, "yes"]
    assert lines["openstack"][1] == "no"
    assert lines["base"][1] == "for"


def test_the_manifest_is_printed_with_what_the_user_changed(tmp_path: Path) -> None:
    mine = tmp_path / "images.yaml"
    mine.write_text("components: {keystone: {reference: 'r.example.com/k:1', sudo: true}}\n")
    answer = CliRunner().invoke(command, ["manifest", "--images", str(mine)])
    assert answer.exit_code == 0, answer.output
    lines = dict(line.split(maxsplit=1) for line in answer.stdout.splitlines())
    assert lines["keystone"] == "r.example.com/k:1  (starts with sudo)"
    assert lines["mariadb"] == building.catalogue().images["mariadb"].reference


def test_archives_are_beside_the_programs(cache: Path) -> None:
    assert archives.folder() == cache
