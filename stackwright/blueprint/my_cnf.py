"""MariaDB's option files (my.cnf), read as far as needed to say what is wrong with one. Pure.

They look like oslo.config's and are not: an option needs no value, blanks before it mean nothing, a comment
may follow on the same line, and `!include` names another file.
"""

import re

from stackwright.blueprint.ini import Problem, shown
from stackwright.blueprint.my_cnf_numbers import NUMBERS
from stackwright.blueprint.whole_numbers import read_number

# The sections that a server reads; some have a version behind.
_OF_SERVERS = re.compile(r"(mysqld|mariadbd|server|mariadb|galera)(-\d.*)?")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?[kmgtpe]?", re.IGNORECASE)
_DIRECTIVES = ("include", "includedir")


def problem(text: str) -> Problem | None:
    """Return the first thing that MariaDB would refuse or silently ignore; None if there is none."""
    section = ""
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole.strip()
        if not line or line.startswith(("#", ";")):
            continue
        if line.startswith("["):
            section, _, rest = line[1:].partition("]")
            message = _section(line, section.strip(), rest)
        elif line.startswith("!"):
            message = _directive(line)
        else:
            message = _option(line, section)
        if message:
            return Problem(number, message)
    return None


def number(text: str, option: str) -> int:
    """Return the whole number that a server takes for an option; 0 if the text says none."""
    section, found = "", 0
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line[1:].partition("]")[0].strip()
        name, _, value = line.partition("#")[0].partition("=")
        if _OF_SERVERS.fullmatch(section) and name.strip().replace("-", "_") == option:
            said = read_number(value)
            found = found if said is None else said
    return found


def _section(line: str, name: str, rest: str) -> str:
    if "]" not in line:
        return f"the section {shown(line)} does not end with ]"
    if not name:
        return "the section [] has no name"
    if rest.strip() and not rest.strip().startswith(("#", ";")):
        return f"{shown(rest.strip())} stands after the section [{name}]; write it on a line of its own"
    return ""


def _directive(line: str) -> str:
    word, _, path = line[1:].strip().partition(" ")
    if word not in _DIRECTIVES:
        return f"{shown(line)} is not a directive; there are !include and !includedir"
    return "" if path.strip() else f"!{word} needs a path"


def _option(line: str, section: str) -> str:
    name = line.partition("=")[0].partition("#")[0].strip()
    if not name:
        return 'there is no option name before "="'
    if not section:
        return f"the option {shown(name)} is before any section; write [mysqld] above it"
    if len(name.split()) > 1:
        return f"{shown(name)} is not a valid name of an option; write option = value"
    return _value(line, name.lower().replace("-", "_")) if _OF_SERVERS.fullmatch(section.strip()) else ""


def _value(line: str, name: str) -> str:
    """Return why a server would not start with the value of an option; what it is, is shown to nobody."""
    value = line.partition("=")[2].partition("#")[0].strip().strip("'\"").strip()
    if name not in NUMBERS or not value or _NUMBER.fullmatch(value):
        return ""
    how = "is a number, with K, M or G behind it where it is a size"
    return f"the option {shown(name)} {how}; the server would not start"
