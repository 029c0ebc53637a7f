"""The image's own files: saved before they are overwritten, and put back before the next copying."""

from __future__ import annotations

import functools
import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .configuration import Config, ConfigFile
from .copying import delete, keeps_link, pairs, replicate, tree
from .errors import InvalidConfig, MissingRequiredSource

LOG = logging.getLogger("kolla_set_configs")

STATE_DIRECTORY = Path("/var/lib/kolla/state")

Saved = dict[Path, "Path | None"]  # Where the default of a path is saved; None where there was nothing.


@dataclass(frozen=True)
class Places:
    """Where the contract keeps what it has to remember."""

    run_command: Path
    configured: Path
    defaults: Path

    @property
    def state(self) -> Path:
        """Return the file that says which defaults are saved."""
        return self.defaults / "state"

    def default_of(self, path: Path) -> Path:
        """Return where the default of a path is saved."""
        return self.defaults / str(path).lstrip("/")


def places(state_directory: str) -> Places:
    """Return Kolla's places or, in a state directory, ours."""
    if not state_directory:
        return Places(Path("/run_command"), Path("/configured"), Path("/etc/kolla/defaults"))
    directory = Path(state_directory)
    return Places(directory / "run_command", directory / "configured", directory / "defaults")


def find_places(environment: Mapping[str, str]) -> Places:
    """Return the places that hold in this container; kolla_start and kolla_copy_cacerts follow the same rule."""
    named = environment.get("STACKWRIGHT_STATE_DIRECTORY")
    return places(named or (str(STATE_DIRECTORY) if STATE_DIRECTORY.is_dir() else ""))


def read_state(place: Places) -> Saved:
    """Return what earlier starts have saved."""
    try:
        document = json.loads(place.state.read_text(encoding="utf-8"))
        return {Path(path): entry["dest"] and Path(entry["dest"]) for path, entry in document.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError, LookupError, TypeError):
        raise InvalidConfig(f"Invalid state file found at {place.state}: start a new container") from None


def write_state(place: Places, saved: Saved) -> None:
    """Remember what is saved, in Kolla's form."""
    document = {
        str(path): {"source": str(path), "preserve_properties": True, "dest": default and str(default)}
        for path, default in saved.items()
    }
    place.defaults.mkdir(parents=True, exist_ok=True)
    unfinished = place.state.with_name("state.new")
    unfinished.write_text(json.dumps(document, indent=4), encoding="utf-8")
    unfinished.replace(place.state)


def overwritten(entry: ConfigFile) -> Iterator[Path]:
    """Return what copying an entry will overwrite.

    A merge overwrites single files. If its whole directory were saved, the next start would put an old one in the
    place of all that the service has written there.
    """
    keeps = functools.partial(keeps_link, entry)
    for top, dest in pairs(entry):
        if not entry.merge:
            yield dest
            continue
        for source, path in tree(top, dest, keeps):
            directory = source.is_dir() and not keeps(source)
            if not directory or (os.path.lexists(path) and not path.is_dir()):
                yield path


def restore(saved: Saved) -> None:
    """Bring every path back to what the image had there."""
    for path, default in saved.items():
        if default is not None:
            if not os.path.lexists(default):
                raise MissingRequiredSource(f"{default} file is not found")
            replicate(default, path)
        elif os.path.lexists(path):
            LOG.info("Deleting %s", path)
            delete(path)


def save(path: Path, default: Path) -> Saved:
    """Save what the image has at a path, and return what there is to remember of it."""
    if not os.path.lexists(path):
        return {path: None}
    try:
        replicate(path, default)
    except PermissionError as error:
        if error.filename is None or not Path(error.filename).is_relative_to(path):
            raise
        LOG.warning("The default of %s cannot be read and is not saved: %s", path, error.strerror)
        return {}
    return {path: default}


def keep_defaults(config: Config, place: Places) -> None:
    """Put the defaults back, then save those that are about to be overwritten."""
    saved = read_state(place)
    restore(saved)
    paths = dict.fromkeys(path for entry in config.config_files for path in overwritten(entry))
    for path in paths:
        if path not in saved:
            saved.update(save(path, place.default_of(path)))
    write_state(place, {path: default for path, default in saved.items() if path in paths})
