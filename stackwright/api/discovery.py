"""Finding kinds by looking into a package, so that nobody keeps a list of them."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from stackwright.kube.resource import CustomResource


def kinds_in(package: ModuleType, *, module: str = "") -> tuple[type[CustomResource], ...]:
    """Return the kinds that the modules of a package list in `KINDS`, by name.

    With `module`, each entry of the package is a folder, and the module of that name in it has the list.
    """
    found = [kind for entry in _modules(package, module) for kind in getattr(entry, "KINDS", ())]
    return tuple(sorted(found, key=lambda kind: kind.kind.crd_name))


def _modules(package: ModuleType, module: str) -> Iterator[ModuleType]:
    for entry in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if not module:
            yield importlib.import_module(entry.name)
        elif entry.ispkg:
            yield importlib.import_module(f"{entry.name}.{module}")
