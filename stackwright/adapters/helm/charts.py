"""Charts on disk: their digest, and what a release record keeps of them."""

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stackwright.adapters.errors import Rejected

JsonObject = dict[str, Any]

# From here on JSON has an exponent.
_EXPONENT_FROM = 1e21

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(_Base):  # type: ignore[misc]  # which of the two it is depends on how PyYAML was built
    """Reads YAML as helm does, which makes JSON of it: a date is a text, and a whole number has no fraction.

    Templates print a number from a million on with an exponent, such as `1e+06`. A time such as `12:30`, an address of
    digits and colons, and a lone `=` are texts; for PyYAML they are numbers to the base of 60, and no value at all.
    """

    def construct_number(self, node: yaml.ScalarNode) -> float:
        """Return a number, as a whole one where it is."""
        number: float = self.construct_yaml_float(node)
        return int(number) if number.is_integer() and abs(number) < _EXPONENT_FROM else number


_INT, _FLOAT, _BOOL = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:bool"
_OTHERWISE = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value", _INT, _FLOAT}
Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag not in _OTHERWISE]
    for letter, resolvers in _Base.yaml_implicit_resolvers.items()
}
_INTS = r"[-+]?(0b[01][01_]*|0x[0-9a-fA-F][0-9a-fA-F_]*|0o[0-7][0-7_]*|0[0-7_]*|[1-9][0-9_]*)$"
_FLOATS = r"[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"
for _tag, _pattern, _first in (
    (_INT, _INTS, "-+0123456789"),
    (_FLOAT, _FLOATS, "-+.0123456789"),
    (_BOOL, "[yYnN]$", "yYnN"),
):
    Loader.add_implicit_resolver(_tag, re.compile(_pattern), list(_first))
Loader.bool_values = {**_Base.bool_values, "y": True, "n": False}
Loader.add_constructor(_FLOAT, Loader.construct_number)


# What YAML takes for no text, or for the end of a line.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def values_text(values: Mapping[str, Any]) -> str:
    """Return the values of a chart as JSON that is YAML too, by which helm reads it.

    JSON escapes a character such as an emoji as two halves, which YAML does not know: those are written as they are.
    """
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@dataclass(frozen=True)
class Chart:
    """A chart: a digest of all its files, and its part of a release record."""

    digest: str
    record: JsonObject

    @property
    def name(self) -> str:
        """The chart's own name."""
        return str(self.record["metadata"]["name"])


def read(directory: Path) -> Chart:
    """Return a chart; files that it links to, such as the library chart, count as its own."""
    files = dict(_files(directory))
    metadata = _mapping(directory, files.get("Chart.yaml"), "Chart.yaml")
    if "name" not in metadata:
        raise Rejected(f"{directory} is not a chart: it has no Chart.yaml with a name")
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    schema = files.get("values.schema.json")
    record = {
        "metadata": metadata,
        "lock": None,
        "templates": [
            {"name": name, "data": _encoded(content)}
            for name, content in files.items()
            if name.startswith("templates/")
        ],
        "values": _mapping(directory, files.get("values.yaml"), "values.yaml"),
        "schema": None if schema is None else _encoded(schema),
        # Nothing reads a README from a record.
        "files": None,
    }
    return Chart(digest.hexdigest(), record)


def _files(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Yield all files of a chart in the order of their names."""
    try:
        found = sorted(
            Path(folder, name) for folder, _, names in os.walk(directory, followlinks=True) for name in names
        )
        for path in found:
            yield path.relative_to(directory).as_posix(), path.read_bytes()
    except OSError as error:
        raise Rejected(f"chart {directory} cannot be read: {error.strerror}: {error.filename}") from error


def _mapping(directory: Path, content: bytes | None, name: str) -> JsonObject:
    try:
        found = yaml.load(content or b"", Loader)  # noqa: S506  the loader is a safe one
    except yaml.YAMLError as error:
        line = f" in line {mark.line + 1}" if (mark := getattr(error, "problem_mark", None)) else ""
        raise Rejected(f"{directory / name} is not YAML{line}") from error
    return found if isinstance(found, dict) else {}


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
