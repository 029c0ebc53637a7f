"""Where a command finds the charts and which images it uses: in a checkout, in the operators' image, or where told."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from stackwright.adapters.helm.programs import PROGRAM
from stackwright.blueprint import images
from stackwright.blueprint.images import Component, ComponentImage, Manifest
from stackwright.kube.errors import ConfigError
from stackwright.kube.resource import JsonObject

# Beside the package in a checkout, else where the operators' image has them.
CHECKOUT = Path(__file__).parents[2]
IN_IMAGE = Path("/opt/stackwright/charts")
# The component that the operators themselves are.
OPERATOR = "operator"


def charts(named: Path | None = None, *, checkout: Path = CHECKOUT) -> Path:
    """Return the folder of the charts: the one that is named, or the first of the usual places that is there."""
    places = (named,) if named is not None else (checkout / "charts", IN_IMAGE)
    for place in places:
        if (place / "library" / "Chart.yaml").is_file():
            return place.resolve()
    looked = " and ".join(str(place) for place in places)
    raise ConfigError(f"There are no charts in {looked}; name their folder with --charts or STACKWRIGHT_CHARTS.")


def component_images(
    overlay: Path | None = None, *, built: Mapping[str, str] | None = None, checkout: Path = CHECKOUT
) -> dict[str, ComponentImage]:
    """Return which image each component runs: what the file says, over the manifest of the checkout if there is one.

    `built` has the references of images that are made here; unless given, they are those of the recipes as they are.
    """
    above = images.read(overlay) if overlay is not None else Manifest()
    below = checkout / "images" / "manifest.yaml"
    if not below.is_file():
        if overlay is None:
            raise ConfigError(
                "It is not known which images to run; name a file in the format of images/manifest.yaml with --images."
            )
        return images.resolve(above, built or {})
    merged = images.merge(images.merge(_services(checkout), images.read(below)), above)
    makes = sorted(name for name, component in merged.components.items() if component.build)
    if makes and built is None:
        built = _references()
    if makes and not built:
        raise ConfigError(
            f"{', '.join(makes)}: the images are built on this machine, and that cluster cannot have them from "
            "here; push them to a registry and name it with --images (registry and tag, in the format of "
            "images/manifest.yaml)."
        )
    return images.resolve(merged, built or {})


def _services(checkout: Path) -> Manifest:
    """Return the components that images are composed of: a service runs the image that its folder puts it into."""
    from stackwright.local.images import composing, recipes  # noqa: PLC0415  only a checkout has recipes

    found = {
        service.name: Component(build=recipe.name)
        for recipe in recipes.read(checkout).values()
        for service in composing.services(checkout, recipe)
    }
    return Manifest(components=found)


def _references() -> Mapping[str, str]:
    from stackwright.local.images import building  # noqa: PLC0415  only who builds images pays for the recipes

    return {image.name: image.reference for image in building.catalogue().images.values()}


def chart_values(found: Mapping[str, ComponentImage]) -> JsonObject:
    """Return the values of the operators' chart that say which images are run."""
    if OPERATOR not in found:
        raise ConfigError(f"It is not known which image the operators run; give components.{OPERATOR} in --images.")
    components = {
        name: {"reference": image.reference, **{word: True for word in ("sudo", "ours") if getattr(image, word)}}
        for name, image in found.items()
        if name != OPERATOR
    }
    return {"image": found[OPERATOR].reference, "images": {"components": components}}


def helm() -> Path | None:
    """Return the helm of this machine's Kubernetes; None where there is none, and then that of the PATH is used."""
    if PROGRAM in os.environ or shutil.which("helm"):
        return None
    from stackwright.local import binaries  # noqa: PLC0415  an operator in its image needs none of it

    return binaries.find(["helm"]).get("helm")
