"""Keeps a machine's proxies out of what talks to a cluster on it: they are for the world outside. Pure."""

from collections.abc import Mapping

# Programs know them in capitals and in small letters.
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})
_EXCEPTED = "NO_PROXY"


def without(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which no program finds a proxy."""
    return {name: value for name, value in environment.items() if name.upper() not in {*_PROXIES, _EXCEPTED}}


def except_for(hosts: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which programs find the same proxies, but for those hosts."""
    before = environment.get(_EXCEPTED) or environment.get(_EXCEPTED.lower())
    if not any(name.upper() in _PROXIES for name in environment) or before == "*":
        return dict(environment)
    excepted = ",".join((before, *hosts) if before else hosts)
    return {**environment, _EXCEPTED: excepted, _EXCEPTED.lower(): excepted}
