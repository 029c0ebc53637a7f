"""From an empty machine to a Kubernetes that has our images: the first part of what `make up` does.

What takes long is compiling Kubernetes and building the images. Where the machine has room for both they run beside
each other; only the images that carry a program of Kubernetes wait for the compiler.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stackwright.local import binaries, distribution, process, programs
from stackwright.local.cluster import layout, lifecycle
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.distribution import Ask
from stackwright.local.images import archives, building, loading
from stackwright.local.images.archives import Image
from stackwright.local.images.building import Catalogue
from stackwright.local.images.recipes import Recipe
from stackwright.local.progress import Progress

# Measured on two idle cores, in minutes, so that nobody wonders whether it hangs.
COMPILING = 8
BUILDING = 8
# Linking Kubernetes takes 2.7 GB; with less than this, one thing after the other is faster than swapping.
ROOM = 6 * 2**30


@dataclass(frozen=True)
class Missing:
    """What a machine does not have yet."""

    programs: tuple[str, ...]
    images: tuple[str, ...]
    cluster: bool


def announcement(name: str, missing: Missing) -> list[str]:
    """Return what will be done, and about how long that takes on two cores. Pure."""
    lines = [f"To do, for a Kubernetes named {name} on this machine (times are for two cores):"]
    if missing.programs:
        lines.append(f"  - get {len(missing.programs)} programs of Kubernetes: seconds if they can be downloaded, ")
        lines[-1] += f"else about {COMPILING} minutes of compiling, once"
    if missing.images:
        lines.append(f"  - build the missing images ({', '.join(missing.images)}): ")
        lines[-1] += f"about {BUILDING} minutes for all of them, seconds for one that changed a little"
    if missing.cluster:
        lines.append("  - start etcd, the Kubernetes servers and a node: about half a minute")
    lines.append("  - load the images that the cluster lacks, install the operators, wait for the cloud: ")
    lines[-1] += "about three minutes the first time"
    return lines


def look(name: str, known: Catalogue, also: Collection[str] = ()) -> Missing:
    """Return what is missing on this machine; `also` are images on request that are needed."""
    there = binaries.find(programs.ALL)
    return Missing(
        programs=tuple(sorted(set(programs.ALL) - set(there))),
        images=tuple(image.name for image in _wanted(known, also) if not image.built),
        cluster=lifecycle.running(layout.of(name)) is None,
    )


def _wanted(known: Catalogue, also: Collection[str]) -> list[Image]:
    return [*building.chosen(known), *(building.chosen(known, also) if also else ())]


@dataclass(frozen=True)
class Arrived:
    """A cluster that is up, and the references of the images in it by the names of their recipes."""

    cluster: Cluster
    images: Mapping[str, str]


def travel(
    name: str, *, ask: Ask, progress: Progress, also: Collection[str] = (), beside: Collection[str] = ()
) -> Arrived:
    """Bring up the cluster `name` with all images in it; whatever is there already costs nothing.

    `also` are images on request that are built, too. So are those `beside` the cluster, in which no pod runs them.
    """
    # It would be a pity to hear of it after half an hour.
    lifecycle.require_root()
    known = building.catalogue()
    missing = look(name, known, (*also, *beside))
    for line in announcement(name, missing):
        progress.say(line)
    early = _early(missing, known.recipes)
    if any(known.recipes[image].scratch is None for image in early):
        # The process beside us has nobody whom it could ask.
        distribution.ensure(building.BUILDAH | building.MMDEBSTRAP, ask=ask, progress=progress)
    with _beside(early, progress):
        binaries.ensure(programs.ALL, progress=progress)
    names = [image.name for image in _wanted(known, (*also, *beside))]
    images = building.build(names, known, ask=ask, progress=progress)
    cluster = lifecycle.up(name, progress=progress, ask=ask)
    later = building.on_request(known)
    # One of those is loaded if somebody has built it; what it is called is known without that.
    there = [image for image in later if image.built and image.name not in names]
    inside = [image for image in (*images, *there) if image.name not in beside]
    loading.load(inside, cluster.first.pid, progress=progress)
    return Arrived(cluster, {image.name: image.reference for image in (*later, *images)})


def _early(missing: Missing, recipes: Mapping[str, Recipe]) -> list[str]:
    """Return the images that are built while the compiler works: those that need no result of its."""
    early = [name for name in missing.images if not _carries_program(name, recipes)]
    return early if missing.programs and _has_room() else []


@contextmanager
def _beside(early: Sequence[str], progress: Progress) -> Iterator[None]:
    """Build images in a process of its own while the block compiles."""
    if not early:
        yield
        return
    log = archives.folder() / "beside.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    progress.say(f"Building {', '.join(early)} beside it; log: {log}")
    command = [sys.executable, "-m", "stackwright.cli", "image", "build", *early]
    with log.open("wb") as output:
        builder = subprocess.Popen(  # noqa: S603  our own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=process.ending_with_parent(),  # noqa: PLW1509  this thread waits for it
        )
    try:
        yield
    except BaseException:
        builder.terminate()
        raise
    finally:
        # How it ended does not matter here: what it did not build is built next, and says why where that fails.
        builder.wait()


def _carries_program(name: str, recipes: Mapping[str, Recipe]) -> bool:
    recipe = recipes[name]
    from_compiler = recipe.scratch is not None and recipe.scratch.program in programs.ALL
    return bool(recipe.programs) or from_compiler or any(_carries_program(need, recipes) for need in recipe.needs)


def _has_room(available: Callable[[], int] | None = None) -> bool:
    cores = os.cpu_count() or 1
    return cores >= 2 and (available or _available)() >= ROOM


def _available() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
