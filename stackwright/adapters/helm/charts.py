"""Charts on disk: their digest, and what a release record keeps of them."""

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from stackwright import yaml_words
from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm.manifests import JsonObject, count_values
from stackwright.adapters.helm.measures import find_excess

# How long the metadata and the values of a chart may be, and how many values they may have, all aliases counted: they
# are read in our own process. Ours have 6 KB and 100.
LONGEST = 256 * 2**10
VALUES = 10_000
# How much memory a value takes that is kept.
_BYTES = 200

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
    weight: int = field(default=0, compare=False)
    """About how much memory it takes where it is kept."""

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
    record: JsonObject = {
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
    kept = sum(len(entry["data"]) for entry in record["templates"]) + len(record["schema"] or "")
    weight = kept + _BYTES * count_values((metadata, record["values"]), 2 * VALUES)
    return Chart(digest.hexdigest(), record, weight)


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
    if len(content or b"") > LONGEST:
        raise Rejected(f"{name} of the chart is longer than {LONGEST >> 10} KiB; make it shorter")
    try:
        if excess := find_excess(content or b"", VALUES):
            raise Rejected(f"{name} of the chart has {excess}; make it smaller")
        found = yaml.load(content or b"", yaml_words.Loader)  # noqa: S506  the loader is a safe one
    except yaml.YAMLError as error:
        line = f" in line {mark.line + 1}" if (mark := getattr(error, "problem_mark", None)) else ""
        raise Rejected(f"{directory / name} is not YAML{line}") from error
    if not isinstance(found, dict):
        return {}
    if count_values((found,), VALUES) > VALUES:
        raise Rejected(f"{name} of the chart has more than {VALUES} values, all aliases counted; make it smaller")
    return found


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
