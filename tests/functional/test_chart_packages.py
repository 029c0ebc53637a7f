"""Charts that users bring: packed by the real helm, pulled by it from a registry, unpacked by us."""

import base64
import gzip
import http.client
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from stackwright.adapters.errors import Refused, Rejected, Unavailable
from stackwright.adapters.helm import Packages, Renderer
from stackwright.adapters.helm import packages as module
from tests.contracts.registry import Registry, RegistryContract
from tests.fakes import registry as fake
from tests.functional.packing import packed
from tests.functional.releases import CHART


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    with fake.running() as found:
        yield found


@pytest.fixture
def tell(host: str) -> Callable[..., str]:
    """Tell the fake something under /fake/."""

    def tell(path: str, body: bytes = b"", method: str = "PUT") -> str:
        connection = http.client.HTTPConnection(host)
        connection.request(method, f"/fake/{path}", body)
        try:
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    return tell


@pytest.fixture
def put(tell: Callable[..., str]) -> Callable[[str, bytes], Awaitable[str]]:
    async def put(repository: str, package: bytes) -> str:
        return tell(f"charts/{repository}/small", package)

    return put


@pytest.fixture
def packages(kubernetes: dict[str, Path]) -> Packages:
    return Packages(kubernetes["helm"])


@pytest.fixture
async def package(kubernetes: dict[str, Path]) -> bytes:
    return await packed(kubernetes["helm"], CHART)


class TestRegistry(RegistryContract):
    """The fake."""

    @pytest.fixture
    def registry(self, host: str, put: Callable[[str, bytes], Awaitable[str]]) -> Registry:
        return Registry(host, put)


async def test_a_package_is_unpacked_once_and_renders(
    packages: Packages, package: bytes, kubernetes: dict[str, Path]
) -> None:
    folder = await packages.unpacked(package)
    assert await packages.unpacked(package) == folder
    rendered = await Renderer(kubernetes["helm"]).render(folder, "small", "here", {"greeting": "hi"})
    assert rendered.objects[0]["data"] == {"greeting": "hi"}
    assert rendered.chart.record["metadata"]["version"] == "0.1.0"


async def test_what_was_not_asked_for_the_longest_goes(
    packages: Packages, package: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    first, second = package, _tar({"x/Chart.yaml": b"name: x"})
    one = await packages.unpacked(first)
    os.utime(one.parent, (1, 1))
    two = await packages.unpacked(second)
    three = await packages.unpacked(_tar({"y/Chart.yaml": b"name: y"}))
    assert [path.is_dir() for path in (one, two, three)] == [False, True, True]
    assert await packages.unpacked(first) == one


async def test_charts_take_no_more_room_than_there_is(packages: Packages) -> None:
    large = [_tar({f"{name}/Chart.yaml": b"name: x", f"{name}/x": bytes(7 * 2**20)}) for name in "abcd"]
    folders = [await packages.unpacked(package) for package in large]
    assert [folder.is_dir() for folder in folders] == [False, False, False, True]
    # Small ones are kept beside it.
    small = await packages.unpacked(_tar({"y/Chart.yaml": b"name: y"}))
    assert small.is_dir()
    assert folders[-1].is_dir()
    assert sum(each.stat().st_size for each in small.parents[1].rglob("*") if each.is_file()) <= module.ROOM


def test_what_a_killed_process_left_is_removed_and_what_lives_stays(tmp_path: Path) -> None:
    program = """
import asyncio, sys, time
from stackwright.adapters.helm import Packages
packages = Packages()
print(asyncio.run(packages.unpacked(sys.stdin.buffer.read())), flush=True)
time.sleep(60)
"""
    package = _tar({"y/Chart.yaml": b"name: y"})
    other = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"TMPDIR": str(tmp_path)}
    )
    try:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write(package)
        other.stdin.close()
        folder = Path(other.stdout.readline().decode().strip())
        module.sweep(tmp_path)
        assert folder.is_dir()
    finally:
        other.kill()
        other.wait()
        if other.stdout is not None:
            other.stdout.close()
    assert folder.is_dir()
    module.sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


