"""A directory in Kolla's layout, read into an umbrella's spec. Pure: texts by their path in, a spec and remarks out.

global.conf                 options of all services
glance.conf                 options of one service, also glance/glance.conf
glance/glance-api.conf      options of one component
glance/policy.yaml          a whole file of a service
glance-api/config.json      how a component starts, and the files beside it that it copies
"""

import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stackwright.api import paths
from stackwright.api.base import JsonObject
from stackwright.api.sections import Section
from stackwright.api.start import KollaConfig
from stackwright.blueprint import ini

GLOBAL = "global.conf"
START = "config.json"
# Where Kolla's containers find the files that are next to their config.json on the host.
BESIDE = "/var/lib/kolla/config_files/"

# What a later import takes away again: all that an earlier one has written.
_BEGIN, _END = "# Imported: ", "# End of what was imported"
# Options that hold a secret, or that we write ourselves with one in it.
_SECRET = re.compile(
    r"password|passphrase|passcode|secret|transport_url|token|_key$|^(asyncio_)?(slave_)?connection$"
    r"|^connection_string$|^hmac_keys$|^kek$|^login$|(^|_)pin$|^authorization[-_]code$",
    re.IGNORECASE,
)
# An address with a password in it, such as redis://:word@host, in whatever option or file it stands.
_LOGIN = re.compile(r"://[^/@\s]*:[^/@\s]+@")
# The option whose values begin with the name of another one: password:word.
_ARGUMENT = "backend_argument"
_KEYS = (".key", ".keyring")
_PRIVATE = "PRIVATE KEY-----"
_AS_FILE = "put it into a Secret, and mount that with extraMounts"


@dataclass(frozen=True)
class Imported:
    """What came of a directory: the umbrella's spec with it, and each file or line that was not taken over, and why."""

    spec: JsonObject
    taken: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()


@dataclass
class _Work:
    spec: JsonObject
    taken: set[str] = field(default_factory=set)
    left: dict[str, str] = field(default_factory=dict)
    # Why the section at hand takes no whole files; "" if it does.
    no_files: str = ""


def read(files: Mapping[str, str], spec: JsonObject, sections: Iterable[Section]) -> Imported:
    """Return an umbrella's spec with what a directory says merged over it."""
    work = _Work(msgspec.json.decode(msgspec.json.encode(spec)))
    known = [section for section in sections if section.kolla]
    for section in known:
        if any(_speaks_of(path, section) for path in files) or (GLOBAL in files and _asked(work.spec, section)):
            _section(section, files, work)
    for path in sorted(set(files) - work.taken):
        work.left.setdefault(path, _why(path, known))
    return Imported(work.spec, tuple(sorted(work.taken)), tuple(sorted(work.left.items())))


def _speaks_of(path: str, section: Section) -> bool:
    first = path.partition("/")[0]
    return first in {section.name, f"{section.name}.conf", *section.kolla}


def _asked(spec: JsonObject, section: Section) -> bool:
    return bool((spec.get(section.name) or {}).get("enabled", section.name in spec))


def _why(path: str, known: list[Section]) -> str:
    if path == GLOBAL:
        return "no service that reads it is in the control plane"
    if path.count("/") > 1:
        return "settings for a single host have no place in a control plane"
    owner = next((section for section in known if _speaks_of(path, section)), None)
    if owner is None:
        names = ", ".join(sorted(section.name for section in known))
        return f"it belongs to no service that is known here ({names})"
    return "it is not known what uses it"


def _section(section: Section, files: Mapping[str, str], work: _Work) -> None:
    # An import asks for the service that it configures.
    stated = work.spec.get(section.name) or {"enabled": True}
    template = stated.get("template") or {}
    general = [f for f in (GLOBAL, f"{section.name}.conf", f"{section.name}/{section.name}.conf") if f in files]
    work.no_files = "" if _has(section, "defaultConfigOverwrite") else _no_place(section, "whole files")
    if not _has(section, "customServiceConfig"):
        work.left |= dict.fromkeys(general, _no_place(section, "options"))
        general = []
    for component, place in section.kolla.items():
        for steps in _places(template, place):
            # Where the component is the service itself, its part is the whole template.
            part = dict(paths.find(template, steps) or {}) if steps else template
            own = [path for path in (f"{section.name}/{component}.conf",) if path in files and path not in general]
            own += _start(part, template, component, files, work)
            # Where the component is the service itself, its options stand together.
            _snippet(part, own if place else [*general, *own], files, work)
            template = paths.put(template, steps, part) if part and steps else template
    if all(section.kolla.values()):
        _snippet(template, general, files, work)
    _whole_files(section, template, files, work)
    if template:
        work.spec[section.name] = {**stated, "template": template}


def _has(section: Section, name: str) -> bool:
    """Return whether the spec of a section's resource has a field, and not only those of its components."""
    specs = (
        field.type for part in section.parts for field in msgspec.structs.fields(part.kind) if field.name == "spec"
    )
    return any(field.encode_name == name for spec in specs for field in msgspec.structs.fields(spec))


def _no_place(section: Section, what: str) -> str:
    there = ", ".join(f"{section.name}/{component}.conf" for component in section.kolla)
    return f"{section.name} has no place for {what} of all its components here; use {there} for options of one"


def _places(template: JsonObject, place: str) -> Iterable[paths.Steps]:
    """Return the places in a template that a path names; of a map without entries, that of the entry default."""
    return tuple(paths.places(template, place)) or (paths.split(place.replace(paths.EVERY, "default")),)


# Options.


def _snippet(part: JsonObject, sources: list[str], files: Mapping[str, str], work: _Work) -> None:
    """Put the options of several files behind what the user wrote himself; those of an earlier import go."""
    texts = [text for path in sources if (text := _options(path, files[path], work))]
    before = without_import(part.get("customServiceConfig") or "")
    if not texts:
        return
    part["customServiceConfig"] = before + "".join(texts) + f"{_END}\n"


