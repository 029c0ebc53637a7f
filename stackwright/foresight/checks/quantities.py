"""Quantities as Kubernetes writes them: 100m, 1.5, 256Mi, 10G. Pure."""

import re

_FORM = re.compile(r"([0-9.]+)(?:[eE]([+-]?[0-9]+)|(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|n|u))?")
_DECIMAL = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", 1)}


def amount(text: object) -> float:
    """Return a quantity as a number; 0 for what is none: the server would not have taken it."""
    found = _FORM.fullmatch(str(text).strip())
    if found is None:
        return 0.0
    number, exponent, unit = found.groups()
    return float(number) * 10.0 ** int(exponent or 0) * (_DECIMAL | _BINARY)[unit or ""]


def cpus(number: float) -> str:
    """Return an amount of processors as people say it."""
    return f"{number:.2f}".rstrip("0").rstrip(".") + " CPU"


def memory(number: float) -> str:
    """Return an amount of memory as people say it."""
    return f"{number / 2**30:.1f} GiB" if number >= 2**30 else f"{number / 2**20:.0f} MiB"
