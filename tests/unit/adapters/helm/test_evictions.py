"""Users' charts that are removed to make room while somebody reads them."""

import asyncio
import io
import os
import tarfile
import time
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from stackwright.adapters.errors import Rejected, Unavailable
from stackwright.adapters.helm import Packages, Renderer, charts
from stackwright.adapters.helm import packages as module

# A helm that begins, waits until it may go on, and prints what it then finds.
SLOW = """#!/bin/sh
cat > /dev/null
touch "{place}/begun"
while [ ! -e "{place}/go" ]; do sleep 0.02; done
printf 'kind: ConfigMap\\nmetadata:\\n  name: found\\n'
exit {code}
"""


@cache
def package(name: str, size: int = 0) -> bytes:
    """Return a packaged chart, always the same one: each has the time in it."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for path, content in ((f"{name}/Chart.yaml", f"name: {name}".encode()), (f"{name}/templates/x", bytes(size))):
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


@pytest.fixture
def one_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 1)


def slow_helm(place: Path, code: int = 0) -> Path:
    program = place / "helm"
    program.write_text(SLOW.format(place=place, code=code))
    program.chmod(0o755)
    return program


async def until(found: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not found():
            await asyncio.sleep(0.01)


@pytest.mark.usefixtures("one_is_kept")
@pytest.mark.parametrize("again", [False, True], ids=["gone", "unpacked-again"])
@pytest.mark.parametrize("code", [0, 1], ids=["helm-succeeds", "helm-fails"])
async def test_a_render_of_a_chart_that_was_removed_does_not_count(tmp_path: Path, code: int, again: bool) -> None:
    renderer = Renderer(slow_helm(tmp_path, code))
    folder = await renderer.packages.unpacked(package("mine"))
    rendering = asyncio.create_task(renderer.render(folder, "mine", "here", {}))
    await until((tmp_path / "begun").exists)
    await renderer.packages.unpacked(package("other"))
    assert not folder.exists()
    if again:
        assert await renderer.packages.unpacked(package("mine")) == folder
    (tmp_path / "go").touch()
    with pytest.raises(Unavailable, match="was removed to make room"):
        await rendering


async def test_a_render_of_a_chart_that_stays_counts(tmp_path: Path) -> None:
    renderer = Renderer(slow_helm(tmp_path))
    (tmp_path / "go").touch()
    folder = await renderer.packages.unpacked(package("mine"))
    assert (await renderer.render(folder, "mine", "here", {})).objects[0]["metadata"]["name"] == "found"


@pytest.mark.usefixtures("one_is_kept")
async def test_a_chart_that_was_removed_before_it_was_read_is_not_refused(tmp_path: Path) -> None:
    renderer = Renderer(slow_helm(tmp_path))
    folder = await renderer.packages.unpacked(package("mine"))
    await renderer.packages.unpacked(package("other"))
    with pytest.raises(Unavailable, match="was removed to make room"):
        await renderer.render(folder, "mine", "here", {})


@pytest.mark.usefixtures("one_is_kept")
async def test_a_chart_that_is_removed_while_it_is_read_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renderer, read = Renderer(slow_helm(tmp_path)), charts.read
    folder = await renderer.packages.unpacked(package("mine"))

    def late(directory: Path) -> charts.Chart:
        found = read(directory)
        module._evict(directory.parent)
        return found

    monkeypatch.setattr(charts, "read", late)
    with pytest.raises(Unavailable, match="was removed to make room"):
        await renderer.render(folder, "mine", "here", {})


async def test_a_folder_that_is_nobodys_package_is_refused_as_before(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="is not a chart"):
        await Renderer(slow_helm(tmp_path)).render(tmp_path / "missing", "mine", "here", {})


async def test_a_half_removed_folder_is_unpacked_again() -> None:
    packages = Packages()
    folder = await packages.unpacked(package("mine"))
    (folder / "Chart.yaml").unlink()
    (folder / "templates" / "x").unlink()
    (folder / "templates").rmdir()
    folder.rmdir()
    assert await packages.unpacked(package("mine")) == folder
    assert (folder / "Chart.yaml").is_file()


class Slow:
    """Work that takes a moment, and knows how much of it is done at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def __call__(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        time.sleep(0.3)
        self.now -= 1


async def cancel_the_first(*work: Coroutine[Any, Any, object]) -> None:
    """Cancel the first while it is at work; the others go on."""
    first, *others = map(asyncio.create_task, work)
    await asyncio.sleep(0.1)
    first.cancel()
    await asyncio.wait((first, *others))
    assert first.cancelled()
    assert all(other.exception() is None for other in others)


async def test_one_package_at_a_time_is_unpacked_even_if_one_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    packages, slow, files = Packages(), Slow(), module._files

    def late(content: bytes) -> dict[PurePosixPath, bytes]:
        slow()
        return files(content)

    monkeypatch.setattr(module, "_files", late)
    await cancel_the_first(packages.unpacked(package("a")), packages.unpacked(package("b")))
    assert slow.most == 1


async def test_one_chart_at_a_time_is_read_even_if_one_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renderer, slow, read = Renderer(slow_helm(tmp_path)), Slow(), charts.read
    (tmp_path / "go").touch()
    folders = [await renderer.packages.unpacked(package(name)) for name in "ab"]

    def late(directory: Path) -> charts.Chart:
        slow()
        return read(directory)

    monkeypatch.setattr(charts, "read", late)
    await cancel_the_first(*(renderer.render(folder, "x", "here", {}) for folder in folders))
    assert slow.most == 1


@pytest.mark.parametrize("prefix", [module._MAKING, module._PULLING])
async def test_what_is_being_made_counts_and_stays(prefix: str) -> None:
    packages = Packages()
    folder = await packages.unpacked(package("a", 5 * 2**20))
    busy = folder.parents[1] / f"{prefix}x"
    busy.mkdir()
    (busy / "x").write_bytes(bytes(5 * 2**20))
    await packages.unpacked(package("b", 5 * 2**20))
    assert not folder.exists()
    assert busy.exists()


async def test_what_only_has_the_name_of_a_folder_of_ours_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").touch()
    link, pipe, left = (tmp_path / f"{module._PREFIX}{name}" for name in ("link", "pipe", "left"))
    link.symlink_to(other)
    os.mkfifo(pipe)
    left.mkdir()
    # The thread ends only if somebody opens the pipe.
    opened = asyncio.create_task(asyncio.to_thread(module.sweep, tmp_path))
    done, _ = await asyncio.wait((opened,), timeout=5)
    if not done:
        os.close(os.open(pipe, os.O_WRONLY))
        await opened
    assert done
    assert (other / "file").exists()
    assert link.is_symlink()
    assert not left.exists()
