"""The start contract of a component: ours, merged with the user's own config.json. Pure."""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from stackwright.api.base import JsonObject
from stackwright.api.start import CopiedFile, KollaConfig, MadePath, Permission
from stackwright.blueprint.service import ConfigFile

# Where the chart mounts the Secret; the start contract copies files from there.
SOURCE = "/var/lib/openstack/config"

# Whoever may read a directory may enter it; only the service reads a file.
_DIRECTORY, _FILE = "0750", "0600"


def contract(command: str, files: Iterable[ConfigFile], user: str, own: KollaConfig | None = None) -> str:
    """Return the config.json with which a container copies its files and starts."""
    files = tuple(files)
    whole: JsonObject = {"command": command, "config_files": [_ours(file, user) for file in files]}
    if own is not None:
        whole = _merged(whole, own, files, user)
    return json.dumps(whole, indent=2, sort_keys=True) + "\n"


def problems(own: KollaConfig, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what would make the container fail, by the path of the entry; `names` are the files that it may copy."""
    known = set(names)
    for position, entry in enumerate(own.config_files):
        path = f"config_files[{position}].source"
        if not entry.source.startswith("/") and entry.source not in known:
            yield path, "there is no such file in defaultConfigOverwrite; add it there, or write an absolute path"
        if entry.source.startswith("/var/lib/kolla/config_files"):
            yield path, "nothing else exists there; put the file into defaultConfigOverwrite and write its name alone"
    for position, permission in enumerate(own.permissions):
        for number, expression in enumerate(permission.exclude):
            try:
                re.compile(expression)
            except re.error as error:
                yield f"permissions[{position}].exclude[{number}]", f"is not a regular expression: {error}"


def _ours(file: ConfigFile, user: str) -> JsonObject:
    return {"source": f"{SOURCE}/{file.key}", "dest": file.destination, "owner": user, "perm": file.permissions}


def _merged(ours: JsonObject, own: KollaConfig, files: tuple[ConfigFile, ...], user: str) -> JsonObject:
    keys = {posixpath.basename(file.destination): file.key for file in files}
    copies = [_copy(entry, keys, user) for entry in own.config_files]
    result = {
        "command": own.command or ours["command"],
        "config_files": _over(ours["config_files"], copies, _place),
        "directories": [_made(entry, user, _DIRECTORY) for entry in own.directories],
        "files": [_made(entry, user, _FILE) for entry in own.files],
        "permissions": [_permission(entry, user) for entry in own.permissions],
    }
    return {name: value for name, value in result.items() if value}


def _over(below: list[JsonObject], above: list[JsonObject], place: Any) -> list[JsonObject]:
    """Return both lists as one; an entry of the first replaces the entry of the second for the same path."""
    by_place = {place(entry): entry for entry in below}
    by_place |= {place(entry): entry for entry in above}
    return list(by_place.values())


def _place(entry: Mapping[str, Any]) -> str:
    """Return the destination of a copy: in a directory it keeps the name of its source."""
    destination: str = entry["dest"]
    return destination + posixpath.basename(entry["source"]) if destination.endswith("/") else destination


def _copy(entry: CopiedFile, keys: Mapping[str, str], user: str) -> JsonObject:
    source, destination = entry.source, entry.dest
    if not source.startswith("/"):
        # In the Secret its name may begin with that of the component.
        destination += source if destination.endswith("/") else ""
        source = f"{SOURCE}/{keys.get(source, source)}"
    said: JsonObject = {"source": source, "dest": destination}
    if entry.preserve_properties:
        said["preserve_properties"] = True
    else:
        said |= {"owner": entry.owner or user, "perm": entry.perm or _FILE}
    return said | {name: True for name in ("optional", "merge") if getattr(entry, name)}


def _made(entry: MadePath, user: str, mode: str) -> JsonObject:
    return {"path": entry.path, "owner": entry.owner or user, "perm": entry.perm or mode}


def _permission(entry: Permission, user: str) -> JsonObject:
    said: JsonObject = {"path": entry.path, "owner": entry.owner or user}
    further = {"perm": entry.perm, "recurse": entry.recurse, "exclude": list(entry.exclude)}
    return said | {name: value for name, value in further.items() if value}


def own_of(template: Any) -> KollaConfig | None:
    """Return the user's part of a component's template, or None if there is none."""
    own = getattr(template, "kollaConfig", None)
    return own if isinstance(own, KollaConfig) and msgspec.to_builtins(own) else None
