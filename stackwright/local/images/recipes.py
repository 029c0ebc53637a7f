"""The recipes: one folder of images/ for each image, with a recipe.toml, and a Containerfile where buildah makes it."""

import graphlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from stackwright.local.errors import RecipeInvalid

RECIPE = "recipe.toml"
CONTAINERFILE = "Containerfile"


class Bootstrap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An image that comes from a distribution's package archive alone."""

    suite: str
    variant: str = "minbase"
    exclude: tuple[str, ...] = ()
    """Files of packages that are not installed, as dpkg's patterns."""
    include: tuple[str, ...] = ()
    """Those of the excluded ones that are."""


class Scratch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An image of one static program and nothing else."""

    program: str
    path: str
    user: str


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one image is made of."""

    description: str
    name: str = ""
    """Its folder's name; the file does not say it."""
    needs: tuple[str, ...] = ()
    """The images that it is made from; the Containerfile gets each as a build argument, such as OPENSTACK_LIBRARIES."""
    inputs: tuple[str, ...] = ()
    """Files and folders of the repository that the Containerfile copies from."""
    programs: tuple[str, ...] = ()
    """Programs of the local Kubernetes that the Containerfile finds in programs/."""
    services: str = ""
    """The file by which a service's folder, in stackwright/services or beside the recipe, says what is installed."""
    intermediate: bool = False
    """Whether it is only there to make others from it, and never run."""
    on_request: bool = False
    """Whether it is built only when somebody names it."""
    date: str = ""
    bootstrap: Bootstrap | None = None
    scratch: Scratch | None = None


def folder() -> Path:
    """Return the repository's root, in which images/ is."""
    root = Path(__file__).parents[3]
    if not (root / "images").is_dir():
        raise RecipeInvalid(
            f"There are no image recipes in {root / 'images'}. They are part of the repository, not of the package: "
            "run stackwright from a clone."
        )
    return root


def read(root: Path) -> dict[str, Recipe]:
    """Return all recipes of a repository by their name."""
    paths = sorted(root.glob(f"images/*/{RECIPE}"))
    found = {path.parent.name: _read(path) for path in paths}
    for recipe in found.values():
        for need in recipe.needs:
            if need not in found:
                raise RecipeInvalid(f"images/{recipe.name}/{RECIPE} needs {need}, which is not an image in images/.")
    return found


def _read(path: Path) -> Recipe:
    label = f"images/{path.parent.name}/{RECIPE}"
    try:
        recipe = msgspec.toml.decode(path.read_bytes(), type=Recipe)
    except msgspec.MsgspecError as error:
        raise RecipeInvalid(f"{label}: {error}") from error
    if recipe.bootstrap is None and recipe.scratch is None and not (path.parent / CONTAINERFILE).is_file():
        raise RecipeInvalid(f"{label} has no {CONTAINERFILE} beside it, and no [bootstrap] or [scratch] in it.")
    return msgspec.structs.replace(recipe, name=path.parent.name)


def ordered(recipes: Mapping[str, Recipe], names: Iterable[str] = ()) -> list[Recipe]:
    """Return the recipes of those names, all when none is given, and all that they need, each after what it needs."""
    wanted = tuple(names) or tuple(recipes)
    for name in wanted:
        if name not in recipes:
            raise RecipeInvalid(f"There is no image {name}; there are {', '.join(sorted(recipes))}.")
    graph: dict[str, tuple[str, ...]] = {}
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in graph:
            graph[name] = recipes[name].needs
            waiting.extend(recipes[name].needs)
    try:
        # Sorted first, so that the same recipes are always made in the same order.
        order = graphlib.TopologicalSorter({name: graph[name] for name in sorted(graph)}).static_order()
        return [recipes[name] for name in order]
    except graphlib.CycleError as error:
        raise RecipeInvalid(f"Images need each other in a cycle: {' needs '.join(error.args[1])}.") from error
