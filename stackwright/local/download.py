"""Fetches the programs of the official releases, each checked against the digest that its project publishes."""

import concurrent.futures
import hashlib
import http.client
import re
import shutil
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from stackwright.local.errors import DownloadFailed
from stackwright.local.progress import Progress, duration
from stackwright.local.versions import Versions

# Long enough for a slow line, short enough that a machine without one goes on to the next place.
TIMEOUT = 10.0
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Artifact:
    """A published file: where it is, where its digest is, and which file of an archive is the program."""

    url: str
    digest_url: str
    member: str = ""


def official(versions: Versions, architecture: str) -> dict[str, Artifact]:
    """Return where each program is published for that architecture."""
    kubernetes = f"https://dl.k8s.io/release/{versions.kubernetes}/bin/linux/{architecture}"
    plain = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl")
    found = {name: Artifact(f"{kubernetes}/{name}", f"{kubernetes}/{name}.sha256") for name in plain}
    helm = f"https://get.helm.sh/helm-{versions.helm}-linux-{architecture}.tar.gz"
    found["helm"] = Artifact(helm, f"{helm}.sha256sum", member="helm")
    etcd = f"https://github.com/etcd-io/etcd/releases/download/{versions.etcd}"
    archive = f"{etcd}/etcd-{versions.etcd}-linux-{architecture}.tar.gz"
    found["etcd"] = Artifact(archive, f"{etcd}/SHA256SUMS", member="etcd")
    number = versions.coredns.removeprefix("v")
    coredns = (
        "https://github.com/coredns/coredns/releases/download/"
        f"{versions.coredns}/coredns_{number}_linux_{architecture}.tgz"
    )
    found["coredns"] = Artifact(coredns, f"{coredns}.sha256", member="coredns")
    router = (
        f"https://github.com/cloudnativelabs/kube-router/releases/download/{versions.router}/"
        f"kube-router_{versions.router.removeprefix('v')}"
    )
    archive = f"{router}_linux_{architecture}.tar.gz"
    found["kube-router"] = Artifact(archive, f"{router}_checksums.txt", member="kube-router")
    return found


def fetch(
    artifacts: Mapping[str, Artifact],
    names: Iterable[str],
    output: Path,
    *,
    progress: Progress,
    timeout: float = TIMEOUT,
) -> dict[str, str]:
    """Leave those of the programs that can be had in the folder `output`; return why each of the others cannot."""
    wanted = [name for name in names if name in artifacts]
    arrived = _Arrived(progress)
    failures: dict[str, str] = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        jobs = {pool.submit(_program, artifacts[name], output / name, arrived, timeout): name for name in wanted}
        try:
            pending = set(jobs)
            while pending:
                done, pending = concurrent.futures.wait(pending, timeout=0.5)
                arrived.tell()
                failures |= {jobs[job]: str(job.exception()) for job in done if _failed(job)}
        except BaseException:
            arrived.cancelled.set()
            raise
    return failures


def _failed(job: "concurrent.futures.Future[None]") -> bool:
    error = job.exception()
    if error is not None and not isinstance(error, DownloadFailed):
        raise error
    return error is not None


