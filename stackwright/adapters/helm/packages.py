"""Users' packaged charts: pulled from a registry by the real helm, or passed in; kept unpacked by their digest."""

import asyncio
import errno
import fcntl
import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import weakref
import zlib
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from stackwright import tasks
from stackwright.adapters.errors import AdapterError, Refused, Rejected, Unavailable
from stackwright.adapters.helm import programs, schemas

# Larger than any chart, and small enough for our memory: a small package may be huge when it is unpacked.
UNPACKED = 8 * 2**20
FILES = 2000
# How long a registry may take (less than a reconcile), and how long it then has to recover.
BOUNDS = programs.Bounds(memory=128 * 2**20, seconds=45.0)
AGAIN_SECONDS = 30.0
# How many charts are kept: more than a cloud has services.
KEPT = 64
# How many bytes they take, in whole pages: what keeps the files of our pod has room for 16 MiB.
ROOM = 12 * 2**20
_PAGE = 4096
# What a process leaves that is killed, and what is not a chart among those that are kept.
_PREFIX, _MAKING, _PULLING = "stackwright-charts-", "making-", "pulling-"
# Anybody who may write beside our folders can give a link or a pipe such a name: a pipe would be waited for.
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
TOO_LARGE = f"the chart is too large: more than {UNPACKED >> 20} MiB or {FILES} files unpacked"
# What helm needs to know to reach the network; it gets nothing else of our environment.
_WAY_OUT = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)


class Packages:
    """Keeps charts of users, each in a folder that never changes.

    They are kept as long as this process lives, and fetched again by the next.
    """

    def __init__(self, program: Path | None = None) -> None:
        self.pulls = 0
        """How often helm was started to pull."""
        # One at a time: a registry that hangs holds up no render, and uses only its own memory.
        self._helm = programs.Helm(program, BOUNDS)
        self._kept: Path | None = None
        self._running = tasks.Shared[str, Path]()
        # One chart at a time is in memory as a whole, and finds room.
        self._unpacking = asyncio.Semaphore(1)

    async def unpacked(self, package: bytes) -> Path:
        """Return the folder of a packaged chart; raise Rejected if it is not a chart."""
        return await self._once(_digest(package), lambda place: self._unpack(package, place))

    async def pulled(self, reference: str, *, credentials: str = "", plain_http: bool = False) -> Path:
        """Return the folder of a chart in a registry, which `reference` names by its digest.

        `credentials` is the text of a Docker configuration. Raises Unavailable where the registry is away, Refused
        where it does not let us have the chart, and Rejected where it has another one under that digest.
        """

        async def pull(place: Path) -> Path:
            package = await self._pull(reference, credentials, plain_http=plain_http)
            return await self._unpack(package, place)

        # A user who may not read a chart does not get it only because another user may.
        return await self._once(_digest(f"{reference} {plain_http} {credentials}".encode()), pull)

    async def _once(self, name: str, make: Callable[[Path], Coroutine[Any, Any, Path]]) -> Path:
        try:
            place = self._folder() / name
            with suppress(FileNotFoundError):
                os.utime(place)
                return _top(place)
            return await self._running.once(name, lambda: make(place))
        except OSError as error:
            raise Unavailable(f"there is no space to unpack the chart: {error.strerror}") from error

    async def _unpack(self, package: bytes, place: Path) -> Path:
        async with self._unpacking:
            # A thread goes on when its task is cancelled: the next one would begin beside it.
            return await tasks.to_the_end(asyncio.to_thread(_unpack, package, place))

    def _folder(self) -> Path:
        if self._kept is None:
            sweep(Path(tempfile.gettempdir()))
            self._kept, lock = _make_folder()
            weakref.finalize(self, _remove, self._kept, lock)
        return self._kept

    async def _pull(self, reference: str, credentials: str, *, plain_http: bool) -> bytes:
        self.pulls += 1
        with tempfile.TemporaryDirectory(prefix=_PULLING, dir=self._folder()) as folder:
            place = Path(folder)
            login = place / "login.json"
            login.touch(mode=0o600)
            login.write_text(credentials or "{}", encoding="utf-8")
            words = ["pull", reference, "--destination", str(place), "--registry-config", str(login)]
            words += ["--plain-http"] if plain_http else []
            environment = {"HOME": folder, **_way_out(os.environ)}
            done = await self._helm.run(words, environment)
            if done.late:
                message = f"{_host(reference)} did not deliver {reference} within {done.exceeded}"
                raise Unavailable(message, after=AGAIN_SECONDS)
            if done.exceeded:
                raise Rejected(f"{reference} takes more than {done.exceeded} to pull; make the chart smaller")
            if done.code:
                raise refusal(reference, programs.complaint_of(done.complaint))
            found = await asyncio.to_thread(lambda: [path.read_bytes() for path in place.glob("*.tgz")])
            if len(found) != 1:
                raise Rejected(f"{reference} is not a chart: helm found no chart in it")
            return found[0]


