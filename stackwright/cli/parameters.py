"""Types of parameters that click does not have."""

import re

import click

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MOST_PORTS = 65535
_PARTS = re.compile(r"(\d+)([smhd])")


class Duration(click.ParamType[float]):
    """A time such as 90s, 10m or 1h30m; a bare number is seconds."""

    name = "duration"

    def __init__(self, *, least: float = 0.0) -> None:
        self.least = least

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds."""
        seconds = self._seconds(value, param, ctx)
        if seconds < self.least:
            self.fail(f"{value} is too short; it takes {self.least:g}s at least", param, ctx)
        return seconds

    def _seconds(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = str(value).strip()
        if text.isdecimal():
            return float(text)
        parts = _PARTS.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            self.fail(f"{text!r} is not a duration; write 90s, 10m or 1h30m", param, ctx)
        return float(sum(int(number) * _SECONDS[unit] for number, unit in parts))


class Server(click.ParamType[str]):
    """A host and a port, such as 192.0.2.1:11211 or [2001:db8::1]:11211."""

    name = "server"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it as it was said."""
        text = str(value)
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) <= _MOST_PORTS:
            self.fail(f"{text!r} is not a host and a port; write HOST:PORT", param, ctx)
        return text
