"""All rows: found by looking, listed nowhere."""

import importlib
import pkgutil
from pathlib import Path

from tests.functional.services.case import ServiceCase

FOLDER = Path(__file__).parent / "cases"


def rows() -> tuple[ServiceCase, ...]:
    """Return the rows of all services, in the order of their files."""
    names = sorted(entry.name for entry in pkgutil.iter_modules([str(FOLDER)]))
    modules = (importlib.import_module(f"tests.functional.services.cases.{name}") for name in names)
    return tuple(row for module in modules for row in module.CASES)