def refusal(reference: str, complaint: str) -> AdapterError:
    """Return what helm's complaint about a pull means. Pure."""
    host = _host(reference)
    said = complaint.rpartition(f'{reference.rpartition("@")[2]}": ')[2] or complaint
    if "mismatch" in complaint:
        return Rejected(f"{host} has different content for the digest of {reference}: {said}; check who changed it")
    if "HTTP response to HTTPS client" in complaint:
        return Rejected(f"{host} does not use TLS; set spec.chart.plainHTTP: true if that is intended")
    if complaint.endswith(": not found"):
        return Refused(f"{host} has no {reference.removeprefix('oci://')}; push the chart, or name another digest")
    if any(word in complaint for word in ("credential", "status code 401", "status code 403", "denied")):
        return Refused(f"{host} refuses to deliver {reference}: {said}; name a Secret with a login in pullSecret")
    if "mediatype" in complaint.lower() or "manifest does not contain" in complaint:
        return Rejected(f"{reference} is not a chart: {said}")
    return Unavailable(f"{host} does not deliver {reference}: {said}")


def _host(reference: str) -> str:
    return reference.removeprefix("oci://").partition("/")[0]


def _way_out(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[name] for name in _WAY_OUT if name in environment}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _top(place: Path) -> Path:
    for found in place.iterdir():
        return found
    # It is just being removed.
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place))


@contextmanager
def staying(chart: Path) -> Iterator[None]:
    """Raise Unavailable if the folder of a user's chart was removed to make room while it was read.

    Then nothing that was read of it counts: neither a complaint, nor a result, because files may be missing in it.
    """
    # Only folders of `Packages` go while this program runs.
    if len(chart.parents) < 2 or not chart.parents[1].name.startswith(_PREFIX):
        yield
        return
    before = _identify(chart)
    rejected: Rejected | None = None
    try:
        yield
    except Rejected as error:
        rejected = error
    if before is None or before != _identify(chart):
        message = f"chart {chart.name} was removed to make room for others; it is unpacked again"
        raise Unavailable(message) from rejected
    if rejected is not None:
        raise rejected


def _identify(chart: Path) -> tuple[int, int, int] | None:
    """Return what differs between a folder and another one that took its place; None if there is none."""
    try:
        found = chart.stat()
    except OSError:
        return None
    # The number of a folder that was removed may be used again.
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _make_folder() -> tuple[Path, int]:
    """Return a new folder, and a lock on it by which others know that its process lives."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = os.open(folder, _FOLDER)
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder.exists():
                return folder, lock
        # Another process has just taken it for one that was left, and removes it.
        os.close(lock)


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def sweep(temporary: Path) -> None:
    """Remove the folders of processes that were killed; a pod's temporary files outlive its containers."""
    for folder in temporary.glob(f"{_PREFIX}*"):
        # It may belong to somebody else.
        with suppress(OSError):
            lock = os.open(folder, _FOLDER)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _make_room(folder: Path, size: int) -> None:
    """Remove the charts that were unused for the longest, until there is room for another."""
    sizes = {path: _measure(path) for path in folder.iterdir()}
    kept = [path for path in sizes if not path.name.startswith((_MAKING, _PULLING))]
    kept.sort(key=_last_used)
    while kept and (len(kept) >= KEPT or sum(sizes.values()) + size > ROOM):
        _evict(kept[0])
        del sizes[kept.pop(0)]