def _tar(files: dict[str, bytes | None]) -> bytes:
    """Return a package with these files; None stands for a link."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            if content is None:
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            else:
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content or b""))
    return target.getvalue()


@pytest.mark.parametrize(
    ("package", "said"),
    [
        pytest.param(b"", "not a gzipped tar archive", id="nothing"),
        pytest.param(b"PK not a tar", "not a gzipped tar archive", id="another-format"),
        pytest.param(_tar({"a/Chart.yaml": b"name: a" * 1000})[:100], "not a gzipped tar archive", id="cut-off"),
        pytest.param(_tar({}), "nothing in it", id="empty"),
        pytest.param(_tar({"Chart.yaml": b"name: a"}), "not a plain file in its folder", id="no-folder"),
        pytest.param(_tar({"a/values.yaml": b""}), "Chart.yaml", id="no-chart-in-it"),
        pytest.param(_tar({"a/Chart.yaml": b"", "b/Chart.yaml": b""}), "one folder", id="two-charts"),
        pytest.param(_tar({"a/Chart.yaml": b"", "a/../../b": b""}), "a/../../b is not a plain file", id="a-way-out"),
        pytest.param(_tar({"a/Chart.yaml": b"", "/etc/x": b""}), "/etc/x is not a plain file", id="an-absolute-path"),
        pytest.param(_tar({"a/Chart.yaml": b"", "a/b": None}), "a/b is not a plain file", id="a-link"),
        pytest.param(_tar({"a/Chart.yaml": bytes(module.UNPACKED + 1)}), "too large", id="packed-very-well"),
        pytest.param(gzip.compress(bytes(64 * 2**20)), "too large", id="packed-very-well-and-no-tar"),
        pytest.param(_tar({f"a/{n}": b"" for n in range(module.FILES + 1)}), "too large", id="many-files"),
        pytest.param(_tar({"a/Chart.yaml": b"", "a/b": b"", "a/b/c": b""}), "cannot be the name", id="file-and-folder"),
        pytest.param(_tar({"a/Chart.yaml": b"", f"a/{'x' * 300}": b""}), "cannot be the name", id="a-long-name"),
        pytest.param(
            _tar({"a/Chart.yaml": b"", "a/values.schema.json": b'{"$ref": "file:///etc/passwd"}'}),
            "refers to 'file:///etc/passwd', which is not in it",
            id="a-schema-that-reads-files",
        ),
        pytest.param(
            _tar({"a/Chart.yaml": b"", "a/values.schema.json": b'{"title": "\xff", "$ref": "file:///etc/passwd"}'}),
            "a/values.schema.json is not accepted: it is not JSON",
            id="a-schema-that-only-helm-reads",
        ),
        pytest.param(
            _tar({"a/Chart.yaml": b"", "a/charts/b.tgz": _tar({"b/Chart.yaml": b""})}),
            "a/charts/b.tgz is a packed chart",
            id="a-package-in-a-package",
        ),
        pytest.param(
            _tar({"a/Chart.yaml": b"", "a/charts/b/charts/c.tgz": b""}),
            "a/charts/b/charts/c.tgz is a packed chart",
            id="a-package-further-down",
        ),
    ],
)
async def test_what_is_no_chart_is_refused(packages: Packages, package: bytes, said: str) -> None:
    with pytest.raises(Rejected, match=said):
        await packages.unpacked(package)


async def test_a_pull_is_remembered_and_asked_for_by_nobody_else(
    packages: Packages, host: str, package: bytes, put: Callable[[str, bytes], Awaitable[str]]
) -> None:
    reference = f"oci://{host}/{fake.PRIVATE}small@{await put(fake.PRIVATE.rstrip('/'), package)}"
    login = base64.b64encode(f"{fake.USER}:{fake.PASSWORD}".encode()).decode()
    right = json.dumps({"auths": {host: {"auth": login}}})
    first = await packages.pulled(reference, credentials=right, plain_http=True)
    assert await packages.pulled(reference, credentials=right, plain_http=True) == first
    assert packages.pulls == 1
    wrong = json.dumps({"auths": {host: {"auth": base64.b64encode(b"puller:guessed it").decode()}}})
    for credentials in ("", wrong):
        with pytest.raises(Refused, match="pullSecret") as caught:
            await packages.pulled(reference, credentials=credentials, plain_http=True)
        assert "guessed" not in str(caught.value)


async def test_a_registry_that_is_away_is_waited_for(
    packages: Packages,
    host: str,
    package: bytes,
    put: Callable[[str, bytes], Awaitable[str]],
    tell: Callable[..., str],
) -> None:
    reference = f"oci://{host}/charts/small@{await put('charts', package)}"
    tell("down/yes")
    with pytest.raises(Unavailable, match=f"{host} does not deliver .*503"):
        await packages.pulled(reference, plain_http=True)
    tell("down/no")
    assert (await packages.pulled(reference, plain_http=True)).is_dir()
    nowhere = f"oci://127.0.0.1:1/charts/small@sha256:{'1' * 64}"
    with pytest.raises(Unavailable, match="connection refused"):
        await packages.pulled(nowhere, plain_http=True)


@pytest.mark.parametrize("spoilt", ["manifest", "layer"])
async def test_what_is_not_what_the_digest_says_is_refused(
    packages: Packages,
    host: str,
    kubernetes: dict[str, Path],
    tmp_path: Path,
    put: Callable[[str, bytes], Awaitable[str]],
    tell: Callable[..., str],
    spoilt: str,
) -> None:
    chart = Path(shutil.copytree(CHART, tmp_path / "chart"))
    (chart / "NOTE").write_text(spoilt)
    package = await packed(kubernetes["helm"], chart)
    digest = await put("spoilt", package)
    tell(f"spoilt/{digest if spoilt == 'manifest' else fake.digest_of(package)}")
    with pytest.raises(Rejected, match="different content for the digest"):
        await packages.pulled(f"oci://{host}/spoilt/small@{digest}", plain_http=True)
