"""What oslo.config's types allow, without oslo.config: the operator tells before a service would stumble. Pure.

Each function returns what is allowed, in words, where a value is refused, and "" where it is taken. The value itself
is never repeated: it may be a secret. A type that is not known here takes everything.
"""

import re
import socket
from collections.abc import Callable

import msgspec

_TRUE, _FALSE = ("true", "1", "on", "yes"), ("false", "0", "off", "no")
_URL = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_LABEL = re.compile(r"(?!-)[A-Z0-9-]{1,63}(?<!-)$", re.IGNORECASE)
_DOMAIN_LABEL = re.compile(r"(?!-)[A-Z0-9-_]{1,63}(?<!-)$", re.IGNORECASE)
_RANGE = re.compile(r"^(0|-?[1-9][0-9]{0,99})(?:-(0|-?[1-9][0-9]{0,99}))?$")
_LONGEST_HOSTNAME = 253
# How many choices are shown to the user.
_SHOWN = 20


class OptionType(msgspec.Struct, frozen=True, rename="camel"):
    """The type of an option, as in `options.json`. None means no limit."""

    type: str
    choices: tuple[str | int | float, ...] | None = None
    pattern: str | None = None
    flags: int = 0
    longest: int | None = None
    quotes: bool = False
    ignore_case: bool = False
    least: int | float | None = None
    most: int | float | None = None
    of: "OptionType | None" = None
    bounds: bool = False
    fewest: int = 0
    separator: str = ":"
    version: int | None = None
    schemes: tuple[str, ...] | None = None
    repeated: bool = False
    """Whether the option may be repeated and every value counts; otherwise the last one counts."""


def allowed(of: OptionType, value: str) -> str:
    """Return "" if oslo.config accepts a value for an option of this type, else what it accepts."""
    check = _CHECKS.get(of.type)
    return check(of, value) if check is not None else ""


def _string(of: OptionType, value: str) -> str:
    if of.quotes and value[:1] in ('"', "'") and value:
        if len(value) == 1 or value[-1] != value[0]:
            return "a quote that is opened must be closed"
        value = value[1:-1]
    if of.longest and len(value) > of.longest:
        return f"must have at most {of.longest} characters"
    if of.pattern is not None and not re.search(of.pattern, value, of.flags):
        return f"must match the pattern {of.pattern}"
    if of.choices is None:
        return ""
    choices = [str(choice) for choice in of.choices]
    taken = value.lower() in map(str.lower, choices) if of.ignore_case else value in choices
    return "" if taken else _one_of(choices)


def _boolean(_: OptionType, value: str) -> str:
    return "" if value.lower() in (*_TRUE, *_FALSE) else "must be true or false"


def _number(read: Callable[[str], float], noun: str) -> Callable[[OptionType, str], str]:
    def check(of: OptionType, value: str) -> str:
        bounds = _bounds(of)
        said = f"must be {noun}{bounds}" if of.choices is None else _one_of([str(choice) for choice in of.choices])
        if not value.strip():
            return ""
        try:
            number = read(value)
        except ValueError:
            return said
        if of.choices is not None:
            return "" if number in of.choices else said
        below = of.least is not None and number < of.least
        return said if below or (of.most is not None and number > of.most) else ""

    return check


def _bounds(of: OptionType) -> str:
    match of.least, of.most:
        case None, None:
            return ""
        case least, None:
            return f", {least:g} or more" if least is not None else ""
        case None, most:
            return f", at most {most}"
        case least, most:
            return f" from {least} to {most}"


def _one_of(choices: list[str]) -> str:
    shown = ", ".join(choices[:_SHOWN])
    return f"must be one of {shown}{' and others' if len(choices) > _SHOWN else ''}"


def _list(of: OptionType, value: str) -> str:
    inner = _inner(of, value.strip().rstrip(","), "[", "]")
    if inner is None:
        return "must be between [ and ]"
    parts = inner.split(",") if inner else []
    count = 0
    while parts:
        problem, part = "", parts.pop(0)
        # An item may have commas in it: oslo.config tries again with the next part added.
        while problem := _item(of, part.strip()):
            if not parts:
                return f"every entry, with commas between them, {problem}"
            part = f"{part},{parts.pop(0)}"
        count += 1
    return f"must have {of.fewest} entries or more" if count < of.fewest else ""


