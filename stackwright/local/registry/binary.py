"""Makes the registry's program: one small binary, compiled from our Go module when it is used for the first time."""

from pathlib import Path

from stackwright.local import binaries, build, versions
from stackwright.local.binaries import Recipe
from stackwright.local.programs import Program
from stackwright.local.progress import Progress

MODULE = Path(__file__).parent / "module"
NAME = "registry"
_LIBRARY = "github.com/google/go-containerregistry"


def recipe() -> Recipe:
    """Return what the program is made of, on this machine."""
    version = versions.required((MODULE / "go.mod").read_text(), _LIBRARY)
    return Recipe(
        module=build.Module(MODULE),
        programs={NAME: Program(NAME, NAME, NAME)},
        version=f"{NAME}-{version}",
        architecture=versions.architecture(),
    )


def ensure(progress: Progress) -> Path:
    """Return where the program is; compile it unless it is there."""
    return binaries.ensure([NAME], progress=progress, using=recipe())[NAME]
