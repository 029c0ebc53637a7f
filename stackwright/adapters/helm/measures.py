"""How much a text of a user holds, before anything is made of it: a text of a few KB may become gigabytes. Pure."""

import yaml

from stackwright import yaml_words

# Deeper than any object of Kubernetes. Readers call themselves for each level: the one in C would end the program.
DEEPEST = 64
# What stands before every value of a text of JSON but the first.
_MARKS = (b",", b"[", b"{", b":")


def find_excess(text: str | bytes, values: int) -> str:
    """Return what a text of YAML has too much of, aliases not counted; "" if it is within the bounds.

    It is read piece by piece, and nothing of it is kept. Raises YAMLError if it is not YAML.
    """
    found = depth = 0
    for event in yaml.parse(text, yaml_words.Loader):
        found += isinstance(event, yaml.NodeEvent)
        if found > values:
            return f"more than {values} values"
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            return f"values deeper than {DEEPEST} levels"
    return ""


def count_marks(content: bytes) -> int:
    """Return a number that a text of JSON has no more values than; the marks in its texts are counted too."""
    return 1 + sum(content.count(mark) for mark in _MARKS)
