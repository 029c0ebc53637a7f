"""The text that buildah gets: a recipe's Containerfile, with the lines for each service written out."""

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from stackwright.local.errors import RecipeInvalid
from stackwright.local.images.recipes import CONTAINERFILE, Recipe

_EACH = re.compile(r"^# for each service\n(.*?)^# end\n", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


class ServicePackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an image has to know of a service: its package, and the user that it runs as."""

    name: str
    package: str
    version: str
    uid: int


class Services(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file that lists the services of an image."""

    service: tuple[ServicePackage, ...]


def parse_services(text: bytes, label: str) -> tuple[ServicePackage, ...]:
    """Return the services that a file lists; `label` is how errors call the file."""
    try:
        services = msgspec.toml.decode(text, type=Services).service
    except msgspec.MsgspecError as error:
        raise RecipeInvalid(f"{label}: {error}") from error
    for service in services:
        for field in ("name", "package", "version"):
            # They become part of a shell's command line.
            if not _WORD.fullmatch(getattr(service, field)):
                raise RecipeInvalid(f'{label}: {service.name} has {field} "{getattr(service, field)}", which is none.')
    for field in ("name", "uid"):
        values = [getattr(service, field) for service in services]
        if twice := next((value for value in values if values.count(value) > 1), None):
            raise RecipeInvalid(f"{label}: two services have the {field} {twice}.")
    return services


def compose(text: str, services: Iterable[ServicePackage]) -> str:
    """Return a Containerfile in which the lines between `# for each service` and `# end` stand once for each."""
    listed = tuple(services)

    def written_out(section: re.Match[str]) -> str:
        return "".join(_for_one(section.group(1), service) for service in listed)

    return _EACH.sub(written_out, text)


def _for_one(lines: str, service: ServicePackage) -> str:
    # Only these words: a Containerfile has braces of its own.
    for field in ServicePackage.__struct_fields__:
        lines = lines.replace(f"{{{field}}}", str(getattr(service, field)))
    return lines


def containerfile(root: Path, recipe: Recipe) -> str:
    """Return the Containerfile of a recipe; one that has none gives an empty text."""
    path = root / "images" / recipe.name / CONTAINERFILE
    if not path.is_file():
        return ""
    services: tuple[ServicePackage, ...] = ()
    if recipe.services:
        try:
            services = parse_services((root / recipe.services).read_bytes(), recipe.services)
        except FileNotFoundError as error:
            raise RecipeInvalid(f"images/{recipe.name}: {recipe.services} is not there.") from error
    return compose(path.read_text(), services)
