"""oslo.config's files: written from settings, and read as oslo.config itself reads them. Pure.

What `render` writes, `parse` and oslo.config read back as it was: a password may hold quotes, `$` and blanks.
What cannot be written so is refused with a sentence that names the option and never shows the value.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Scalar = str | int | float | bool


@dataclass(frozen=True)
class Repeated:
    """An option that stands once for each value, as a MultiOpt wants it."""

    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class Interpolated:
    """A text in which `$option` means that option's value; in any other text a `$` is only a `$`."""

    text: str


# A sequence is a ListOpt: its values with commas between them. None leaves the option to the service's own default.
Setting = Scalar | Interpolated | Repeated | Sequence[Scalar] | None
Ini = Mapping[str, Mapping[str, Setting]]

# What was read: by section and option, every value that was given, in order.
Sections = dict[str, dict[str, tuple[str, ...]]]

_BLANKS = (" ", "\t")
_COMMENTS = ("#", ";")
_QUOTES = ('"', "'")
# How much of a broken line is repeated to its author.
_SHOWN = 40
# How many lines may say something: more than all options of all services. Whoever reads a text must not be held up.
MOST_LINES = 10_000


class Unwritable(ValueError):
    """A setting that no file can say; the message names the option, not its value."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a snippet: in which line, and what, in words."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(frozen=True)
class Assignment:
    """An option that a text sets, and the line in which it begins."""

    section: str
    option: str
    value: str = field(repr=False)
    line: int


def render(settings: Ini) -> str:
    """Return the file that says these settings: DEFAULT first, else in alphabetical order."""
    names = sorted(settings, key=lambda name: (name != "DEFAULT", name))
    parts = [text for name in names if (text := _section(name, settings[name]))]
    return "\n".join(parts)


def parse(text: str) -> Sections | Problem:
    """Return what oslo.config would read, or the first thing that it would stumble over."""
    # A user's text may give one option thousands of times: what was read is not copied for each of them.
    sections: dict[str, dict[str, list[str]]] = {}
    read = assignments(text)
    if isinstance(read, Problem):
        return read
    for each in read:
        options = sections.setdefault(each.section, {})
        if each.option:
            options.setdefault(each.option, []).append(each.value)
    return {
        section: {option: tuple(values) for option, values in options.items()} for section, options in sections.items()
    }


def assignments(text: str) -> tuple[Assignment, ...] | Problem:
    """Return the same in the order of the lines; a section that begins is one with an empty option."""
    try:
        return tuple(_Reader().assignments(text))
    except _Broken as broken:
        return broken.problem


def last_value(texts: Iterable[str], section: str, option: str) -> str | None:
    """Return the value of an option by several files, the last one last, as oslo.config finds it; None without one.

    A file that cannot be read is told elsewhere, and says nothing here.
    """
    found = None
    for read in map(assignments, texts):
        for each in () if isinstance(read, Problem) else read:
            if (fold_section(each.section), each.option) == (section, option):
                found = each.value
    return found


def fold_section(name: str) -> str:
    """Return the section that oslo.config takes a name for: only of DEFAULT the case counts."""
    return name if name == "DEFAULT" else name.lower()


def shown(line: str) -> str:
    """Return a line as a message repeats it: in quotes, and shortened."""
    return f'"{line}"' if len(line) <= _SHOWN else f'"{line[:_SHOWN]}…"'


# Writing.


def _section(name: str, options: Mapping[str, Setting]) -> str:
    if not name or name != name.strip() or not name.isprintable():
        raise Unwritable(f"[{name!r}] is not a valid name of a section")
    lines = [line for option in sorted(options) for line in _option(name, option, options[option])]
    return "\n".join((f"[{name}]", *lines, "")) if lines else ""


def _option(section: str, option: str, setting: Setting) -> Iterator[str]:
    place = f"[{section}] {option}"
    if not _is_option(option):
        raise Unwritable(f"{place}: that is not a valid name of an option")
    for text in _texts(place, setting):
        yield f"{option} = {_value(place, text)}".rstrip(" ")


def _is_option(option: str) -> bool:
    if not option or option != option.strip() or not option.isprintable():
        return False
    return option[0] not in ("[", *_COMMENTS) and not {"=", ":"} & set(option)


def _texts(place: str, setting: Setting) -> Iterator[str]:
    """Yield the text of each value that the option gets."""
    match setting:
        case None:
            return
        case Interpolated(text):
            yield text
        case Repeated(values):
            yield from (_literal(place, value) for value in values)
        case str() | bool() | int() | float():
            yield _literal(place, setting)
        case _:
            yield ",".join(_item(place, value) for value in setting)


def _literal(place: str, value: Scalar) -> str:
    """Return the text in which oslo.config finds nothing to put another option's value for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if "\\$" in text:
        # Read as an escape whatever follows it, so that there is no way to say it.
        raise Unwritable(f"{place}: the value has a backslash before a dollar sign, which oslo.config cannot read")
    return text.replace("$", "$$")