def _measure(folder: Path) -> int:
    """Return how much room a folder takes; what is pulled may be removed meanwhile."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += _pages(Path(place, name).lstat().st_size)
    return size


def _last_used(place: Path) -> float:
    try:
        return place.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _evict(place: Path) -> None:
    """Remove a chart that is kept; it goes at once, so that nobody who reads it takes a part for the whole."""
    going = place.with_name(f"{_MAKING}{place.name}")
    with suppress(FileNotFoundError):
        place.rename(going)
    shutil.rmtree(going, ignore_errors=True)


def _size(content: bytes) -> int:
    return _pages(len(content))


def _pages(size: int) -> int:
    """Return how much a file takes in memory."""
    return -(-size // _PAGE) * _PAGE


def _unpack(package: bytes, place: Path) -> Path:
    """Unpack a chart into a folder that exists completely or not at all; return the chart's own folder in it."""
    files = _files(package)
    if len({path.parts[0] for path in files}) != 1 or not any(path.parts[1:] == ("Chart.yaml",) for path in files):
        raise Rejected(
            "the package is not a chart: it needs one folder with a Chart.yaml in it, as `helm package` makes it"
        )
    _make_room(place.parent, sum(map(_size, files.values())))
    making = Path(tempfile.mkdtemp(prefix=_MAKING, dir=place.parent))
    try:
        for path, content in files.items():
            _write(making / path, path, content)
        # Another process may have been faster, with the same content.
        with suppress(OSError):
            making.rename(place)
        return _top(place)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _write(target: Path, path: PurePosixPath, content: bytes) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise Unavailable(f"there is no space to unpack the chart: {error.strerror}") from error
        raise Rejected(f"the package is not a chart: {str(path)[:100]!r} cannot be the name of a file in it") from error


def _files(package: bytes) -> dict[PurePosixPath, bytes]:
    """Return the files of a package by their names; only plain files within it are accepted."""
    found: dict[PurePosixPath, bytes] = {}
    left = UNPACKED
    try:
        with tarfile.open(fileobj=io.BytesIO(_decompressed(package)), mode="r:") as archive:
            for number, member in enumerate(archive):
                if number >= FILES:
                    raise Rejected(TOO_LARGE)
                path = PurePosixPath(member.name)
                if member.isdir():
                    continue
                _check_member(member, path)
                left -= _pages(member.size)
                if left < 0:
                    raise Rejected(TOO_LARGE)
                file = archive.extractfile(member)
                found[path] = file.read() if file is not None else b""
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, OSError, ValueError) as error:
        raise Rejected(
            "the package is not a chart: it is not a gzipped tar archive, as `helm package` makes it"
        ) from error
    if not found:
        raise Rejected("the package is not a chart: there is nothing in it")
    for path, content in found.items():
        if path.name == "values.schema.json":
            _check_schema(path, content)
    return found


def _check_member(member: tarfile.TarInfo, path: PurePosixPath) -> None:
    # A sparse file has the length that it states, and holds nothing.
    plain = member.isfile() and not member.issparse()
    if not plain or path.is_absolute() or ".." in path.parts or len(path.parts) < 2:
        raise Rejected(f"the package is not a chart: {member.name[:100]} is not a plain file in its folder")
    # Helm opens a package in a package, whose files nobody would have looked at.
    if path.suffix == ".tgz" and path.parent.name == "charts":
        raise Rejected(f"{member.name[:100]} is a packed chart; put its folder there instead")


def _check_schema(path: PurePosixPath, content: bytes) -> None:
    try:
        reference = schemas.outside(content)
    except Rejected as error:
        raise Rejected(f"{path} is not accepted: {error}") from error
    if reference:
        raise Rejected(
            f"{path} refers to {reference[:100]!r}, which is not in it; a schema may refer only to itself (#/…)"
        )


def _decompressed(package: bytes) -> bytes:
    """Return the archive in a package; nothing in it is read before its whole length is known to be acceptable."""
    # The archive has a header of half a KiB for each file, and is filled up with as much.
    most = UNPACKED + FILES * 1024 + 2**16
    with gzip.GzipFile(fileobj=io.BytesIO(package)) as archive:
        content = archive.read(most + 1)
    if len(content) > most:
        raise Rejected(TOO_LARGE)
    return content
