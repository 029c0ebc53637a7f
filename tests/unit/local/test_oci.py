"""The writer of images: what is in an archive, and that the same files make the same archive."""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from stackwright.local import oci


def image(content: bytes | Path = b"#!/bin/sh\n") -> oci.Image:
    return oci.Image(
        name="stackwright.local/tool:1",
        entries=(oci.Link("/bin/alias", "tool"), oci.File("/bin/tool", content), oci.Folder("/tmp", 0o1777)),
        entrypoint=("/bin/tool",),
        command=("--help",),
        user="65532",
        environment={"PATH": "/bin"},
    )


@pytest.fixture
def written(tmp_path: Path) -> dict[str, bytes]:
    archive = tmp_path / "made" / "tool.tar"
    oci.write(image(), archive, architecture="arm64")
    assert [path.name for path in archive.parent.iterdir()] == ["tool.tar"]
    with tarfile.open(archive) as source:
        members = {member.name: source.extractfile(member) for member in source}
        return {name: member.read() for name, member in members.items() if member}


def blob(written: dict[str, bytes], described: dict[str, Any]) -> bytes:
    """Return what a descriptor speaks of, after checking that it speaks the truth."""
    algorithm, _, digest = described["digest"].partition(":")
    content = written[f"blobs/{algorithm}/{digest}"]
    assert hashlib.sha256(content).hexdigest() == digest
    assert len(content) == described["size"]
    return content


def test_every_descriptor_speaks_the_truth(written: dict[str, bytes]) -> None:
    assert json.loads(written["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    [described] = json.loads(written["index.json"])["manifests"]
    assert described["annotations"]["io.containerd.image.name"] == "stackwright.local/tool:1"
    assert described["platform"] == {"architecture": "arm64", "os": "linux"}
    manifest = json.loads(blob(written, described))
    config = json.loads(blob(written, manifest["config"]))
    [layer] = manifest["layers"]
    blob(written, layer)
    assert config["architecture"] == "arm64"
    assert config["rootfs"]["diff_ids"] == [layer["digest"]]
    assert config["config"] == {
        "Entrypoint": ["/bin/tool"],
        "Cmd": ["--help"],
        "User": "65532",
        "Env": ["PATH=/bin"],
    }


def test_the_layer_has_the_files_in_order_with_their_folders(written: dict[str, bytes]) -> None:
    manifest = json.loads(blob(written, json.loads(written["index.json"])["manifests"][0]))
    with tarfile.open(fileobj=io.BytesIO(blob(written, manifest["layers"][0]))) as layer:
        found = [(member.name, member.type, oct(member.mode), member.mtime, member.linkname) for member in layer]
        tool = layer.extractfile("bin/tool")
        assert tool is not None
        assert tool.read() == b"#!/bin/sh\n"
    assert found == [
        ("bin", tarfile.DIRTYPE, "0o755", 0, ""),
        ("bin/alias", tarfile.SYMTYPE, "0o777", 0, "tool"),
        ("bin/tool", tarfile.REGTYPE, "0o755", 0, ""),
        ("tmp", tarfile.DIRTYPE, "0o1777", 0, ""),
    ]


def test_the_same_files_make_the_same_archive(tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.write_bytes(b"#!/bin/sh\n")
    oci.write(image(), tmp_path / "one.tar", architecture="amd64")
    oci.write(image(content), tmp_path / "two.tar", architecture="amd64")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
