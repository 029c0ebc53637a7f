"""The file from which a service's processes start: the checks before serving, then the service itself. Pure."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from stackwright.api.base import JsonObject
from stackwright.blueprint import start
from stackwright.blueprint.service import ConfigFile

# Created by a process without a port once it has read its configuration; the chart's probe looks for it.
STARTED = "/tmp/stackwright-started"  # noqa: S108  it is a path in the service's own pod


# In this order: the second has nothing before it that it needs, and its names stay whole.
_TEXTS = ("serving.py", "peers.py")


@cache
def _checks(service: str) -> str:
    texts = [(Path(__file__).parent / "pod" / name).read_text(encoding="utf-8") for name in _TEXTS]
    # What we write comes first in the order of a service's files; what users write comes behind it.
    ours = f"/etc/{service}/{service}.conf.d/01-*.conf"
    call = f'list_refusals("{ours}", "{_given(service)}")'
    return "\n\n".join((*texts, f"def peers() -> Iterator[str]:\n    return {call}\n"))


def _given(service: str) -> str:
    return f"/etc/{service}/given"


def given(service: str, options: Iterable[str]) -> ConfigFile:
    """Return the list of options whose values come from Secrets of the user's: peers are asked about these too."""
    return ConfigFile("given", "".join(f"{option}\n" for option in sorted(options)), _given(service))


def application(service: str, module: str, lines: str = "") -> ConfigFile:
    """Return the file of an API that uwsgi serves: the application of a module, and lines that come after it."""
    text = f'{_checks(service)}\n\napplication = load("{module}", peers)\n{lines}'
    return ConfigFile("application.py", text, place(service))


def policies(package: str, load: str = "init") -> str:
    """Return the lines that load the policies of who may do what, which the module `policy` of a package has."""
    return f"from {package} import policy\n\nprepare_policies(policy.{load})\n"


def daemon(service: str, lines: str) -> ConfigFile:
    """Return the file of a program that serves no port: `lines` read its configuration, check it and run it."""
    return ConfigFile("daemon.py", f"{_checks(service)}\n\n{lines}", f"/etc/{service}/daemon.py")


def place(service: str) -> str:
    """Return the path of the API's file in a service's pods."""
    return f"/etc/{service}/application.py"


def started(template: Any) -> JsonObject:
    """Return what the chart looks for once a daemon has read its configuration; a user's own command leaves nothing."""
    own = start.own_of(template)
    return {} if own is not None and own.command else {"started": STARTED}
