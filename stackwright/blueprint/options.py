"""The options that a service knows, and what a user's own configuration says that the service would refuse. Pure.

`options.json` in a service's folder is the list of the image that we build: a program in that image writes it
(`make options`), from oslo.config's own types. Where another image runs, the list is a guess: then a value that it
would refuse is only worth a warning, and the pod itself checks what it reads before it serves (`serving.py`).
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stackwright.api.snippets import SnippetFormat
from stackwright.blueprint import admission, ini, option_types, structs
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.ini import Assignment
from stackwright.blueprint.option_types import Options, OptionType
from stackwright.blueprint.service import IMAGE_FIELD, Service

# How fields end that name the image of one of several services: conductorContainerImageURL.
IMAGES_OF_SERVICES = "ContainerImageURL"
# Options of oslo's libraries with which a service starts, and fails every request if they are empty or less than this.
_LEAST = {("oslo_middleware", "max_request_body_size"): 1024, ("DEFAULT", "rpc_response_timeout"): 1}
# How similar a name must be to a known one to be suggested.
_ALIKE = 0.8


@dataclass(frozen=True)
class OptionFault:
    """What is wrong with an option, and where; `refused` is False if the service just does not know the option."""

    path: str
    sentence: str
    refused: bool = True


def of(service: Service[Any, Any]) -> Options | None:
    """Return the options that a service knows; None if there is no list."""
    return read(service.options) if service.options is not None else None


@cache
def read(path: Path) -> Options:
    """Return a list of options."""
    return option_types.decode(path.read_bytes())


def problems(service: Service[Any, Any], resource: Any, image: ComponentImage | None) -> tuple[tuple[str, str], ...]:
    """Return the path of every value that the service would refuse, and what it accepts; none if that is a guess."""
    if not certain(resource.spec, image):
        return ()
    found = find_faults(service, "spec", resource.spec)
    return tuple((fault.path, fault.sentence) for fault in found if fault.refused)


def certain(spec: Any, image: ComponentImage | None) -> bool:
    """Return whether a service runs the image whose options are listed, also where its parent names that image."""
    if image is None or not image.ours:
        return False
    named = {
        getattr(struct, name) for _, struct in structs.structured("", spec) for name in _image_fields(type(struct))
    }
    return not named - {"", None, image.reference}


@cache
def _image_fields(of: type[Any]) -> tuple[str, ...]:
    """Return the fields of a type that name an image: one for all, or one for each service that it stands for."""
    return tuple(name for name in of.__struct_fields__ if name == IMAGE_FIELD or name.endswith(IMAGES_OF_SERVICES))


def find_faults(service: Service[Any, Any], path: str, spec: Any) -> Iterator[OptionFault]:
    """Yield the faults of the options in a spec, or in a template of one, at a path."""
    known = of(service)
    if known is None:
        return
    for place, text in _texts(service, path, spec):
        for fault in check(known, text):
            yield OptionFault(place, fault.sentence, fault.refused)


def _texts(service: Service[Any, Any], path: str, spec: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts that the service reads with oslo.config."""
    for place, kind, text in admission.snippets(path, spec):
        if kind is SnippetFormat.OSLO:
            yield place, text
    # Of whole files, only those with the service's own name are certain to be read this way.
    own = re.compile(rf"{re.escape(service.name)}(-[a-z-]+)?\.conf")
    for place, files in admission.fields_called(path, spec, admission.OVERWRITE):
        for name, text in sorted(files.items()) if isinstance(files, dict) else ():
            if own.fullmatch(name):
                yield f"{place}[{name}]", text


def check(known: Options, text: str) -> tuple[OptionFault, ...]:
    """Return the faults of the options in a text; a text that cannot be parsed is reported elsewhere."""
    read = ini.assignments(text)
    if isinstance(read, ini.Problem):
        return ()
    by_name: dict[tuple[str, str], list[Assignment]] = {}
    for each in read:
        by_name.setdefault((ini.fold_section(each.section), each.option), []).append(each)
    found = [fault for (section, option), given in by_name.items() for fault in _judge(known, section, option, given)]
    return tuple(
        OptionFault("", sentence, refused) for _, sentence, refused in sorted(found, key=lambda entry: entry[0])
    )


def _judge(known: Options, section: str, option: str, given: list[Assignment]) -> Iterator[tuple[int, str, bool]]:
    """Yield line, sentence and whether it is refused, for one option with all the values that a text has for it."""
    if section not in known:
        # Users choose the names of some sections, such as those of stores, so only likely typos are reported.
        if not option and (close := difflib.get_close_matches(section, known, n=1, cutoff=_ALIKE)):
            line = given[0].line
            yield line, f"line {line}: [{section}] is not a section that the service knows; is it [{close[0]}]?", False
        return
    if not option:
        return
    kind = known[section].get(option)
    place = f"[{section}] {option}"
    if kind is None:
        line = given[0].line
        close = difflib.get_close_matches(option, known[section], n=1, cutoff=_ALIKE)
        meant = f"; is it {close[0]}?" if close else ""
        yield line, f"line {line}: {place} is not an option that the service knows{meant}", False
        return
    for each in _counting(kind, given):
        # Only the service knows the value that a reference to another option has.
        if "$" in each.value:
            continue
        taken = option_types.allowed(kind, each.value) or _useless(_LEAST.get((section, option)), each.value)
        if taken:
            yield each.line, f"line {each.line}: {place} {taken}", True


def _useless(least: int | None, value: str) -> str:
    """Return what is wrong with a number that oslo.config takes, and with which no request is answered."""
    try:
        enough = least is None or (bool(value.strip()) and float(value) >= least)
    except ValueError:
        # By its type it is no number, in another version of the library: nothing is known of it.
        enough = True
    if enough:
        return ""
    return f"must be {least} or more; with less the service answers no request"


def _counting(kind: OptionType, given: list[Assignment]) -> Iterable[Assignment]:
    return given if kind.repeated else given[-1:]
