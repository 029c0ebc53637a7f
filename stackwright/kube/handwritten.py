"""YAML that people wrote: read as kubectl reads it, with the line of what is wrong. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from stackwright import yaml_words

# Deeper than any object of Kubernetes, and not so deep that a walk through it fails.
DEEPEST = 100


class Unreadable(Exception):
    """A text that cannot be read: `line` says where, 0 if nobody knows; `problem` what, "" if it is not YAML at all."""

    def __init__(self, line: int, problem: str = "") -> None:
        super().__init__(problem or "this is not YAML")
        self.line, self.problem = line, problem

    def about(self, label: str) -> str:
        """Return the sentence for a text of that name."""
        if self.problem:
            return f"{label}, line {self.line}: {self.problem}."
        return f"{label} is not YAML{f' (line {self.line})' if self.line else ''}."


def read(text: str) -> list[Any]:
    """Return the documents of a text, without the empty ones.

    The reader in C reads it, which is quick with large files, and refuses what kubectl refuses. Where it does, the one
    in Python says which line is meant.
    """
    try:
        check_depth(text)
        return list(_documents(text, yaml_words.Loader))
    except yaml.YAMLError as error:
        found = error
    try:
        list(_documents(text, yaml_words.SlowLoader))
    except yaml.YAMLError as error:
        found = error
    except RecursionError:
        # The first error says more.
        pass
    raise Unreadable(line_of(found, text))


def line_of(error: yaml.YAMLError, text: str) -> int:
    """Return the line that an error of the reader is about; 0 where it does not say."""
    if isinstance(error, yaml.reader.ReaderError):
        # A character that YAML does not allow.
        return text.count("\n", 0, error.position) + 1
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return mark.line + 1 if mark is not None else 0


def check_depth(text: str) -> None:
    """Refuse a text that is so deep that readers, which call themselves for each level, would end the program."""
    depth = 0
    for event in yaml.parse(text, yaml_words.Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise Unreadable(event.start_mark.line + 1, "it is nested deeper than any object of Kubernetes")


def _documents(text: str, reader: Any) -> Iterator[Any]:
    loader = reader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            _refuse_lost(node, "", (), set())
            value = loader.construct_document(node)
            if value is not None:
                yield value
    finally:
        loader.dispose()


def _refuse_lost(node: yaml.Node, path: str, above: tuple[int, ...], seen: set[int]) -> None:
    """Refuse a key that is there twice, of which readers lose one, and a value that contains itself."""
    if id(node) in above:
        raise Unreadable(node.start_mark.line + 1, f"{path} contains itself")
    if id(node) in seen or isinstance(node, yaml.ScalarNode):
        return
    # What an alias names was looked at where it stands.
    seen.add(id(node))
    for name, value in _entries(node, path):
        _refuse_lost(value, name, (*above, id(node)), seen)


def _entries(node: yaml.Node, path: str) -> Iterable[tuple[str, yaml.Node]]:
    if isinstance(node, yaml.SequenceNode):
        yield from ((f"{path}[{position}]", value) for position, value in enumerate(node.value))
        return
    names: set[tuple[str, str]] = set()
    for key, value in node.value:
        # A key that is no word is refused by whoever reads the document.
        name = key.value if isinstance(key, yaml.ScalarNode) else "?"
        inside = f"{path}.{name}" if path else name
        if (key.tag, name) in names and name not in ("<<", "?"):
            raise Unreadable(key.start_mark.line + 1, f"{inside} is there twice")
        names.add((key.tag, name))
        yield inside, value
