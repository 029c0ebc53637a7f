"""Charts on disk: their digest, and what a release record keeps of them."""

import base64
import hashlib
import json
import math
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

    def construct_number(self, node: yaml.ScalarNode) -> float | str:
        """Return the number that a word is for helm, or the word itself."""
        return number_of(node.value)


_INT, _FLOAT, _BOOL = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:bool"
_OTHERWISE = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value", _INT, _FLOAT}
Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag not in _OTHERWISE]
    for letter, resolvers in _Base.yaml_implicit_resolvers.items()
}
for _tag, _pattern, _first in (
    (_FLOAT, r"[-+.\d][-+.\w]*$", "-+.0123456789"),
    (_BOOL, "[yYnN]$", "yYnN"),
):
    Loader.add_implicit_resolver(_tag, re.compile(_pattern, re.ASCII), list(_first))
Loader.bool_values = {**_Base.bool_values, "y": True, "n": False}
Loader.add_constructor(_FLOAT, Loader.construct_number)

_WHOLE = re.compile(r"[-+]?(0[bB][01]+|0[xX][\da-fA-F]+|0[oO]?[0-7]+|0|[1-9]\d*)", re.ASCII)
_FRACTION = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?", re.ASCII)
# After a point that begins the word, `_` only separates digits; elsewhere helm leaves it out wherever it stands.
_MISPLACED = re.compile(r"(?<!\d)_|_(?!\d)", re.ASCII)
# A number to the base of 8, as it was written before YAML 1.2 and Python 3.
_OLD_OCTAL = re.compile("^([-+]?0)(?=[0-7])")
_ENDLESS = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def number_of(word: str) -> float | str:
    """Return the number that a word without quotes is for helm, or the word itself where it is none. Pure.

    Also a number that is too large is a word: a hash such as `12e4567890` is printed without quotes.
    """
    if _ENDLESS.fullmatch(word):
        return float(word.replace(".", ""))
    digits = word if word.startswith(".") and _MISPLACED.search(word) else word.replace("_", "")
    if _WHOLE.fullmatch(digits):
        number = int(_OLD_OCTAL.sub(r"\1o", digits), 0)
        if -(2**63) <= number < 2**63 or (digits[0] not in "-+" and number < 2**64):
            return number
    if not _FRACTION.fullmatch(digits) or math.isinf(fraction := float(digits)):
        return word
    return int(fraction) if fraction.is_integer() and abs(fraction) < _EXPONENT_FROM else fraction


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
