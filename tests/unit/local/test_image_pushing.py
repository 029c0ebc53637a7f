"""Images are pushed from their archives to a registry, with the login that podman or docker keeps."""

import base64
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.registry import Login
from stackwright.local import oci
from stackwright.local.errors import ImageFailed
from stackwright.local.images import logins, pushing
from stackwright.local.images.archives import Image
from stackwright.local.images.pushing import Target
from stackwright.local.progress import Silent
from tests.fakes import registry as fake

LOGIN = Login(fake.USER, fake.PASSWORD)


@pytest.fixture
def host() -> Iterator[str]:
    with fake.running() as host:
        yield host


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Image:
    """An image that was built: a layer with one file."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = Image("teapot", "0123456789abcdef")
    content = oci.File("/teapot", b"short and stout" * 100_000)
    oci.write(oci.Image(made.reference, (content,)), made.archive, architecture="amd64")
    return made


def ask(host: str, path: str, method: str = "GET") -> bytes:
    connection = http.client.HTTPConnection(host)
    connection.request(method, path)
    try:
        return connection.getresponse().read()
    finally:
        connection.close()


def fetch(host: str, path: str) -> Any:
    return json.loads(ask(host, path))


def target(host: str, path: str = "") -> Target:
    return pushing.parse(f"{host}{path}", plain_http=True)


async def test_an_image_arrives_whole_and_is_sent_once(host: str, image: Image) -> None:
    [reference] = await pushing.push([image], target(host), login=None, progress=Silent())
    assert reference == f"{host}/teapot:0123456789abcdef"
    manifest = fetch(host, "/v2/teapot/manifests/0123456789abcdef")
    sizes = {part["digest"]: part["size"] for part in (*manifest["layers"], manifest["config"])}
    for digest, size in sizes.items():
        content = ask(host, f"/v2/teapot/blobs/{digest}")
        assert (fake.digest_of(content), len(content)) == (digest, size)
    # Under another tag nothing but the manifest is sent.
    again = await pushing.push([image], target(host, "/a/b"), login=None, tag="2026.2", progress=Silent())
    assert again == [f"{host}/a/b/teapot:2026.2"]
    assert fetch(host, "/fake/pushed") == {"tags": ["a/b/teapot:2026.2", "teapot:0123456789abcdef"], "uploads": 2}


@pytest.mark.parametrize("path", [fake.PRIVATE, fake.GUARDED], ids=["by-password", "by-a-token-for-it"])
async def test_whoever_is_known_may_push(host: str, image: Image, path: str) -> None:
    there = target(host, f"/{path.rstrip('/')}")
    with pytest.raises(ImageFailed, match=r"does not let a stranger push .* podman login"):
        await pushing.push([image], there, login=None, progress=Silent())
    with pytest.raises(ImageFailed, match="does not let user puller push"):
        await pushing.push([image], there, login=Login(fake.USER, "wrong"), progress=Silent())
    await pushing.push([image], there, login=LOGIN, tag="1", progress=Silent())
    assert fetch(host, "/fake/pushed")["tags"] == [f"{path}teapot:1"]


async def test_what_goes_wrong_is_said(host: str, image: Image) -> None:
    with pytest.raises(ImageFailed, match=r"First run: stackwright image build other"):
        await pushing.push([Image("other", "0" * 16)], target(host), login=None, progress=Silent())
    with pytest.raises(ImageFailed, match='"no tag" is no tag'):
        await pushing.push([image], target(host), login=None, tag="no tag", progress=Silent())
    with pytest.raises(ImageFailed, match="speaks no TLS"):
        await pushing.push([image], pushing.parse(host), login=None, progress=Silent())
    ask(host, "/fake/down/yes", "PUT")
    with pytest.raises(ImageFailed, match="answered with 503"):
        await pushing.push([image], target(host), login=None, progress=Silent())
    with pytest.raises(ImageFailed, match="cannot be reached"):
        await pushing.push([image], target("127.0.0.1:1"), login=None, progress=Silent())


@pytest.mark.parametrize(
    ("text", "host", "path"),
    [
        ("registry.example.com", "registry.example.com", ""),
        ("registry.example.com:5000/openstack/ours/", "registry.example.com:5000", "openstack/ours"),
        ("localhost/a", "localhost", "a"),
        ("10.192.0.2:5000", "10.192.0.2:5000", ""),
    ],
)
def test_where_images_go(text: str, host: str, path: str) -> None:
    found = pushing.parse(text)
    assert (found.place.host, found.path) == (host, path)
    assert found.place.url == f"https://{host}"


@pytest.mark.parametrize("text", ["", "openstack", "https://registry.example.com", "registry.example.com/UPPER"])
def test_what_is_no_registry_is_refused(text: str) -> None:
    with pytest.raises(ImageFailed, match="is no registry"):
        pushing.parse(text)


def auths(**known: str) -> bytes:
    entries = {name: {"auth": base64.b64encode(said.encode()).decode()} for name, said in known.items()}
    return json.dumps({"auths": entries}).encode()


@pytest.mark.parametrize(
    ("name", "path", "found"),
    [
        pytest.param("r.example.com", "openstack", True, id="the-host"),
        pytest.param("r.example.com/openstack", "openstack", True, id="the-path"),
        pytest.param("r.example.com/openstack", "openstack/ours", True, id="a-path-below"),
        pytest.param("r.example.com/openstack", "openstack-2", False, id="another-path-that-begins-so"),
        pytest.param("https://r.example.com/v1/", "openstack", True, id="as-docker-writes-it"),
        pytest.param("r.example.com:5000", "openstack", False, id="another-port"),
    ],
)
def test_whose_login_it_is(name: str, path: str, found: bool) -> None:
    login = logins.parse(auths(**{name: "me:a:b"}), "auth.json", "r.example.com", path)
    assert login == (Login("me", "a:b") if found else None)


def test_the_narrowest_login_is_taken_and_shown_to_nobody() -> None:
    content = auths(**{"r.example.com": "all:1", "r.example.com/ours": "ours:2", "other": "x:y"})
    login = logins.parse(content, "auth.json", "r.example.com", "ours")
    assert login == Login("ours", "2")
    assert "2" not in repr(login)


def test_logins_are_looked_for_where_podman_and_docker_keep_them(tmp_path: Path) -> None:
    around = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    assert logins.find("r.example.com", "", around=around) is None
    for number, file in enumerate(reversed(logins.usual(around))):
        file.parent.mkdir(parents=True)
        file.write_bytes(auths(**{"r.example.com": f"user-{number}:secret"}))
        assert logins.find("r.example.com", "", around=around) == Login(f"user-{number}", "secret")
    named = tmp_path / "mine.json"
    with pytest.raises(ImageFailed, match="there is no such file"):
        logins.find("r.example.com", "", around=around | {"REGISTRY_AUTH_FILE": str(named)})
    named.write_text("not JSON")
    with pytest.raises(ImageFailed, match="no logins"):
        logins.find("r.example.com", "", named, around)
