"""YAML as the programs in Go read it, helm and kubectl: which words without quotes are numbers, answers or texts. Pure.

tests/charts/test_words.py compares it with helm.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import yaml

# From here on JSON has an exponent.
_EXPONENT_FROM = 1e21

# The reader in C takes a seventh of the time of the one in Python; PyYAML may have been built without it.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(_Base):  # type: ignore[misc]  # which of the two it is depends on how PyYAML was built
    """Reads YAML as helm does, which makes JSON of it: a date is a text, and a whole number has no fraction.

    Templates print a number from a million on with an exponent, such as `1e+06`. A time such as `12:30`, an address of
    digits and colons, and a lone `=` are texts; for PyYAML they are numbers to the base of 60, and no value at all.
    """


class SlowLoader(yaml.SafeLoader):
    """The same, by the reader in Python, whose messages say more."""


_INT, _FLOAT, _BOOL = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:bool"
_TIMESTAMP, _TEXT = "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:str"
_OTHERWISE = {_TIMESTAMP, "tag:yaml.org,2002:value", _INT, _FLOAT}

_WHOLE = re.compile(r"[-+]?(0[bB][01]+|0[xX][\da-fA-F]+|0[oO]?[0-7]+|0|[1-9]\d{0,19})", re.ASCII)
_FRACTION = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?", re.ASCII)
# After a point that begins the word, `_` only separates digits; elsewhere helm leaves it out wherever it stands.
_MISPLACED = re.compile(r"(?<!\d)_|_(?!\d)", re.ASCII)
# A number to the base of 8, as it was written before YAML 1.2 and Python 3.
_OLD_OCTAL = re.compile("^([-+]?0)(?=[0-7])")
_ENDLESS = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
# Half of a character, which nobody can write: the reader in C refuses it itself.
_HALF = re.compile("[\ud800-\udfff]")


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


def is_text(node: yaml.ScalarNode) -> bool:
    """Return whether a word is a text. What only looks like a number, such as `25-nova.conf`, is one, too."""
    return node.tag == _TEXT or (node.tag == _FLOAT and isinstance(number_of(node.value), str))


def _number(_: Any, node: yaml.ScalarNode) -> float | str:
    return number_of(node.value)


def _text(loader: Any, node: yaml.ScalarNode) -> str:
    if _HALF.search(value := str(loader.construct_scalar(node))):
        raise yaml.constructor.ConstructorError(None, None, "it has half of a character", node.start_mark)
    return value


def _as_tagged(tag: str, construct: Callable[[Any, yaml.Node], Any]) -> Callable[[Any, yaml.Node], Any]:
    """Return what makes the value of a tag that somebody wrote: a value that is none is a mistake in the text."""

    def made(loader: Any, node: yaml.Node) -> Any:
        try:
            return construct(loader, node)
        except (ValueError, KeyError, AttributeError):
            word = tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(None, None, f"the value is no {word}", node.start_mark) from None

    return made


def _teach(loader: Any, base: Any) -> None:
    """Give a reader the words of helm."""
    loader.yaml_implicit_resolvers = {
        letter: [(tag, pattern) for tag, pattern in resolvers if tag not in _OTHERWISE]
        for letter, resolvers in base.yaml_implicit_resolvers.items()
    }
    for tag, pattern, first in (
        (_FLOAT, r"[-+.\d][-+.\w]*$", "-+.0123456789"),
        (_BOOL, "[yYnN]$", "yYnN"),
    ):
        loader.add_implicit_resolver(tag, re.compile(pattern, re.ASCII), list(first))
    loader.bool_values = {**base.bool_values, "y": True, "n": False}
    loader.add_constructor(_FLOAT, _number)
    for tag in (_INT, _BOOL, _TIMESTAMP):
        loader.add_constructor(tag, _as_tagged(tag, base.yaml_constructors[tag]))


_teach(Loader, _Base)
_teach(SlowLoader, yaml.SafeLoader)
SlowLoader.add_constructor(_TEXT, _text)
