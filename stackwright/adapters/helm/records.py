"""Release records: what helm keeps of each revision of a release, as Secrets of the release's namespace. Pure."""

import base64
import gzip
import hashlib
import io
import json
import zlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm.manifests import JsonObject
from stackwright.adapters.helm.measures import count_marks
from stackwright.adapters.helm.rendering import Rendered

TYPE = "helm.sh/release.v1"
# The key of the Secret's data.
KEY = "release"
# How long an unpacked record may be; anybody who may write Secrets can write one.
LONGEST = 16 * 2**20
# How long one may be that is read in each pass, among all others of its release. Ours have some 100 KB; what helm may
# print for a chart of a user is 2 MiB, and the chart comes on top.
LONGEST_READ = 4 * 2**20
# How many commas, colons and brackets a record may have that is read as a whole: each may become a value, which takes
# some 100 bytes of memory. Ours have some thousands.
MOST_VALUES = 2**18
# Of every other text a record says at most so much.
_LONGEST_WORD = 1000

DEPLOYED = "deployed"
SUPERSEDED = "superseded"
UNINSTALLED = "uninstalled"
# While a revision has one of these states, a helm process is working on it, or was killed while doing so.
BUSY = ("pending-install", "pending-upgrade", "pending-rollback", "uninstalling")

_NO_RECORD = "what the Secret holds is not a record of a Helm release"
_GZIP = b"\x1f\x8b\x08"


@dataclass(frozen=True)
class Record:
    """One revision's record. `body` is everything that helm wrote, so that fields that we do not know are kept."""

    body: JsonObject

    @property
    def version(self) -> int:
        """The number of the revision."""
        return int(self.body["version"])

    @property
    def status(self) -> str:
        """The state of the revision: deployed, superseded, failed and so on."""
        return str(self._info.get("status", ""))

    @property
    def description(self) -> str:
        """What `helm history` shows for the revision."""
        return str(self._info.get("description", ""))

    @property
    def first_deployed(self) -> str:
        """When the release was installed."""
        return str(self._info.get("first_deployed", ""))

    @property
    def manifest(self) -> str:
        """What was rendered."""
        return str(self.body.get("manifest", ""))

    @property
    def values(self) -> JsonObject:
        """The user's values."""
        return self.body.get("config") or {}

    @property
    def chart(self) -> JsonObject:
        """The chart that it was rendered from."""
        return self.body.get("chart") or {}

    @property
    def _info(self) -> JsonObject:
        return self.body.get("info") or {}

    def become(self, status: str) -> "Record":
        """Return the record with another status."""
        return Record({**self.body, "info": {**self._info, "status": status}})


class _Info(msgspec.Struct, frozen=True):
    description: str = ""
    first_deployed: str = ""


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    version: str = ""


class _Chart(msgspec.Struct, frozen=True):
    metadata: _Metadata | None = None


class _Content(msgspec.Struct, frozen=True):
    """What is read of a record in each pass; the rest of it is skipped, and takes no memory."""

    version: int
    info: _Info | None = None
    chart: _Chart | None = None
    manifest: str | None = None
    config: msgspec.Raw = msgspec.Raw(b"null")


_reader = msgspec.json.Decoder(_Content)


@dataclass(frozen=True)
class Excerpt:
    """What a record says, without what may be long."""

    description: str
    first_deployed: str
    chart: tuple[str, str]
    digest: str


def read(data: str) -> tuple[Excerpt, str]:
    """Return what the value of a Secret's `data` says, and the manifest in it; raise Rejected if it is no record.

    Anybody who may write Secrets can write one, with millions of values in it: those are not read, nor are long ones.
    """
    try:
        content = _reader.decode(_unpacked(data, LONGEST_READ))
        _count(bytes(content.config))
        values = msgspec.json.decode(content.config, type=JsonObject | None) or {}
    except (ValueError, OSError, EOFError, zlib.error, RecursionError, msgspec.MsgspecError) as error:
        raise Rejected(_NO_RECORD) from error
    info, manifest = content.info or _Info(), content.manifest or ""
    metadata = (content.chart or _Chart()).metadata or _Metadata()
    texts = (info.description, info.first_deployed, metadata.name, metadata.version)
    description, first, name, version = (text[:_LONGEST_WORD] for text in texts)
    digest = digest_of(manifest, msgspec.json.encode(values, order="deterministic"))
    return Excerpt(description, first, (name, version), digest), manifest


def digest_of(manifest: str, values: bytes) -> str:
    """Return a short name for a manifest and values; the empty lines at the end differ between helm's commands."""
    content = b"[%b,%b]" % (msgspec.json.encode(manifest.strip()), values)
    return hashlib.sha256(content).hexdigest()[:16]


def record_of(
    rendered: Rendered, values: JsonObject, *, version: int, description: str, first_deployed: str, now: datetime
) -> Record:
    """Return the record of a revision that is deployed."""
    moment = now.isoformat().replace("+00:00", "Z")
    info = {
        "first_deployed": first_deployed or moment,
        "last_deployed": moment,
        "description": description,
        "status": DEPLOYED,
    }
    return Record(
        {
            "name": rendered.name,
            "info": info,
            "chart": rendered.chart.record,
            "config": values,
            "manifest": rendered.manifest,
            "version": version,
            "namespace": rendered.namespace,
            "apply_method": "ssa",
        }
    )


def secret_name(name: str, version: int) -> str:
    """Return the name of the Secret that keeps a revision."""
    return f"sh.helm.release.v1.{name}.v{version}"


def labels_of(record: Record, now: datetime) -> dict[str, str]:
    """Return the labels with which helm finds a record."""
    return {
        "owner": "helm",
        "name": str(record.body["name"]),
        "version": str(record.version),
        "status": record.status,
        "modifiedAt": str(int(now.timestamp())),
    }


def encode(record: Record) -> str:
    """Return a record as the value of a Secret's `data`; the same record always gives the same text."""
    # To compress as well as can be takes more than twice as long, for a sixteenth less.
    packed = gzip.compress(json.dumps(record.body, separators=(",", ":")).encode(), 4, mtime=0)
    return base64.b64encode(base64.b64encode(packed)).decode()


def _decompressed(packed: bytes, longest: int) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as archive:
        content = archive.read(longest + 1)
    if len(content) > longest:
        raise ValueError("it is too long for a record")
    return content


def decode(data: str) -> Record:
    """Return the record in the value of a Secret's `data`; raise Rejected if it is not a record."""
    try:
        content = _unpacked(data, LONGEST)
        _count(content)
        body: Any = json.loads(content)
    except (ValueError, OSError, EOFError, zlib.error, RecursionError) as error:
        raise Rejected(_NO_RECORD) from error
    if not isinstance(body, dict) or not isinstance(body.get("version"), int):
        raise Rejected(_NO_RECORD)
    if not isinstance(body.get("info") or {}, dict):
        raise Rejected(_NO_RECORD)
    return Record(body)


def _unpacked(data: str, longest: int) -> bytes:
    packed = base64.b64decode(base64.b64decode(data))
    # Very old helms did not compress.
    return _decompressed(packed, longest) if packed.startswith(_GZIP) else packed


def _count(content: bytes) -> None:
    """Raise ValueError if there may be too many values in a text of JSON."""
    if count_marks(content) > MOST_VALUES:
        raise ValueError("it has too many values for a record")
