"""Official releases: fetched from a server of the test's own, and used only when their digest is right."""

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from stackwright.local import download
from stackwright.local.download import Artifact
from stackwright.local.programs import ALL
from stackwright.local.progress import Silent
from stackwright.local.versions import Versions

VERSIONS = Versions(
    kubernetes="v1.36.4", etcd="v3.6.13", helm="v4.2.4", coredns="v1.14.7", router="v2.1.0", go="1.26.0"
)
DIGEST = "a" * 64
OTHER = "b" * 64


class Site:
    """A web site with the files that a test gives it."""

    def __init__(self, url: str, files: dict[str, bytes]) -> None:
        self.url = url
        self.files = files
        self.cut_off = 0
        """So many bytes less than it promises does the site send of each program."""

    def publish(self, name: str, content: bytes, *, digest: str = "") -> Artifact:
        self.files[f"/{name}"] = content
        self.files[f"/{name}.sha256"] = (digest or hashlib.sha256(content).hexdigest()).encode()
        return Artifact(f"{self.url}/{name}", f"{self.url}/{name}.sha256")


@pytest.fixture
def site() -> Iterator[Site]:
    files: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = files.get(self.path)
            self.send_response(200 if content is not None else 404)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            kept = len(content or b"") - (0 if self.path.endswith(".sha256") else made.cut_off)
            self.wfile.write((content or b"")[:kept])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        made = Site(f"http://127.0.0.1:{server.server_port}", files)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


def fetch(artifacts: dict[str, Artifact], output: Path) -> dict[str, str]:
    return download.fetch(artifacts, artifacts, output, progress=Silent(), timeout=5)


def archive(name: str, content: bytes) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as packed:
        for path, text in {"folder/README": b"read me", name: content}.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text)
            packed.addfile(entry, io.BytesIO(text))
    return data.getvalue()


def test_a_program_arrives_whole_and_can_be_run(site: Site, tmp_path: Path) -> None:
    assert fetch({"kubectl": site.publish("kubectl", b"#!/bin/sh\n")}, tmp_path) == {}
    assert (tmp_path / "kubectl").read_bytes() == b"#!/bin/sh\n"
    assert (tmp_path / "kubectl").stat().st_mode & 0o777 == 0o755


def test_a_program_is_taken_out_of_its_archive(site: Site, tmp_path: Path) -> None:
    published = site.publish("helm.tar.gz", archive("../../linux/helm", b"helm"))
    assert fetch({"helm": Artifact(published.url, published.digest_url, member="helm")}, tmp_path) == {}
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("helm", b"helm")]


def test_a_wrong_digest_is_refused_and_the_others_are_used(site: Site, tmp_path: Path) -> None:
    artifacts = {
        "kubectl": site.publish("kubectl", b"forged", digest=OTHER),
        "kubelet": site.publish("kubelet", b"good"),
    }
    failures = fetch(artifacts, tmp_path)
    assert list(failures) == ["kubectl"]
    assert f"{OTHER} is published; not used" in failures["kubectl"]
    assert [path.name for path in tmp_path.iterdir()] == ["kubelet"]


def test_a_connection_that_is_cut_is_no_wrong_digest(site: Site, tmp_path: Path) -> None:
    artifact = site.publish("kubectl", b"0123456789")
    site.cut_off = 4
    assert fetch({"kubectl": artifact}, tmp_path) == {"kubectl": f"{artifact.url} was cut off after 6 of 10 bytes"}


def test_a_full_disk_is_not_the_network_s_fault(site: Site) -> None:
    artifact = site.publish("kubectl", b"kubectl")
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(OSError, match="No space left on device"):
        download._copy(artifact.url, full, download._Arrived(Silent()), 5)


@pytest.mark.parametrize(
    ("artifact", "words"),
    [
        pytest.param(Artifact("{url}/kubectl", "{url}/nothing"), "nothing answered 404 Not Found", id="no-digest-file"),
        pytest.param(Artifact("{url}/nothing", "{url}/kubectl.sha256"), "nothing answered 404", id="no-program"),
        pytest.param(
            Artifact("{url}/kubectl", "{url}/kubectl"), "has no digest of kubectl", id="no-digest-in-the-file"
        ),
        pytest.param(
            Artifact("{url}/kubectl", "{url}/kubectl.sha256", member="helm"),
            "could not be unpacked",
            id="no-archive",
        ),
        pytest.param(
            Artifact("{url}/kubectl", "https://releases.invalid/kubectl.sha256"),
            "releases.invalid could not be reached",
            id="no-such-host",
        ),
        pytest.param(
            Artifact("{url}/kubectl", "http://127.0.0.1:1/kubectl.sha256"),
            "127.0.0.1 could not be reached: .*refused",
            id="nobody-listens",
        ),
    ],
)
def test_what_cannot_be_had_has_a_reason(site: Site, tmp_path: Path, artifact: Artifact, words: str) -> None:
    site.publish("kubectl", b"kubectl")
    given = Artifact(
        artifact.url.format(url=site.url), artifact.digest_url.format(url=site.url), member=artifact.member
    )
    failures = fetch({"kubectl": given}, tmp_path)
    with pytest.raises(RuntimeError, match=words):
        raise RuntimeError(failures["kubectl"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(DIGEST, DIGEST, id="alone"),
        pytest.param(f"{DIGEST.upper()}\n", DIGEST, id="in-capitals"),
        pytest.param(f"{DIGEST}  helm.tar.gz\n", DIGEST, id="with-its-name"),
        pytest.param(f"{OTHER}  other.tar.gz\n{DIGEST} *release/helm.tar.gz\n", DIGEST, id="in-a-list"),
        pytest.param(f"{OTHER}  other.tar.gz\n", None, id="of-another-file"),
        pytest.param("<html>not found</html>", None, id="no-digest-at-all"),
        pytest.param(DIGEST[:-1], None, id="too-short"),
    ],
)
def test_a_digest_is_found_as_projects_publish_it(text: str, expected: str | None) -> None:
    assert download.digest_in(text, "helm.tar.gz") == expected


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_every_program_has_an_official_release_for_every_machine(architecture: str) -> None:
    artifacts = download.official(VERSIONS, architecture)
    assert set(artifacts) == set(ALL)
    other = {"amd64": "arm64", "arm64": "amd64"}[architecture]
    for name, artifact in artifacts.items():
        assert artifact.url.startswith("https://")
        assert architecture in artifact.url
        assert other not in artifact.url
        assert VERSIONS.of(ALL[name].component).removeprefix("v") in artifact.url
