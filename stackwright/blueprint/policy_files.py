"""Whether oslo.policy can read a file with policies: YAML, even if it is called JSON, with a rule for each name. Pure.

A rule is a string, or a list in the older syntax, which oslo.policy still reads: of strings, or of lists of strings.
The text is read event by event and no value is made of it, so that references within it cost nothing.
"""

from collections.abc import Iterable
from typing import Any

import yaml
from yaml.reader import Reader
from yaml.resolver import Resolver

# How the names of such files end.
NAMES = ("policy.yaml", "policy.json")

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER: Any = Resolver()
_STRING, _NULL = "tag:yaml.org,2002:str", "tag:yaml.org,2002:null"
# How deep a rule in the older syntax is: in the file's mapping, in a list of alternatives, in a list of checks.
_LISTS = 3
# How deep a text is read of which it is known that it is refused: a mistake in its syntax says more.
_DEEPEST = 32

_NO_MAPPING = "is not a mapping of names to rules"
_NO_NAME = "a name is not a string; put it in quotes"
_NO_RULE = 'a rule is not a string; put it in quotes, and write "" for what everybody may do'


def problem(text: str) -> str:
    """Return why oslo.policy could not read a text, and where; "" if it can. The text itself is not repeated."""
    try:
        return _Shape().read(yaml.parse(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return f"is not YAML{f' ({_clamp(text, mark)})' if mark is not None else ''}"
    except yaml.YAMLError:
        found = Reader.NON_PRINTABLE.search(text)
        before = text[: found.start()].split("\n") if found is not None else []
        where = f" ({_spell(len(before), len(before[-1]) + 1)})" if before else ""
        return f"is not YAML: it has a character that YAML does not allow{where}"


class _Shape:
    """Follows the events of a text, and finds the first place where it is not what oslo.policy reads."""

    def __init__(self) -> None:
        self.documents = 0
        self.depth = 0
        # Whether a name comes next in the mapping, and not its rule.
        self.naming = True
        self.strings: set[str] = set()

    def read(self, events: Iterable[Any]) -> str:
        """Return what is wrong first, unless the text is not YAML at all."""
        first = ""
        for event in events:
            if not first and (sentence := self._judge(event)):
                mark = event.start_mark
                first = f"{_spell(mark.line + 1, mark.column + 1)}: {sentence}"
            self._follow(event)
            if first and self.depth > _DEEPEST:
                break
        return first

    def _judge(self, event: Any) -> str:
        match event:
            case yaml.DocumentStartEvent():
                return "a second document begins; there may be only one" if self.documents else ""
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                return self._judge_collection(event)
            case yaml.ScalarEvent():
                wanted = _STRING if self.depth else _NULL
                return "" if _tag(event) == wanted else self._expected()
            case yaml.AliasEvent():
                return "" if self.depth and event.anchor in self.strings else self._expected()
        return ""

    def _judge_collection(self, event: Any) -> str:
        in_place = self.depth == 0 if isinstance(event, yaml.MappingStartEvent) else 0 < self.depth < _LISTS
        named = self.depth == 1 and self.naming
        return "" if in_place and not named and event.tag in (None, "!") else self._expected()

    def _expected(self) -> str:
        if not self.depth:
            return _NO_MAPPING
        return _NO_NAME if self.depth == 1 and self.naming else _NO_RULE

    def _follow(self, event: Any) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self.documents += 1
                # What one document names, the next one does not know.
                self.strings = set()
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self.depth += 1
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self.depth -= 1
                self._turn()
            case yaml.ScalarEvent():
                if event.anchor and _tag(event) == _STRING:
                    self.strings.add(event.anchor)
                self._turn()
            case yaml.AliasEvent():
                self._turn()

    def _turn(self) -> None:
        """Go on from a name to its rule, or from a rule to the next name."""
        if self.depth == 1:
            self.naming = not self.naming


def _tag(event: yaml.ScalarEvent) -> str:
    """Return what a scalar is: said in the text, or as YAML takes it."""
    if event.tag not in (None, "!"):
        return str(event.tag)
    return str(_RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit))


def _clamp(text: str, mark: Any) -> str:
    """Return a place in a text; the parser places the end of a text that ends without a line break behind it."""
    lines = text.split("\n")
    if mark.line < len(lines):
        return _spell(mark.line + 1, mark.column + 1)
    return _spell(len(lines), len(lines[-1]) + 1)


def _spell(line: int, column: int) -> str:
    return f"line {line}, column {column}"
