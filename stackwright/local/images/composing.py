"""The text that buildah gets: a recipe's Containerfile, with the lines for each service written out."""

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from stackwright.local.errors import RecipeInvalid
from stackwright.local.images.recipes import CONTAINERFILE, Recipe

_EACH = re.compile(r"^# for each service( that unpacks)?\n(.*?)^# end\n", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


class ServicePackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an image has to know of a service: its package, and the user that it runs as."""

    package: str
    version: str
    uid: int
    further: tuple[str, ...] = ()
    """Packages that it needs and does not name itself: drivers, and its commands of the client."""
    unpacks: tuple[str, ...] = ()
    """Packages of the distribution whose files it needs, without what they depend on: web pages."""
    name: str = ""
    """Its folder's name; the file does not say it."""


def parse(text: bytes, name: str, label: str) -> ServicePackage:
    """Return the service that a file of its folder describes; `label` is how errors call the file."""
    try:
        service = msgspec.structs.replace(msgspec.toml.decode(text, type=ServicePackage), name=name)
    except msgspec.MsgspecError as error:
        raise RecipeInvalid(f"{label}: {error}") from error
    said = [(field, getattr(service, field)) for field in ("name", "package", "version")]
    several = ((field, word) for field in ("further", "unpacks") for word in getattr(service, field))
    for field, word in (*said, *several):
        # They become part of a shell's command line.
        if not _WORD.fullmatch(word):
            raise RecipeInvalid(f'{label}: {name} has {field} "{word}", which is none.')
    return service


def services(root: Path, recipe: Recipe) -> tuple[ServicePackage, ...]:
    """Return the services of an image by name: of all folders of services, and of those in the recipe's own."""
    if not recipe.services:
        return ()
    places = (root / "stackwright" / "services", root / "images" / recipe.name)
    found: list[tuple[ServicePackage, str]] = []
    for path in sorted(path for place in places for path in place.glob(f"*/{recipe.services}")):
        label = str(path.relative_to(root))
        service = parse(path.read_bytes(), path.parent.name, label)
        for other, place in found:
            if same := next(
                (field for field in ("name", "uid") if getattr(service, field) == getattr(other, field)), ""
            ):
                raise RecipeInvalid(f"{place} and {label}: two services have the {same} {getattr(service, same)}.")
        found.append((service, label))
    return tuple(sorted((service for service, _ in found), key=lambda service: service.name))


def compose(text: str, services: Iterable[ServicePackage]) -> str:
    """Return a Containerfile in which the lines between `# for each service` and `# end` stand once for each.

    Those after `# for each service that unpacks` stand once for each that does.
    """
    listed = tuple(services)

    def written_out(section: re.Match[str]) -> str:
        chosen = (service for service in listed if service.unpacks) if section.group(1) else listed
        return "".join(_for_one(section.group(2), service) for service in chosen)

    return _EACH.sub(written_out, text)


def _for_one(lines: str, service: ServicePackage) -> str:
    # Only these words: a Containerfile has braces of its own.
    for field in ("name", "package", "version", "uid"):
        lines = lines.replace(f"{{{field}}}", str(getattr(service, field)))
    return lines.replace("{unpacks}", " ".join(service.unpacks))


def containerfile(root: Path, recipe: Recipe) -> str:
    """Return the Containerfile of a recipe; one that has none gives an empty text."""
    path = root / "images" / recipe.name / CONTAINERFILE
    if not path.is_file():
        return ""
    return compose(path.read_text(), services(root, recipe))
