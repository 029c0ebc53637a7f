"""Print the options that a service reads, with their types, as JSON: `options.py PACKAGE`.

It runs where the service is installed, and asks oslo.config: for the options of the package itself, and for those of
the libraries that it depends on. Stackwright keeps the result beside the service's blueprint, as `options.json`.
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Any

from keystoneauth1 import loading
from oslo_config import cfg, types

# Entries of this group list the options of a package.
GROUP = "oslo.config.opts"

Said = dict[str, Any]
UNKNOWN: Said = {"type": "any"}


def normal(name: str) -> str:
    """Return the name of a package as packages compare them."""
    return re.sub(r"[-_.]+", "-", name).lower()


def packages(package: str) -> set[str]:
    """Return the package and those that it depends on directly."""
    needed = [re.match(r"[A-Za-z0-9._-]+", line).group() for line in metadata.requires(package) or ()]
    return {normal(name) for name in (package, *needed)}


def choices(kind: Any) -> list[Any] | None:
    """Return the values that a type allows, as they stand in a file."""
    # None is what an option is that nobody sets; no file can say it.
    return [choice for choice in kind.choices if choice is not None] if kind.choices is not None else None


def text(kind: Any) -> Said:
    """Return a type of texts."""
    pattern = kind.regex.pattern if kind.regex is not None else None
    flags = kind.regex.flags & ~re.UNICODE if kind.regex is not None else None
    longest = kind.max_length or None
    said = {"choices": choices(kind), "pattern": pattern, "flags": flags, "longest": longest}
    return {**said, "quotes": kind.quotes, "ignoreCase": kind.ignore_case and kind.choices is not None}


def number(kind: Any) -> Said:
    """Return a type of numbers; a choice goes before bounds."""
    allowed = choices(kind)
    return {"choices": allowed} if allowed is not None else {"least": kind.min, "most": kind.max}


def several(kind: Any) -> Said:
    """Return a type of lists."""
    return {"of": described(kind.item_type), "bounds": kind.bounds, "fewest": kind.min_length}


def pairs(kind: Any) -> Said:
    """Return a type of maps."""
    of, separator = described(kind.value_type), kind.key_value_separator
    return {"of": of, "bounds": kind.bounds, "fewest": kind.min_length, "separator": separator}


def version(kind: Any) -> Said:
    """Return which addresses a type allows; None are those of both versions."""
    checker = kind.version_checker.__name__
    return {"version": {"_check_ipv4": 4, "_check_ipv6": 6}.get(checker)}


READERS = {
    types.String: ("string", text),
    types.MultiString: ("string", text),
    types.Boolean: ("boolean", lambda _: {}),
    types.Integer: ("integer", number),
    types.Port: ("integer", number),
    types.Float: ("float", number),
    types.List: ("list", several),
    types.Dict: ("map", pairs),
    types.Range: ("range", lambda kind: {"least": kind.min, "most": kind.max}),
    types.IPAddress: ("address", version),
    types.Hostname: ("hostname", lambda _: {}),
    types.HostAddress: ("host", lambda kind: version(kind.ip_address)),
    types.HostDomain: ("domain", lambda kind: version(kind.ip_address)),
    # keystoneauth has Python's own functions for types.
    str: ("string", lambda _: {}),
    types.URI: ("url", lambda kind: {"longest": kind.max_length, "schemes": kind.schemes and list(kind.schemes)}),
}


def described(kind: Any) -> Said:
    """Return a type as data; one that is not oslo.config's own allows anything that we know of."""
    key = kind if kind is str else type(kind)
    if key not in READERS:
        return UNKNOWN
    name, read = READERS[key]
    said = {key: value for key, value in read(kind).items() if value is not None and value is not False}
    # A bound of 0 says something; no flags and no fewest do not.
    return {"type": name, **{key: value for key, value in said.items() if value != 0 or key in ("least", "most")}}


def logins() -> list[Any]:
    """Return the options that keystoneauth adds to a section with auth_type, of all of its plugins."""
    found = {option.dest: option for option in loading.get_auth_common_conf_options()}
    for loader in loading.get_available_plugin_loaders().values():
        try:
            options = loading.get_auth_plugin_conf_options(loader)
        except ImportError:
            continue  # A plugin whose own library is not installed cannot be used either.
        found |= {option.dest: option for option in options if option.dest not in found}
    return list(found.values())


def add(found: dict[str, dict[str, Said]], section: str, option: Any) -> None:
    """Note an option under each name that oslo.config would find it by."""
    names = [(section, option.dest)]
    names += [
        (old.group or section, old.name or option.dest) for old in option.deprecated_opts if old.name or old.group
    ]
    said = {**described(option.type), **({"repeated": True} if option.multi else {})}
    for group, name in names:
        options = found.setdefault(group if group == "DEFAULT" else group.lower(), {})
        # Two libraries may share a name and mean different things.
        options[name] = said if options.get(name, said) == said else UNKNOWN


def listed(package: str) -> Iterator[tuple[str, Any]]:
    """Yield section and option of all that a package and its libraries list."""
    wanted = packages(package)
    for entry in sorted(metadata.entry_points(group=GROUP)):
        if normal(entry.dist.name) not in wanted:
            continue
        try:
            groups = entry.load()()
        except ImportError as error:
            # A plugin whose own library is not in the image: its section is not known here, and nobody can use it.
            sys.stderr.write(f"{entry.name}: {error}\n")
            continue
        for group, options in groups:
            yield from ((getattr(group, "name", group) or "DEFAULT", option) for option in options)


def main() -> None:
    """Print the list of one package."""
    found: dict[str, dict[str, Said]] = {}
    for section, option in listed(sys.argv[1]):
        if not isinstance(option, cfg.SubCommandOpt):
            add(found, section, option)
    for section in [name for name, options in found.items() if "auth_type" in options]:
        for option in logins():
            if option.dest not in found[section]:
                add(found, section, option)
    # A line for each option, so that a change of versions can be read.
    lines = []
    for section in sorted(found):
        entries = (f"    {json.dumps(name)}: {json.dumps(found[section][name])}" for name in sorted(found[section]))
        lines.append(f"  {json.dumps(section)}: {{\n" + ",\n".join(entries) + "\n  }")
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


main()