class _Arrived:
    """How many bytes of how many have come, over all the downloads at once."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self.cancelled = threading.Event()
        self._progress = progress
        self._clock = clock
        self._begin = clock()
        self._lock = threading.Lock()
        self._total = 0
        self._done = 0

    def expect(self, size: int) -> None:
        with self._lock:
            self._total += size

    def add(self, size: int) -> None:
        if self.cancelled.is_set():
            raise DownloadFailed("interrupted")
        with self._lock:
            self._done += size

    def tell(self) -> None:
        with self._lock:
            done, total = self._done / 1e6, self._total / 1e6
        if total:
            elapsed = duration(self._clock() - self._begin)
            self._progress.update(f"Fetched {done:,.0f} of {total:,.0f} MB of official releases, {elapsed} so far")


def _program(artifact: Artifact, path: Path, arrived: _Arrived, timeout: float) -> None:
    """Fetch one program; the file gets its name only when its digest was right."""
    name = artifact.url.rpartition("/")[2]
    published = digest_in(_text(artifact.digest_url, timeout), name)
    if published is None:
        raise DownloadFailed(f"{artifact.digest_url} has no digest of {name}")
    # A file without a name until its digest is known to be right: nothing unchecked can ever be kept.
    with tempfile.TemporaryFile(dir=path.parent) as content:
        actual = _copy(artifact.url, content, arrived, timeout)
        if actual != published:
            raise DownloadFailed(f"{artifact.url} has the digest {actual}, but {published} is published; not used")
        content.seek(0)
        try:
            _write(content, artifact, path)
        except tarfile.TarError as error:
            path.unlink(missing_ok=True)
            raise DownloadFailed(f"{artifact.url} could not be unpacked: {error}") from error
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _write(content: IO[bytes], artifact: Artifact, path: Path) -> None:
    with path.open("wb") as program:
        if not artifact.member:
            shutil.copyfileobj(content, program)
        else:
            _extract(content, artifact, program)
    path.chmod(0o755)


def _extract(content: IO[bytes], artifact: Artifact, program: IO[bytes]) -> None:
    """Copy the one file of an archive that is the program; paths in the archive are never written to."""
    with tarfile.open(fileobj=content) as archive:
        for entry in archive:
            source = archive.extractfile(entry) if entry.name.rpartition("/")[2] == artifact.member else None
            if source is not None:
                shutil.copyfileobj(source, program)
                return
    raise DownloadFailed(f"{artifact.url} has no {artifact.member} in it")


def _copy(url: str, target: IO[bytes], arrived: _Arrived, timeout: float) -> str:
    """Copy what is published at an address, and return its digest."""
    digest, came = hashlib.sha256(), 0
    with _opened(url, timeout) as answer:
        size = int(answer.headers.get("Content-Length") or 0)
        arrived.expect(size)
        while chunk := _read(url, answer):
            came += len(chunk)
            arrived.add(len(chunk))
            digest.update(chunk)
            # What goes wrong here is of this machine, and not of theirs.
            target.write(chunk)
    # The library takes a connection that was cut for the end.
    if came < size:
        raise DownloadFailed(f"{url} was cut off after {came:,} of {size:,} bytes")
    return digest.hexdigest()


def _text(url: str, timeout: float) -> str:
    with _opened(url, timeout) as answer:
        return _read(url, answer).decode(errors="replace")


def _opened(url: str, timeout: float) -> http.client.HTTPResponse:
    try:
        return _open(url, timeout)
    except (http.client.HTTPException, OSError) as error:
        raise _refusal(url, error) from error


def _read(url: str, answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read(_CHUNK)
    except (http.client.HTTPException, OSError) as error:
        raise _refusal(url, error) from error


def _open(url: str, timeout: float) -> http.client.HTTPResponse:
    request = urllib.request.Request(url, headers={"User-Agent": "stackwright"})  # noqa: S310  addresses of ours
    answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=timeout)  # noqa: S310  the same
    return answer


def _refusal(url: str, error: Exception) -> DownloadFailed:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return DownloadFailed(f"{url} answered {error.code} {error.reason}")
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return DownloadFailed(f"{urllib.parse.urlsplit(url).hostname} could not be reached: {reason}")


def digest_in(text: str, name: str) -> str | None:
    """Return the SHA-256 digest of a file as its project publishes it: alone, or in a list of digests and names."""
    for line in text.splitlines():
        words = line.split()
        if words and re.fullmatch(r"[0-9a-fA-F]{64}", words[0]):
            named = [word.lstrip("*").rpartition("/")[2] for word in words[1:]]
            if not named or name in named:
                return words[0].lower()
    return None
