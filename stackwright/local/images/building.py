"""Makes the images that are missing, each after what it needs; whoever calls twice pays once.

An image is made in a staging folder and moved into the cache by one rename, so an interrupted build leaves no half of
it. One process at a time builds; a second one waits, and finds the result.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackwright.local import binaries, distribution, oci, pause, versions
from stackwright.local.cache import Cache
from stackwright.local.distribution import Ask
from stackwright.local.errors import ImageFailed
from stackwright.local.images import archives, bootstrapping, context, hashing, recipes, settings
from stackwright.local.images.archives import Image
from stackwright.local.images.buildah import Buildah
from stackwright.local.images.hashing import Fingerprint
from stackwright.local.images.recipes import Recipe
from stackwright.local.progress import Progress, duration

PAUSE = "pause"
BUILDAH = {"buildah": "buildah"}
MMDEBSTRAP = {"mmdebstrap": "mmdebstrap"}
_TRIES = 3


class _Changed(Exception):
    """What goes into an image was changed after its hash was taken, as may be while what it needs is made."""


@dataclass(frozen=True)
class Catalogue:
    """All recipes of a repository, in the order in which they are made, and the image that each gives here."""

    root: Path
    recipes: Mapping[str, Recipe]
    images: Mapping[str, Image]
    replaced: Mapping[str, str] = field(default_factory=dict)

    def again(self) -> "Catalogue":
        """Return the same as it is now: while an image was made, somebody may have changed what the next is made of."""
        return catalogue(self.root, debian=next(iter(self.replaced.values()), ""))


def catalogue(root: Path | None = None, *, debian: str = "") -> Catalogue:
    """Return what there is to build; `debian` is the reference of an image that stands in for our own Debian."""
    root = root or recipes.folder()
    order = recipes.ordered(recipes.read(root))
    replaced = {recipe.name: debian for recipe in order if recipe.bootstrap and debian}
    key = binaries.recipe().cache().directory.name

    def program(name: str) -> str:
        return pause.program(versions.architecture()).hex() if name == PAUSE else key

    around = hashing.Circumstances(root, versions.architecture(), program, replaced)
    hashes = hashing.hashes(order, around)
    return Catalogue(
        root=root,
        recipes={recipe.name: recipe for recipe in order},
        images={recipe.name: _image(recipe, hashes[recipe.name]) for recipe in order},
        replaced=replaced,
    )


def _image(recipe: Recipe, found: Fingerprint) -> Image:
    return Image(recipe.name, found.whole, inputs=found.inputs, intermediate=recipe.intermediate)


def chosen(known: Catalogue, names: Iterable[str] = ()) -> list[Image]:
    """Return the images of those names; when none is given, all that are run, except those on request."""
    named = tuple(names)
    order = recipes.ordered(known.recipes, named)
    usual = (recipe.name for recipe in order if not (recipe.intermediate or recipe.on_request))
    wanted = set(named or usual)
    return [known.images[recipe.name] for recipe in order if recipe.name in wanted]


def on_request(known: Catalogue) -> list[Image]:
    """Return the images that are built only when somebody names them."""
    return [known.images[name] for name, recipe in known.recipes.items() if recipe.on_request]


def build(names: Iterable[str], known: Catalogue, *, ask: Ask, progress: Progress) -> list[Image]:
    """Build the missing images of those names, or of all images that are run if none is given, and return them."""
    wanted = chosen(known, names)
    if any(not image.built for image in wanted):
        try:
            return Work(known, ask, progress).make([image.name for image in wanted])
        except OSError as error:
            raise ImageFailed(
                f"{error.filename or archives.folder()}: {error.strerror}. "
                "Images are kept there; set XDG_CACHE_HOME to a folder that can be written and has 8 GB free."
            ) from error
    return wanted


class Work:
    """One call that makes images: the storage, and the machine's settings for as long as it takes."""

    def __init__(self, known: Catalogue, ask: Ask, progress: Progress) -> None:
        self._known = known
        self._ask = ask
        self._progress = progress
        self._buildah = Buildah(archives.folder(), progress)
        self._cache = Cache(archives.folder(), "images")

    def make(self, names: Iterable[str]) -> list[Image]:
        """Make those of the images that are not there, and return them all."""
        with self._cache.locked(self._progress):
            return [self._current(name) for name in names]

    def _current(self, name: str) -> Image:
        """Make an image as its recipe and inputs are at this moment, and return it."""
        for _ in range(_TRIES):
            self._known = self._known.again()
            image = self._known.images[name]
            try:
                if image.intermediate:
                    self._store(image)
                elif not image.built:
                    self._keep(image)
            except _Changed:
                continue
            return image
        raise ImageFailed(f"The inputs of {name} keep changing; build it when nobody edits them.")

    def _keep(self, image: Image) -> None:
        """Leave an image in the cache."""
        scratch = self._known.recipes[image.name].scratch
        if not scratch:
            self._store(image)
        with self._cache.staging() as staging:
            archive = image.staged(staging)
            if scratch:
                self._write_scratch(image, archive)
            else:
                self._buildah.export(image, archive)
            image.entry.keep(staging)
        image.forget_older()

    def _store(self, image: Image) -> None:
        """Leave an image in buildah's storage."""
        recipe = self._known.recipes[image.name]
        distribution.ensure(BUILDAH, ask=self._ask, progress=self._progress)
        if self._buildah.has(image):
            return
        if image.built:
            self._buildah.restore(image, image.archive)
            return
        needs = [self._known.images[name] for name in recipe.needs if name not in self._known.replaced]
        for need in needs:
            self._store(need)
        begin = time.monotonic()
        self._progress.say(f"Building {image.name}: {recipe.description}.")
        self._buildah.clean(image)
        with self._cache.staging() as staging:
            self._build(image, recipe, staging)
        self._buildah.tidy(image)
        self._progress.say(f"Built {image.name} in {duration(time.monotonic() - begin)}.")

    def _build(self, image: Image, recipe: Recipe, staging: Path) -> None:
        first = next(recipe.bootstrap for recipe in self._known.recipes.values() if recipe.bootstrap)
        machine = settings.read(first.suite)
        mounted = context.mounted(self._known.root, machine, staging / "mounted")
        folder = staging / "context"
        folder.mkdir()
        if recipe.bootstrap:
            distribution.ensure(MMDEBSTRAP, ask=self._ask, progress=self._progress)
            words = context.bootstrap(recipe.bootstrap, machine, folder)
            self._buildah.run(image, words, doing="starting", program=bootstrapping.command(staging))
        programs = binaries.ensure(recipe.programs, progress=self._progress) if recipe.programs else {}
        context.fill(self._known.root, recipe, folder, programs)
        containerfile = context.containerfile(self._known.root, recipe, folder, inputs=image.inputs)
        if self._known.again().images[image.name] != image:
            raise _Changed
        references = {name: self._known.images[name].reference for name in recipe.needs} | dict(self._known.replaced)
        arguments = context.arguments(recipe, references)
        options = [word for argument in arguments for word in ("--build-arg", argument)]
        options += ["--volume", f"{mounted}:/mnt:ro"]
        self._buildah.build(image, context=folder, containerfile=containerfile, options=options)

    def _write_scratch(self, image: Image, archive: Path) -> None:
        scratch = self._known.recipes[image.name].scratch
        if scratch is None:
            raise ValueError(image.name)
        architecture = versions.architecture()
        content: bytes | Path = (
            pause.program(architecture)
            if scratch.program == PAUSE
            else binaries.ensure([scratch.program], progress=self._progress)[scratch.program].resolve()
        )
        made = oci.Image(
            name=image.reference,
            entries=(oci.File(scratch.path, content),),
            entrypoint=(scratch.path,),
            user=scratch.user,
        )
        oci.write(made, archive, architecture=architecture)
        self._progress.say(f"Wrote {image.name}.")
