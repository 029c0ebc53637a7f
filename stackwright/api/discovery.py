"""Finds kinds, sections and what else folders say by looking into a package: nobody has to keep a list."""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from stackwright.api.sections import Section
from stackwright.kube.resource import CustomResource


def kinds_in(package: ModuleType, *, module: str = "") -> tuple[type[CustomResource], ...]:
    """Return the kinds that the modules of a package list in `KINDS`, by name.

    With `module`, each entry of the package is a folder, and the module of that name in it has the list.
    """
    found = [kind for entry in _modules(package, module) for kind in getattr(entry, "KINDS", ())]
    return tuple(sorted(found, key=lambda kind: kind.kind.crd_name))


def values_in(package: ModuleType, module: str, name: str) -> tuple[Any, ...]:
    """Return the value `name` of each folder's module `module`; a folder without the module, or the value, has none."""
    folders = (entry.name for entry in pkgutil.iter_modules(package.__path__, f"{package.__name__}.") if entry.ispkg)
    modules = (f"{folder}.{module}" for folder in folders)
    found = (importlib.import_module(path) for path in modules if importlib.util.find_spec(path) is not None)
    return tuple(getattr(module, name) for module in found if hasattr(module, name))


def sections_in(package: ModuleType) -> tuple[Section, ...]:
    """Return what the folders of a package add to the umbrella, by name; a folder without a `section` adds nothing."""
    return tuple(sorted(values_in(package, "section", "SECTION"), key=lambda section: str(section.name)))


def _modules(package: ModuleType, module: str) -> Iterator[ModuleType]:
    for entry in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if not module:
            yield importlib.import_module(entry.name)
        elif entry.ispkg:
            yield importlib.import_module(f"{entry.name}.{module}")