def _item(place: str, value: Scalar) -> str:
    text = _literal(place, value)
    if "," in text or "\n" in text or text != text.strip():
        raise Unwritable(f"{place}: a value of a list has a comma, a line break or outer blanks in it")
    return text


def _value(place: str, text: str) -> str:
    """Return a value as it stands after the equals sign, over several lines where it has them."""
    if "\r" in text or "\0" in text:
        raise Unwritable(f"{place}: the value has a carriage return or a NUL in it")
    first, *more = text.split("\n")
    if any(not line or line != line.strip() for line in more):
        raise Unwritable(
            f"{place}: of a value with several lines, none after the first may be empty or have outer blanks"
        )
    if first != first.strip() or _quoted(first):
        # The reader takes away outer blanks, then one pair of outer quotes.
        first = f'"{first}"'
    return "\n    ".join((first, *more))


def _quoted(text: str) -> bool:
    return text.startswith(_QUOTES) and text[0] == text[-1]


# Reading.


class _Broken(Exception):
    """Ends the reading of a snippet."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(line, message)


@dataclass
class _Reader:
    """Reads lines one after the other, in the order and by the rules of oslo.config's parser."""

    section: str = ""
    option: str = ""
    value: list[str] = field(default_factory=list)
    begun: int = 0

    def assignments(self, text: str) -> Iterable[Assignment]:
        """Yield what is set; the beginning of a section is yielded with an empty option."""
        left = MOST_LINES
        for number, whole in enumerate(_lines(text), 1):
            line = whole.rstrip()
            left -= bool(line) and not line.startswith(_COMMENTS)
            if left < 0:
                raise _Broken(number, f"more than {MOST_LINES} lines, besides comments, are not read")
            if line.startswith(_BLANKS):
                self._go_on(number, line)
                continue
            yield from self._finished()
            if line.startswith("["):
                self.section = _name(number, line)
                yield Assignment(self.section, "", "", number)
            elif line and not line.startswith(_COMMENTS):
                self._begin(number, line)
        yield from self._finished()

    def _go_on(self, number: int, line: str) -> None:
        if not self.option:
            raise _Broken(
                number,
                f"{shown(line.strip())} begins with a blank, but there is no option above that it could continue",
            )
        self.value.append(line.lstrip())

    def _finished(self) -> Iterator[Assignment]:
        if self.option:
            yield Assignment(self.section, self.option, "\n".join(self.value), self.begun)
        self.option = ""

    def _begin(self, number: int, line: str) -> None:
        places = [place for place in (line.find("="), line.find(":")) if place >= 0]
        if not places:
            raise _Broken(number, f"{shown(line)} is neither a section nor option = value")
        option, value = line[: min(places)].strip(), line[min(places) + 1 :].strip()
        if not option:
            raise _Broken(number, f'there is no option name before "{line[min(places)]}"')
        if not self.section:
            raise _Broken(number, f"the option {shown(option)} is before any section; write [DEFAULT] above it")
        self.option, self.begun = option, number
        self.value = [value[1:-1] if value and _quoted(value) else value]


def _lines(text: str) -> list[str]:
    """Return the lines as a file that was opened as text has them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _name(number: int, line: str) -> str:
    if not line.endswith("]"):
        raise _Broken(number, f"the section {shown(line)} does not end with ]")
    if len(line) <= 2:
        raise _Broken(number, "the section [] has no name")
    return line[1:-1]
