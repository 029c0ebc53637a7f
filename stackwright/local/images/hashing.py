"""The hash of an image: of its recipe and of everything that goes into it. It is the image's tag.

What the distribution and PyPI publish is not in it: versions of Python packages are pinned in the inputs, and those of
the distribution follow a date in the recipe of the first image.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from stackwright.local.errors import RecipeInvalid
from stackwright.local.images import composing
from stackwright.local.images.recipes import Recipe

# A change of what the builder itself does to images is another number.
FORMAT = "1"
SCRIPTS = "images/build"


@dataclass(frozen=True)
class Circumstances:
    """What an image depends on besides its recipe."""

    root: Path
    architecture: str
    programs: Callable[[str], str]
    """Returns what tells one build of a program from another."""
    replaced: Mapping[str, str]
    """Images that are not made here, and the reference of what stands in for each."""


def files(root: Path, inputs: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Return all files of some inputs in order, each with its path in the repository; without what Python compiled."""
    for name in sorted(inputs):
        path = root / name
        if path.is_file():
            yield name, path
        elif path.is_dir():
            yield from ((str(file.relative_to(root)), file) for file in sorted(_below(path)))
        else:
            raise RecipeInvalid(f"{name} is named by a recipe, but does not exist.")


def _below(folder: Path) -> Iterator[Path]:
    """Return all files below a folder, also of folders that are linked into it: an image gets them as files."""
    for directory, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(directory, name) for name in names if Path(directory, name).is_file())


@dataclass(frozen=True)
class Fingerprint:
    """What an image is known by."""

    whole: str
    inputs: str
    """The same without the Containerfile: what the text of its lines does not say."""


def hashes(order: Iterable[Recipe], around: Circumstances) -> dict[str, Fingerprint]:
    """Return the hash of each image; the order has each after what it needs."""
    found: dict[str, Fingerprint] = {}
    for recipe in order:
        needs = {name: found[name].whole for name in recipe.needs}
        inputs = _digest(_inputs(recipe, needs, around))
        # What only people read does not make another image, nor does when it is built.
        words = msgspec.to_builtins(msgspec.structs.replace(recipe, description=""))
        del words["on_request"]
        text = composing.containerfile(around.root, recipe).encode()
        parts = [("inputs", inputs.encode())]
        if recipe.name not in around.replaced:
            parts += [("recipe", msgspec.json.encode(words)), ("containerfile", text)]
        found[recipe.name] = Fingerprint(_digest(parts), inputs)
    return found


def _inputs(recipe: Recipe, needs: Mapping[str, str], around: Circumstances) -> Iterator[tuple[str, bytes]]:
    yield "format", FORMAT.encode()
    yield "architecture", around.architecture.encode()
    if recipe.name in around.replaced:
        yield "replaced", around.replaced[recipe.name].encode()
        return
    for name, value in sorted(needs.items()):
        yield f"need {name}", value.encode()
    for name in recipe.programs + ((recipe.scratch.program,) if recipe.scratch else ()):
        yield f"program {name}", around.programs(name).encode()
    scripts = () if recipe.scratch or recipe.bootstrap else (SCRIPTS,)
    for name, path in files(around.root, (*recipe.inputs, *scripts)):
        yield f"file {name} {os.access(path, os.X_OK)}", path.read_bytes()


def _digest(parts: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for label, content in parts:
        # Lengths keep two values from running into each other.
        digest.update(f"{label} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
