"""What config.json says: its form, and how it is refused before anything is changed. Nothing here touches a file."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import InvalidConfig


@dataclass(frozen=True)
class ConfigFile:
    """One entry of config_files: what is copied where."""

    source: str
    dest: str
    owner: str
    perm: int | None
    optional: bool
    preserve_properties: bool
    merge: bool


@dataclass(frozen=True)
class Rule:
    """One entry of directories, files or permissions: who owns a path, and its mode."""

    path: str
    owner: str
    perm: int | None
    recurse: bool
    exclude: tuple[re.Pattern[str], ...]

    def excludes(self, path: Path) -> bool:
        """Tell whether recursion passes a path over."""
        return any(pattern.search(str(path)) for pattern in self.exclude)


@dataclass(frozen=True)
class Config:
    """The whole of config.json."""

    command: str
    config_files: tuple[ConfigFile, ...]
    directories: tuple[Rule, ...]
    files: tuple[Rule, ...]
    permissions: tuple[Rule, ...]


def parse_perm(value: object) -> int:
    """Return the mode for an octal text such as 0600, 644, 0o644 or 2755."""
    if not isinstance(value, str) or not re.fullmatch("(0o)?[0-7]{3,4}", value):
        raise InvalidConfig(f'Invalid permission {value!r}: write octal digits in quotes, such as "0600"')
    return int(value.replace("0o", ""), 8)


def split_owner(owner: str) -> tuple[str, str]:
    """Return user and group of `user[:group]`; without a group it is called like the user."""
    user, _, group = owner.partition(":")
    return user, group or user


def directory_mode(perm: int) -> int:
    """Return the mode of a directory: whoever may read it may enter it."""
    return perm | (perm & 0o444) >> 2


def destination(dest: str, source: str) -> Path:
    """Return where a source goes: under its own name into a dest that ends in a slash, else exactly there."""
    return Path(dest + source.rpartition("/")[2] if dest.endswith("/") else dest)


@dataclass(frozen=True)
class Entry:
    """One object in a list of config.json, which can say where it stands."""

    section: str
    number: int
    values: Mapping[str, Any]

    def error(self, message: str) -> InvalidConfig:
        """Return an error that names the entry."""
        return InvalidConfig(f"{message} ({self.section}[{self.number}])")

    def require(self, *keys: str) -> None:
        """Refuse an entry that lacks one of these keys, or has null for it."""
        missing = [key for key in keys if key not in self.values]
        if missing:
            raise self.error(f"{self.section} config is missing required keys: {', '.join(missing)}")
        for key in keys:
            if self.values[key] is None:
                raise self.error(f'{self.section} config key "{key}" must not be null')

    def text(self, key: str) -> str:
        """Return a text."""
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.error(f'{self.section} config key "{key}" must be text')
        return value

    def path(self, key: str) -> str:
        """Return an absolute path."""
        value = self.text(key)
        if not value.startswith("/"):
            raise self.error(f'{self.section} config key "{key}" must be an absolute path, not {value}')
        return value

    def flag(self, key: str) -> bool:
        """Return true or false; what is not there is false."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.error(f'{self.section} config key "{key}" must be true or false')
        return bool(value)

    def perm(self, key: str) -> int:
        """Return a mode."""
        try:
            return parse_perm(self.values.get(key))
        except InvalidConfig as error:
            raise self.error(str(error)) from None

    def patterns(self, key: str) -> tuple[re.Pattern[str], ...]:
        """Return a list of regular expressions."""
        value = self.values.get(key) or []
        if not isinstance(value, list):
            raise self.error(f'{self.section} config key "{key}" must be a list')
        try:
            return tuple(re.compile(pattern) for pattern in value)
        except (re.error, TypeError) as error:
            raise self.error(f'{self.section} config key "{key}" has no valid regular expression: {error}') from None


def entries(document: Mapping[str, Any], section: str) -> list[Entry]:
    """Return the objects of one list; one that is missing, null or {} is empty."""
    values = document.get(section) or []
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise InvalidConfig(f'Config key "{section}" must be a list of objects')
    return [Entry(section, number, value) for number, value in enumerate(values)]


def parse_config_file(entry: Entry) -> ConfigFile:
    """Return an entry of config_files."""
    entry.require("source", "dest")
    unknown = sorted(set(entry.values) - set(ConfigFile.__dataclass_fields__))
    if unknown:
        raise entry.error(f"config_files config has unknown keys: {', '.join(unknown)}")
    preserve = entry.flag("preserve_properties")
    if not preserve and (entry.values.get("owner") is None or entry.values.get("perm") is None):
        raise entry.error("Config needs preserve_properties or owner and perm")
    return ConfigFile(
        source=entry.text("source"),
        dest=entry.path("dest"),
        owner="" if preserve else entry.text("owner"),
        perm=None if preserve else entry.perm("perm"),
        optional=entry.flag("optional"),
        preserve_properties=preserve,
        merge=entry.flag("merge"),
    )


def parse_rule(entry: Entry) -> Rule:
    """Return an entry of directories, files or permissions."""
    creates = entry.section != "permissions"
    entry.require("path", "owner", *(["perm"] if creates else []))
    path = entry.path("path")
    if creates and glob.has_magic(path):
        raise entry.error(f"{entry.section} config does not support glob paths: {path}")
    return Rule(
        path=path,
        owner=entry.text("owner"),
        perm=entry.perm("perm") if creates or entry.values.get("perm") else None,
        recurse=entry.flag("recurse"),
        exclude=entry.patterns("exclude"),
    )


def parse_config(document: object) -> Config:
    """Return what a document says."""
    if not isinstance(document, dict) or "command" not in document:
        raise InvalidConfig('Config is missing required "command" key')
    if not isinstance(document["command"], str):
        raise InvalidConfig('Config key "command" must be text')
    return Config(
        command=document["command"],
        config_files=tuple(parse_config_file(entry) for entry in entries(document, "config_files")),
        directories=tuple(parse_rule(entry) for entry in entries(document, "directories")),
        files=tuple(parse_rule(entry) for entry in entries(document, "files")),
        permissions=tuple(parse_rule(entry) for entry in entries(document, "permissions")),
    )
