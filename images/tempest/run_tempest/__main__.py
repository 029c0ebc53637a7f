"""Tries a cloud: reads what it has, writes tempest.conf, runs Tempest, tells of each test, and removes all it made."""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import yaml

from . import configuration, facts, leftovers, selection
from .api import Cloud, CloudError, Login, login_of
from .configuration import Wanted
from .results import Results

CLOUDS = Path("/etc/openstack")
HIDDEN = "(hidden)"
MOST_WORKERS = 4
# Seconds that a run has to end when it is told to.
ENDING = 20.0
# How much of what went wrong is told, in characters and in sentences.
LONGEST, MOST = 2000, 20


class Ended(BaseException):
    """Somebody wants this to end: what was made is removed first."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return what is asked for."""
    parser = argparse.ArgumentParser(prog="run_tempest", description=__doc__)
    parser.add_argument("--cloud", default="default", help="the entry of clouds.yaml")
    parser.add_argument("--auth-url", default="", help="where Keystone is, if not where clouds.yaml says")
    parser.add_argument("--interface", default="", choices=("", "internal", "public"))
    parser.add_argument("--ca-file", default="")
    parser.add_argument("--select", action="append", metavar="WORD", help="smoke, or a pattern of names; repeatable")
    parser.add_argument("--exclude", default="", metavar="PATTERN")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--external-network", default="")
    parser.add_argument("--no-login", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.OPTION=VALUE")
    parser.add_argument("--list", action="store_true", help="only tell which tests there are")
    return parser.parse_args(arguments)


class Teller:
    """Prints lines, without secrets."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._secrets: tuple[str, ...] = ()

    def hide(self, secret: str) -> None:
        """Let nobody see this from now on."""
        self._secrets = (*self._secrets, *({secret} - {""}))

    def tell(self, **line: Any) -> None:
        """Print a line."""
        self._stream.write(json.dumps(self._without(line)) + "\n")
        self._stream.flush()

    def _without(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, HIDDEN)
            return value
        if isinstance(value, Mapping):
            return {self._without(name): self._without(one) for name, one in value.items()}
        return [self._without(one) for one in value] if isinstance(value, list | tuple) else value


def read_login(asked: argparse.Namespace, folder: Path = CLOUDS) -> Login:
    """Return the administrator's login, as the files say that are mounted here."""
    entry: dict[str, Any] = {}
    for name in ("clouds.yaml", "secure.yaml"):
        if not (folder / name).is_file():
            continue
        content = yaml.safe_load((folder / name).read_text()) or {}
        found = (content.get("clouds") or {}).get(asked.cloud) or {}
        entry = {**entry, **found, "auth": {**entry.get("auth", {}), **(found.get("auth") or {})}}
    return login_of(entry, auth_url=asked.auth_url, interface=asked.interface, ca_file=asked.ca_file)


def list_tests(work: Path) -> list[str]:
    """Return the names of all tests, with their marks."""
    tempest = ["tempest", "run", "--config-file", "tempest.conf", "--list-tests"]
    for words in (["stestr", "init"], tempest):
        done = subprocess.run(words, cwd=work, capture_output=True, text=True, check=False)  # noqa: S603  the image's own
    found = [line for line in done.stdout.splitlines() if line.startswith("tempest.")]
    if not found:
        raise CloudError(f"Tempest does not list its tests: {(done.stderr or done.stdout).strip()[-LONGEST:]}")
    return found


def known_options() -> dict[str, set[str]]:
    """Return the options of tempest.conf by section."""
    from tempest import config  # type: ignore[import-not-found]  # noqa: PLC0415  only where an option is set

    found: dict[str, set[str]] = {}
    for group, options in config.list_opts():
        found.setdefault(str(getattr(group, "name", group) or "DEFAULT"), set()).update(one.dest for one in options)
    return found


def check_settings(settings: Mapping[str, Mapping[str, str]]) -> None:
    """Raise an error for an option that Tempest does not have: it would be ignored."""
    if not settings:
        return
    known = known_options()
    for section, options in settings.items():
        if section not in known:
            raise CloudError(f"tempest.conf has no section {section}; there are {', '.join(sorted(known))}.")
        for option in options:
            if option not in known[section]:
                raise CloudError(f"tempest.conf has no option {section}.{option}.")


def run(work: Path, tests: Sequence[str], workers: int, teller: Teller) -> int:
    """Run tests and tell of each; return of how many nothing was heard."""
    import subunit  # type: ignore[import-not-found]  # noqa: PLC0415  the functions above are tried without it
    from testtools import StreamToDict  # type: ignore[import-not-found]  # noqa: PLC0415  likewise

    (work / "tests").write_text("".join(f"{test}\n" for test in tests))
    words = ["tempest", "run", "--config-file", "tempest.conf", "--load-list", "tests", "--subunit"]
    results = Results(tests)

    def told(event: Mapping[str, Any]) -> None:
        for line in results.lines(event):
            teller.tell(**line)

    with (work / "errors").open("wb") as errors:
        process = subprocess.Popen(  # noqa: S603  the image's own
            [*words, "--concurrency", str(workers)],
            cwd=work,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        try:
            stream = StreamToDict(told)
            stream.startTestRun()
            subunit.ByteStreamToStreamResult(process.stdout, non_subunit_name="said").run(stream)
            # What began and never ended would be told as failed here; that nothing was heard of it says more.
            process.wait()
        finally:
            end(process)
    if results.missing:
        said = (work / "errors").read_text(errors="replace").strip()[-LONGEST:]
        teller.tell(missing=list(results.missing), said=said)
    return len(results.missing)


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a run with all its workers, if it still runs."""
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING)
            return


@contextlib.contextmanager
def clean(cloud: Cloud, teller: Teller) -> Iterator[None]:
    """Remove what an earlier run left, and after the block what this one made."""
    leftovers.remove(cloud)
    spared = leftovers.count(cloud)
    try:
        yield
    finally:
        # Whoever ends this has been heard: a second signal must not leave half of it behind.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        teller.tell(removing=True)
        # The token may have expired since.
        with contextlib.suppress(CloudError):
            cloud.enter()
        removed, troubles = leftovers.remove(cloud, spared)
        teller.tell(removed=removed, troubles=troubles[:MOST])


def try_cloud(asked: argparse.Namespace, teller: Teller, work: Path) -> int:
    """Do all of it; return the exit code."""
    settings = configuration.parse_settings(asked.set)
    check_settings(settings)
    login = read_login(asked)
    teller.hide(login.password)
    cloud = Cloud(login)
    cloud.enter()
    found = facts.read(cloud, asked.external_network)
    wanted = Wanted(login=not asked.no_login, settings=settings)

    def write(made: configuration.Made) -> None:
        path = work / "tempest.conf"
        path.touch(mode=0o600)
        path.write_text(configuration.text(configuration.sections(found, login, made, wanted)))

    # Tests are found by the flags of the file, and before anything is made in the cloud.
    write(configuration.Made())
    known = list_tests(work)
    if asked.list:
        for name in selection.choose(known, asked.select or ["."], asked.exclude):
            teller.tell(name=name)
        return 0
    chosen = selection.leave_out(selection.choose(known, asked.select or [selection.SMOKE], asked.exclude), found)
    teller.tell(notes=configuration.notes(found, wanted))
    teller.tell(selected=len(chosen.tests), leftOut=chosen.left_out)
    if not chosen.tests:
        teller.tell(done={"missing": 0})
        return 0
    with clean(cloud, teller):
        write(leftovers.make(cloud, found))
        missing = run(work, chosen.tests, asked.workers or workers(), teller)
    teller.tell(done={"missing": missing})
    return 0


def workers() -> int:
    """Return how many tests run at once."""
    return max(1, min(MOST_WORKERS, len(os.sched_getaffinity(0))))


def main() -> int:
    """Read the command line, and do it."""
    asked = parse(sys.argv[1:])
    teller = Teller(sys.stdout)

    def ended(_number: int, _frame: object) -> None:
        if threading.current_thread() is threading.main_thread():
            raise Ended

    signal.signal(signal.SIGTERM, ended)
    with tempfile.TemporaryDirectory() as folder:
        try:
            return try_cloud(asked, teller, Path(folder))
        except (CloudError, selection.NothingSelected, ValueError) as error:
            teller.tell(error=str(error))
            return 1
        except Ended:
            teller.tell(ended=True)
            return 143


if __name__ == "__main__":
    sys.exit(main())