def without_import(text: str) -> str:
    """Return a snippet without what an earlier import has written."""
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        inside = inside or line.startswith(_BEGIN)
        if not inside:
            kept.append(line)
        elif line.rstrip() == _END:
            inside = False
    whole = "".join(kept)
    return whole if not whole or whole.endswith("\n") else f"{whole}\n"


def _options(path: str, text: str, work: _Work) -> str:
    parsed = ini.parse(text)
    if isinstance(parsed, ini.Problem):
        work.left[path] = f"{parsed}; fix it and import again"
        work.taken.discard(path)
        return ""
    work.taken.add(path)
    lines = [f"{_BEGIN}{path}"]
    for section, options in parsed.items():
        taken = {name: values for name, values in options.items() if not _is_secret(name, values)}
        for name in options.keys() - taken.keys():
            work.left[f"{path}: [{section}] {name}"] = (
                "holds a secret; the operators create those of databases, brokers and Keystone, and others belong"
                " in a Secret"
            )
        if taken:
            lines.append(f"[{section}]")
            lines += [f"{name} = {_continued(value)}" for name, values in taken.items() for value in values]
    return "\n".join(lines) + "\n" if len(lines) > 1 else ""


def _is_secret(name: str, values: Iterable[str]) -> bool:
    if _SECRET.search(name) or any(_LOGIN.search(value) for value in values):
        return True
    return name == _ARGUMENT and any(_SECRET.search(value.partition(":")[0]) for value in values)


def _continued(value: str) -> str:
    return value.replace("\n", "\n    ")


# Whole files.


def _whole_files(section: Section, template: JsonObject, files: Mapping[str, str], work: _Work) -> None:
    for path, text in files.items():
        directory, name = posixpath.split(path)
        if directory != section.name or path in work.taken or path in work.left:
            continue
        if not name.endswith(".conf") and work.no_files:
            work.left[path] = work.no_files
            continue
        if name.endswith(".conf"):
            known = ", ".join(f"{component}.conf" for component in section.kolla)
            work.left[path] = f"no component of that name reads it here; there is {known}"
            continue
        if why := _why_secret(name, text):
            work.left[path] = why
            continue
        _overwrite(template, name, text)
        work.taken.add(path)


def _why_secret(name: str, text: str) -> str:
    """Return why a whole file may not stand in a control plane, which many may read; "" if it may."""
    if name.endswith(_KEYS) or _PRIVATE in text:
        return f"it holds a key; {_AS_FILE}"
    return f"it has an address with a password in it; {_AS_FILE}" if _LOGIN.search(text) else ""


def _overwrite(template: JsonObject, name: str, text: str) -> None:
    template["defaultConfigOverwrite"] = {**(template.get("defaultConfigOverwrite") or {}), name: text}


# How a component starts.


def _start(part: JsonObject, template: JsonObject, component: str, files: Mapping[str, str], work: _Work) -> list[str]:
    """Take over how a component starts; return the files with options that it copies."""
    path = f"{component}/{START}"
    if path not in files:
        return []
    document = _how_it_starts(files[path])
    if isinstance(document, str):
        work.left[path] = document
        return []
    options, copies = _copied(document.get("config_files") or [], component, files, work)
    said = {**document, "config_files": [copy for copy, _ in copies]}
    for name in sorted(said.keys() - set(KollaConfig.__struct_fields__)):
        work.left[f"{path}: {name}"] = "there is no such key in the start contract"
        del said[name]
    said = {name: value for name, value in said.items() if value}
    try:
        msgspec.convert(said, KollaConfig)
    except msgspec.ValidationError as error:
        work.left[path] = f"{error}; correct it and import again"
        return []
    work.taken.add(path)
    for name in (name for _, name in copies if name):
        _overwrite(template, name, files[f"{component}/{name}"])
        work.taken.add(f"{component}/{name}")
    if said:
        part["kollaConfig"] = said
    return options


def _how_it_starts(text: str) -> JsonObject | str:
    """Return what a config.json says, or why it is of no use."""
    if why := _why_secret(START, text):
        return why
    try:
        document: Any = json.loads(text)
    except json.JSONDecodeError as error:
        return f"it is not JSON (line {error.lineno})"
    except (ValueError, RecursionError):
        # What Python's reader does not take: a number of thousands of digits, brackets without end.
        return "it has a number that is too long, or is nested too deep"
    return document if isinstance(document, dict) else "it is not an object with command and config_files"


def _copied(
    entries: Any, component: str, files: Mapping[str, str], work: _Work
) -> tuple[list[str], list[tuple[JsonObject, str]]]:
    """Return the files with options among those that are copied, and the others: each as we have it, and its name."""
    options: list[str] = []
    copies: list[tuple[JsonObject, str]] = []
    for position, entry in enumerate(entries if isinstance(entries, list) else []):
        source = entry.get("source", "") if isinstance(entry, dict) else ""
        if not isinstance(source, str) or not source.startswith(BESIDE):
            # Elsewhere in the image, or on a volume that the user mounts: the same here.
            copies.append((entry, ""))
            continue
        name = source.removeprefix(BESIDE)
        path = f"{component}/{name}"
        if path not in files:
            why = f"{path} is not in the directory, and Stackwright writes the service's own files itself"
            work.left[f"{component}/{START}: config_files[{position}]"] = why
        elif name.endswith(".conf"):
            options.append(path)
        elif why := work.no_files or _why_secret(name, files[path]):
            work.left[path] = why
        else:
            copies.append(({**entry, "source": name}, name))
    return options, copies