def _map(of: OptionType, value: str) -> str:
    inner = _inner(of, value.strip(), "{", "}")
    if inner is None:
        return "must be between { and }"
    pairs, keys = inner.split(",") if inner else [], set[str]()
    while pairs:
        pair = pairs.pop(0)
        while problem := _pair(of, pair):
            if not pairs:
                return problem
            pair = f"{pair},{pairs.pop(0)}"
        key = pair.split(of.separator, 1)[0].strip()
        if not key or key in keys:
            return "every key must have a name, and appear once"
        keys.add(key)
    return f"must have {of.fewest} entries or more" if len(keys) < of.fewest else ""


def _pair(of: OptionType, pair: str) -> str:
    _, separator, value = pair.partition(of.separator)
    if not separator:
        return f"must be key{of.separator}value pairs, with commas between them"
    problem = _item(of, value.strip())
    return f"the value of every key {problem}" if problem else ""


def _item(of: OptionType, value: str) -> str:
    return allowed(of.of, value) if of.of is not None else ""


def _inner(of: OptionType, value: str, opening: str, closing: str) -> str | None:
    if not of.bounds:
        return value
    return value[1:-1] if value.startswith(opening) and value.endswith(closing) else None


def _range(of: OptionType, value: str) -> str:
    said = f"must be a whole number, or two with - between them{_bounds(of)}"
    found = _RANGE.match(value)
    if found is None:
        return said
    ends = int(found[1]), int(found[2] or found[1])
    below = of.least is not None and min(ends) < of.least
    return said if below or (of.most is not None and max(ends) > of.most) else ""


def _address(of: OptionType, value: str) -> str:
    families = {4: (socket.AF_INET,), 6: (socket.AF_INET6,)}.get(of.version or 0, (socket.AF_INET, socket.AF_INET6))
    if any(_is_address(family, value) for family in families):
        return ""
    return f"must be an IP{f'v{of.version}' if of.version else ''} address"


def _is_address(family: socket.AddressFamily, value: str) -> bool:
    try:
        socket.inet_pton(family, value)
    except (OSError, ValueError):
        return False
    return True


def _hostname(_: OptionType, value: str) -> str:
    return "" if _is_hostname(value, _LABEL) else "must be a host name"


def _is_hostname(value: str, label: re.Pattern[str]) -> bool:
    if not value or len(value) > _LONGEST_HOSTNAME:
        return False
    labels = value.removesuffix(".").split(".")
    return bool(re.search("[a-zA-Z-]", labels[-1])) and all(label.match(each) for each in labels)


def _host(of: OptionType, value: str) -> str:
    taken = not _address(of, value) or _is_hostname(value, _LABEL)
    return "" if taken else "must be a host name or an address"


def _domain(of: OptionType, value: str) -> str:
    taken = not _address(of, value) or _is_hostname(value, _DOMAIN_LABEL)
    return "" if taken else "must be a host name or an address"


def _url(of: OptionType, value: str) -> str:
    found = _URL.match(value)
    scheme, place = (found[1], found[2]) if found is not None else (None, None)
    if not scheme or not _SCHEME.fullmatch(scheme) or place is None:
        return "must be a URL, such as http://host:port/path"
    if of.schemes is not None and scheme.lower() not in map(str.lower, of.schemes):
        return f"must be a URL that begins with {' or '.join(f'{each}://' for each in of.schemes)}"
    if of.longest is not None and len(value) > of.longest:
        return f"must have at most {of.longest} characters"
    return ""


_CHECKS: dict[str, Callable[[OptionType, str], str]] = {
    "string": _string,
    "boolean": _boolean,
    "integer": _number(int, "a whole number"),
    "float": _number(float, "a number"),
    "list": _list,
    "map": _map,
    "range": _range,
    "address": _address,
    "hostname": _hostname,
    "host": _host,
    "domain": _domain,
    "url": _url,
}

Options = dict[str, dict[str, OptionType]]


def decode(text: bytes) -> Options:
    """Return a list of options, by section and name."""
    return msgspec.json.decode(text, type=dict[str, dict[str, OptionType]])
