"""Finds Kubernetes' programs in the first place that has them, and makes them where no place has.

The order: the folder that the user named, $KUBEBUILDER_ASSETS, our cache, the official releases, a build from our Go
module. A place that has some of them gives those, and the next one is asked for the rest. What is fetched or built is
kept in the cache, so that a second call only looks.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackwright.local import build, cache, download, toolchain, versions
from stackwright.local.download import Artifact
from stackwright.local.errors import LocalError, NoBinaries, PlaceFailed, Tried
from stackwright.local.programs import ALL, Program
from stackwright.local.progress import Progress, Silent

NAMED = "STACKWRIGHT_KUBERNETES_BINARIES"
ASSETS = "KUBEBUILDER_ASSETS"


@dataclass(frozen=True)
class Recipe:
    """What makes the programs: our Go module, the releases of the same versions, and where the results are kept."""

    module: build.Module
    programs: Mapping[str, Program]
    version: str
    architecture: str
    artifacts: Mapping[str, Artifact] = field(default_factory=dict)
    folder: Path = field(default_factory=cache.root)

    def cache(self) -> cache.Cache:
        """Return the cache's entry for exactly this recipe."""
        name = cache.key(
            self.module.directory,
            version=self.version,
            architecture=self.architecture,
            recipe=f"{self.module.link_flags} {build.TAGS}",
        )
        return cache.Cache(self.folder, name)


def recipe() -> Recipe:
    """Return the recipe of the versions that this release runs, on this machine."""
    pinned = versions.pinned()
    architecture = versions.architecture()
    return Recipe(
        module=build.Module(versions.MODULE, build.link_flags(pinned)),
        programs=ALL,
        version=pinned.kubernetes,
        architecture=architecture,
        artifacts=download.official(pinned, architecture),
    )


def find(names: Iterable[str] = tuple(ALL), *, directory: Path | None = None) -> dict[str, Path]:
    """Return those of the programs that are on this machine already; nothing is fetched or built."""
    search = _Search(recipe(), names, Silent())
    search.look(_named(directory))
    return search.found


def ensure(
    names: Iterable[str] = tuple(ALL),
    *,
    directory: Path | None = None,
    progress: Progress | None = None,
    using: Recipe | None = None,
) -> dict[str, Path]:
    """Return where each of the programs is; fetch or build missing ones. Raise NoBinaries if that is not possible."""
    search = _Search(using or recipe(), names, progress or Silent())
    search.look(_named(directory))
    if search.missing:
        try:
            search.make()
        except OSError as error:
            raise LocalError(
                f"{error.filename or search.folder}: {error.strerror}. "
                "Programs are kept there; set XDG_CACHE_HOME to a folder that can be written and has 2 GB free."
            ) from error
    if search.missing:
        raise search.failure()
    return search.found


def version_of(name: str, path: Path) -> str:
    """Return the version that a program says it has, such as v1.36.4, or what went wrong when it was asked."""
    try:
        answer = subprocess.run(  # noqa: S603  the program that we were asked about, and no shell
            [path, *ALL[name].version_arguments], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run: {error}"
    # What stands after a plus sign is about the build, not the version.
    number = re.search(r"\d+\.\d+\.\d+(?:-[\w.]+)?", answer.stdout)
    return f"v{number.group()}" if number else "says no version"


def _named(directory: Path | None) -> list[tuple[str, Path]]:
    """Return the folders that the user named, with how: an argument goes before the environment."""
    named = [("the folder given", str(directory or ""))]
    named += [(f"${variable}", os.environ.get(variable, "")) for variable in (NAMED, ASSETS)]
    return [(title, Path(path).expanduser().absolute()) for title, path in named if path]


class _Search:
    """One search: what was found, what is missing, and what each place answered."""

    def __init__(self, using: Recipe, names: Iterable[str], progress: Progress) -> None:
        self.missing = list(dict.fromkeys(names))
        if unknown := [name for name in self.missing if name not in using.programs]:
            raise ValueError(f"no programs of ours: {', '.join(unknown)}")
        self.found: dict[str, Path] = {}
        self._recipe = using
        self._cache = using.cache()
        self.folder = self._cache.directory
        self._progress = progress
        self._tried: list[Tried] = []

    def look(self, folders: Iterable[tuple[str, Path]]) -> None:
        """Look into the user's folders and the cache."""
        for title, folder in folders:
            self._take(cache.programs_in(folder, self.missing))
            if self.missing:
                lacks = f"has no {', '.join(self.missing)}" if folder.is_dir() else "is not a folder"
                self._tried.append(Tried(f"{title}, {folder}", lacks))
                # Naming a folder is a wish to use it, so going on elsewhere is never done in silence.
                self._progress.say(f"{folder} ({title}) {lacks}; looking elsewhere.")
        self._take(self._cache.find(self.missing))

    def make(self) -> None:
        """Fetch or build what is missing, alone, into the cache."""
        with self._cache.locked(self._progress):
            # Whoever held the lock before us may have made them.
            self._take(self._cache.find(self.missing))
            if self.missing:
                self._tried.append(Tried(f"the cache, {self._cache.directory}", f"has no {', '.join(self.missing)}"))
                self._fetch()
            if self.missing:
                self._build()

    def failure(self) -> NoBinaries:
        """Return the error that says what was tried."""
        go = versions.go_minimum(self._recipe.module.directory)
        advice = (
            f"Name a folder that has them in ${NAMED}, or install Go {go} or newer "
            "where the Go module proxy can be reached, and try again."
        )
        return NoBinaries(self.missing, self._tried, advice)

    def _fetch(self) -> None:
        names = [name for name in self.missing if name in self._recipe.artifacts]
        if not names:
            return
        with self._cache.staging() as staging:
            failures = download.fetch(self._recipe.artifacts, names, staging, progress=self._progress)
            self._cache.keep(staging)
        self._take(self._cache.find(self.missing))
        if failures:
            reason = "; ".join(dict.fromkeys(failures.values()))
            self._tried.append(Tried("the official releases", reason))
            self._progress.say(f"The official releases of {', '.join(failures)} cannot be used: {reason}.")

    def _build(self) -> None:
        using = self._recipe
        module = using.module
        try:
            go = toolchain.find(
                versions.go_minimum(module.directory),
                folder=using.folder,
                architecture=using.architecture,
                progress=self._progress,
            )
            self._progress.say(f"Building {', '.join(self.missing)} for {using.version} with Go {go.version}.")
            with self._cache.staging() as staging:
                compiling = build.Compiling(self._progress, using.architecture)
                programs = [using.programs[name] for name in self.missing]
                build.build(module, programs, staging, toolchain=go, compiling=compiling)
                self._cache.keep(staging)
        except PlaceFailed as error:
            self._tried.append(Tried("a build from the Go module", str(error)))
        self._take(self._cache.find(self.missing))

    def _take(self, found: Mapping[str, Path]) -> None:
        self.found |= found
        self.missing = [name for name in self.missing if name not in self.found]
