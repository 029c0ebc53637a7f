"""Compiles the programs from our Go module: one `go build` for all that is missing, so that they share the work."""

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stackwright.local import process
from stackwright.local.errors import BuildFailed
from stackwright.local.programs import Program
from stackwright.local.progress import Progress, duration, share
from stackwright.local.toolchain import Toolchain
from stackwright.local.versions import Versions

# Those of Kubernetes' own release build, and one that keeps gRPC's tracing pages out.
TAGS = "selinux,notest,grpcnotrace"
_FLAGS = ("-trimpath", "-buildvcs=false", "-tags", TAGS)


def link_flags(versions: Versions) -> str:
    """Return the linker's flags that make each program tell its true version.

    The commit and the date of a release are not known in a build from a module, so they are left empty rather than
    invented. etcd's version is a constant of its module and needs none.
    """
    major, minor, _ = versions.kubernetes.removeprefix("v").split(".", 2)
    stamps = {
        f"{package}.{name}": value
        for package in ("k8s.io/client-go/pkg/version", "k8s.io/component-base/version")
        for name, value in (
            ("gitVersion", versions.kubernetes),
            ("gitMajor", major),
            ("gitMinor", minor),
            ("gitCommit", ""),
        )
    }
    stamps["helm.sh/helm/v4/internal/version.version"] = versions.helm
    stamps["github.com/coredns/coredns/coremain.gitTag"] = versions.coredns
    stamps["github.com/cloudnativelabs/kube-router/v2/pkg/version.Version"] = versions.router
    return " ".join(["-s -w", *(f"-X {name}={value}" for name, value in stamps.items())])


@dataclass(frozen=True)
class Module:
    """A Go module, and the options of the linker."""

    directory: Path
    link_flags: str = "-s -w"


def build(
    module: Module, programs: Iterable[Program], output: Path, *, toolchain: Toolchain, compiling: "Compiling"
) -> None:
    """Leave the programs in the folder `output`; a program that shares a binary is a link to it."""
    programs = list(programs)
    packages = sorted({program.package for program in programs})
    compiling.fresh(_stale_packages(module, packages, toolchain, compiling))
    command: list[str | Path] = [toolchain.go, "build", "-v", *_FLAGS]
    command += ["-ldflags", module.link_flags, "-o", f"{output}/", *(f"./{package}" for package in packages)]
    _run(command, module, compiling)
    for program in programs:
        if program.name != program.package:
            (output / program.name).symlink_to(program.package)


def environment(architecture: str, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the compiler's environment: the user's, without what would change what is built."""
    # Go keeps its own cache at home, and systemd for one tells its services of none.
    given = {"HOME": str(Path.home())} | dict(os.environ if inherited is None else inherited)
    return given | {
        "GOTOOLCHAIN": "local",  # never fetch another compiler
        "CGO_ENABLED": "0",
        "GOOS": "linux",
        "GOARCH": architecture,
        "GOWORK": "off",
        "GOFLAGS": "-mod=readonly",  # in place of the user's own
    }


class Compiling:
    """What a run of the compiler is told from, and tells: modules fetched, packages compiled of those to compile."""

    def __init__(self, progress: Progress, architecture: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.environment = environment(architecture)
        self._progress = progress
        self._clock = clock
        self._begin = clock()
        self._work = Work()
        self._fetched = 0
        self.messages: list[str] = []

    def fresh(self, work: "Work") -> None:
        """Begin to count; `work` is what there is to compile."""
        self._work = work
        self._begin = self._clock()
        before = f"; {work.total - len(work.waiting):,} were compiled before" if work.total > len(work.waiting) else ""
        self._progress.say(f"Compiling {len(work.waiting):,} of {work.total:,} Go packages{before}.")

    def line(self, line: str) -> None:
        """Take one line of the compiler's standard error."""
        if line in self._work.waiting:
            self._work.done.add(line)
        elif line.startswith("go: downloading "):
            self._fetched += 1
        else:
            self.messages.append(line)

    def tick(self) -> None:
        """Tell how far we are."""
        self._progress.update(self.state())

    def state(self) -> str:
        """Return how far we are, in a line."""
        elapsed = self._clock() - self._begin
        if not self._work.total:
            fetched = f"{self._fetched} Go modules fetched, " if self._fetched else ""
            return f"Looking at what there is to compile: {fetched}{duration(elapsed)} so far"
        done, total = len(self._work.done), len(self._work.waiting)
        if done >= total:
            return f"Linking, {duration(elapsed)} so far"
        return f"Compiled packages: {share(done, total, elapsed)}"


@dataclass
class Work:
    """The packages of a build: how many in all, which of them are to be compiled, and which are."""

    total: int = 0
    waiting: frozenset[str] = frozenset()
    done: set[str] = field(default_factory=set)


def _stale_packages(module: Module, packages: Sequence[str], toolchain: Toolchain, compiling: Compiling) -> Work:
    """Ask Go which packages there are, and which of them its own cache does not have."""
    # Go says of a cached package that nobody installed that it is stale, and gives this as the reason.
    template = '{{.ImportPath}} {{and .Stale (ne .StaleReason "not installed but available in build cache")}}'
    command: list[str | Path] = [toolchain.go, "list", *_FLAGS, "-deps", "-f", template]
    with tempfile.TemporaryFile() as listed:
        _run([*command, *(f"./{package}" for package in packages)], module, compiling, output=listed.fileno())
        listed.seek(0)
        lines = [line.split() for line in listed.read().decode().splitlines()]
    return Work(total=len(lines), waiting=frozenset(name for name, stale in lines if stale == "true"))


def _run(command: Sequence[str | Path], module: Module, compiling: Compiling, *, output: int | None = None) -> None:
    compiling.messages.clear()
    code = process.stream(
        command,
        directory=module.directory,
        environment=compiling.environment,
        listener=process.Listener(line=compiling.line, tick=compiling.tick),
        output=output,
    )
    if code != 0:
        said = "\n".join(compiling.messages[-12:]) or "it said nothing"
        raise BuildFailed(f"go {command[1]} ended with {code}: {said}")
