"""YAML documents that know where they stand: each field has a path and a line, and the fields nobody read are listed.

Field by field, a conversion takes what it understands. What is left over afterwards, nobody understood.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import yaml

from stackwright import yaml_words
from stackwright.kube import handwritten
from stackwright.kube.resource import JsonObject

T = TypeVar("T")

_WORDS = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a mapping"}
# The kind of what `kubectl get -o yaml` prints for several resources.
LIST = "List"


class Broken(Exception):
    """A document that cannot be read; the message names the file and the line."""


@dataclass(frozen=True)
class Remark:
    """Something that was not converted, or that has another meaning here."""

    of: str
    path: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}" if self.path else self.why


@dataclass
class Section:
    """A mapping in a document. What a method returns counts as understood."""

    label: str
    path: str
    value: JsonObject
    lines: Mapping[str, int]
    inside: dict[str, "Section"] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def text(self, name: str) -> str:
        """Return a text; "" where there is none."""
        return self._take(name, str, "")

    def flag(self, name: str, default: bool = False) -> bool:  # noqa: FBT001, FBT002  as the field is upstream
        """Return true or false."""
        return self._take(name, bool, default)

    def mapping(self, name: str) -> JsonObject:
        """Return a mapping as it is, with all that stands in it."""
        return self._take(name, dict, {})

    def array(self, name: str) -> list[Any]:
        """Return a list as it is."""
        return self._take(name, list, [])

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        found = self.array(name)
        for position, entry in enumerate(found):
            if not isinstance(entry, str):
                raise self.broken(f"{name}[{position}]", "must be a text")
        return found

    def anything(self, name: str) -> Any:
        """Return a value of any form; None where there is none."""
        self.taken.add(name)
        return self.value.get(name)

    def section(self, name: str) -> "Section":
        """Return a mapping whose fields are read one by one; an empty one where there is none."""
        if name not in self.inside:
            path = f"{self.path}.{name}" if self.path else name
            self.inside[name] = Section(self.label, path, self._take(name, dict, {}), self.lines)
        return self.inside[name]

    def sections(self, name: str) -> dict[str, "Section"]:
        """Return the mappings in a mapping, by their keys."""
        whole = self.section(name)
        return {key: whole.section(key) for key in whole.value}

    def rest(self) -> Iterator[str]:
        """Yield the paths of the fields that nobody read."""
        for name, value in self.value.items():
            if name not in self.taken and value not in (None, "", [], {}):
                yield f"{self.path}.{name}" if self.path else name
        for inside in self.inside.values():
            yield from inside.rest()

    def line(self, name: str = "") -> int:
        """Return the line of a field, or of the mapping itself."""
        path = ".".join(part for part in (self.path, name) if part)
        return self.lines.get(path, self.lines.get(self.path, 1))

    def broken(self, name: str, why: str) -> Broken:
        """Return the error of a field."""
        path = ".".join(part for part in (self.path, name) if part)
        return Broken(f"{self.label}, line {self.line(name)}: {path} {why}.")

    def _take(self, name: str, form: type[T], default: T) -> T:
        self.taken.add(name)
        found = self.value.get(name)
        if found is None:
            return default
        if not isinstance(found, form) or (form is int and isinstance(found, bool)):
            raise self.broken(name, f"must be {_WORDS[form]}")
        return found


@dataclass
class Document:
    """A Kubernetes object in a file."""

    root: Section
    kind: str
    name: str

    @property
    def label(self) -> str:
        """How remarks call it."""
        return f"{self.root.label}: {self.kind} {self.name}"

    @property
    def namespace(self) -> str:
        """Its namespace; "" where it names none."""
        return self.root.section("metadata").text("namespace")

    def remark(self, path: str, why: str) -> Remark:
        """Return a remark on one of its fields."""
        return Remark(self.label, path, why)


def read(label: str, text: str) -> list[Document]:
    """Return the objects in a text; those of a List one by one."""
    try:
        # What is no YAML, the reader itself says better.
        with contextlib.suppress(yaml.YAMLError):
            handwritten.check_depth(text)
        return list(_read(label, text))
    except handwritten.Unreadable as error:
        raise Broken(error.about(label)) from None
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or "it cannot be read"
        line = f", line {number}" if (number := handwritten.line_of(error, text)) else ""
        raise Broken(f"{label}{line}: this is not YAML: {problem}.") from None


def _read(label: str, text: str) -> Iterator[Document]:
    loader = yaml_words.SlowLoader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            assert node is not None  # noqa: S101  it was just seen
            start = node.start_mark.line + 1
            lines: dict[str, int] = {}
            _walk(node, "", lines, label, ())
            value = loader.construct_document(node)
            if value is not None:
                yield from _objects(label, value, lines, start)
    finally:
        loader.dispose()


def _objects(label: str, value: Any, lines: Mapping[str, int], start: int) -> Iterator[Document]:
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise Broken(f"{label}, line {start}: a document without a kind; each is one Kubernetes object.")
    root = Section(label, "", value, lines)
    if value["kind"] == LIST:
        for position, item in enumerate(root.array("items")):
            path = f"items[{position}]"
            if not isinstance(item, dict) or not isinstance(item.get("kind"), str):
                raise root.broken(path, "has no kind; each is one Kubernetes object")
            yield _document(Section(label, path, item, lines))
        return
    yield _document(root)


def _document(root: Section) -> Document:
    kind, name = root.text("kind"), root.section("metadata").text("name")
    if not name:
        raise root.broken("metadata", "has no name")
    return Document(root, kind, name)


def _walk(node: yaml.Node, path: str, lines: dict[str, int], label: str, above: tuple[int, ...]) -> None:
    """Note the line of each field; refuse keys that are there twice, of which YAML's reader would lose one."""
    lines.setdefault(path, node.start_mark.line + 1)
    if id(node) in above:
        raise Broken(f"{label}, line {node.start_mark.line + 1}: {path} contains itself.")
    above = (*above, id(node))
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            line = key.start_mark.line + 1
            inside = f"{path}.{name}" if path else name
            if name in seen and name != "<<":
                raise Broken(f"{label}, line {line}: {inside} is there twice.")
            if not yaml_words.is_text(key) and name != "<<":
                raise Broken(f"{label}, line {line}: the key {inside} must be a text; put it in quotes.")
            seen.add(name)
            lines[inside] = line
            _walk(value, inside, lines, label, above)
    elif isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            lines[f"{path}[{position}]"] = value.start_mark.line + 1
            _walk(value, f"{path}[{position}]", lines, label, above)


def is_name(text: str, pattern: str) -> bool:
    """Return whether a text has a form."""
    return re.fullmatch(pattern.strip("^$"), text) is not None
