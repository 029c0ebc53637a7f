"""The machine's own package settings: used while an image is built, and left out of it.

They reach the build as files in one folder that is mounted for its time: where the distribution's archive is, apt's
proxies and credentials, pip's index, certificate authorities. Nothing of them is an argument or a variable, which
would stay in an image's history.
"""

import configparser
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MOUNTED = "/mnt/settings"

_DEBIAN_SUITE = re.compile(
    r"(?:bullseye|bookworm|trixie|forky|duke|sid|oldstable|stable|testing|unstable)(?P<kind>-security|-updates)?/?"
)
_APT_OPTION = re.compile(
    r"Acquire::(?:https?::(?:Proxy|Timeout|Verify-Peer|Verify-Host)|Retries|Check-Valid-Until|ForceIPv[46]"
    r"|Languages|AllowInsecureRepositories)\b(?!::CaInfo)",
    re.IGNORECASE,
)
_PIP_OPTIONS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries", "no-index", "find-links")
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


@dataclass(frozen=True)
class Source:
    """One place of packages: an address and what is taken from it."""

    uri: str
    suite: str
    options: str = ""

    @property
    def line(self) -> str:
        """It as apt's files have it."""
        return f"deb {f'[{self.options}] ' if self.options else ''}{self.uri} {self.suite} main"


@dataclass(frozen=True)
class Settings:
    """The settings of this machine's package programs."""

    sources: tuple[Source, ...] = ()
    apt: tuple[str, ...] = ()
    """Lines of apt's configuration."""
    credentials: str = ""
    """apt's user names and passwords, in the form of a netrc file."""
    pip: Mapping[str, str] = field(default_factory=dict)
    netrc: str = ""
    authorities: bytes = b""
    """The certificate authorities that the machine trusts, in PEM."""


def debian_sources(text: str, suite: str) -> Iterator[Source]:
    """Return where this machine has Debian from, for another suite: from the text of a .list or a .sources file."""
    for types, uris, suites, components, options in (*_lines(text), *_stanzas(text)):
        if "deb" not in types.split() or "main" not in components.split() or not _is_debians(options):
            continue
        for name in suites.split():
            if match := _DEBIAN_SUITE.fullmatch(name):
                kept = "trusted=yes" if re.search(r"trusted=yes", options, re.IGNORECASE) else ""
                for uri in uris.split():
                    yield Source(uri, suite + (match["kind"] or ""), kept)


def _is_debians(options: str) -> bool:
    """Tell whether a source is signed by Debian; others have the same names of suites."""
    signed = re.search(r"signed-by=(\S+)", options, re.IGNORECASE)
    return signed is None or "debian-archive" in signed.group(1)


def _lines(text: str) -> Iterator[tuple[str, str, str, str, str]]:
    for line in text.splitlines():
        if match := re.match(r"(deb)\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.*?)\s*(?:#.*)?$", line.strip()):
            yield match[1], match[3], match[4], match[5], match[2] or ""


def _stanzas(text: str) -> Iterator[tuple[str, str, str, str, str]]:
    for stanza in re.split(r"\n\s*\n", text):
        kept = [line for line in stanza.splitlines() if not line.startswith("#")]
        fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)", "\n".join(kept), re.MULTILINE))
        named = {name.lower(): value for name, value in fields.items()}
        if "uris" in named and named.get("enabled", "yes").strip().lower() != "no":
            options = " ".join(f"{key}={named[key].strip()}" for key in ("signed-by", "trusted") if key in named)
            yield named.get("types", ""), named["uris"], named.get("suites", ""), named.get("components", ""), options


def apt_options(dump: str) -> Iterator[str]:
    """Return the lines of `apt-config dump` that say how to reach an archive."""
    return (line for line in dump.splitlines() if _APT_OPTION.match(line) and not line.endswith(' "";'))


def pip_options(texts: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return how pip reaches its index, from its configuration files, a later one first, and its variables."""
    found: dict[str, str] = {}
    for text in texts:
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read_string(text)
        except configparser.Error:
            continue  # pip itself would tell its user; a build then goes on with what is left.
        for section in ("global", "install"):
            if parser.has_section(section):
                found |= {name.replace("_", "-"): value for name, value in parser.items(section)}
    variables = {name: environment.get(f"PIP_{name.replace('-', '_').upper()}", "") for name in (*_PIP_OPTIONS, "cert")}
    found |= {name: value for name, value in variables.items() if value}
    if "find-links" in found:
        # A folder of this machine is not there in the build.
        found["find-links"] = " ".join(link for link in found["find-links"].split() if "://" in link)
    # Several values may stand in lines of their own, and ours have no further lines.
    flat = {name: " ".join(value.split()) for name, value in found.items() if name in (*_PIP_OPTIONS, "cert")}
    return {name: value for name, value in flat.items() if value}


def read(suite: str) -> Settings:
    """Return the settings of this machine, with sources for that suite of Debian."""
    files = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*.[ls][io][su]*"))]
    found = [source for text in _texts(files) for source in debian_sources(text, suite)]
    credentials = _texts([Path("/etc/apt/auth.conf"), *sorted(Path("/etc/apt/auth.conf.d").glob("*.conf"))])
    pip = pip_options(_texts(_pip_files()), os.environ)
    return Settings(
        sources=tuple(dict.fromkeys(found)),
        apt=tuple(apt_options(_apt_dump())),
        credentials="\n".join(credentials),
        pip={name: value for name, value in pip.items() if name != "cert"},
        netrc="\n".join(_texts([Path(os.environ.get("NETRC") or Path.home() / ".netrc")])),
        authorities=_authorities(pip.get("cert", "")),
    )


def write(settings: Settings, directory: Path) -> None:
    """Write them as the scripts of images/build read them at /mnt/settings."""
    directory.mkdir(mode=0o700, parents=True)
    apt = [*settings.apt, 'APT::Sandbox::User "root";']
    if settings.sources:
        (directory / "sources.list").write_text("".join(f"{source.line}\n" for source in settings.sources))
        apt += [f'Dir::Etc::sourcelist "{MOUNTED}/sources.list";', 'Dir::Etc::sourceparts "-";']
    if settings.credentials:
        (directory / "auth.conf").write_text(f"{settings.credentials}\n")
        apt += [f'Dir::Etc::netrc "{MOUNTED}/auth.conf";']
    pip = dict(settings.pip)
    if settings.authorities:
        (directory / "authorities.crt").write_bytes(settings.authorities)
        apt += [f'Acquire::https::CaInfo "{MOUNTED}/authorities.crt";']
        pip["cert"] = f"{MOUNTED}/authorities.crt"
    if settings.netrc:
        (directory / "netrc").write_text(f"{settings.netrc}\n")
    (directory / "apt.conf").write_text("\n".join([*apt, ""]))
    (directory / "pip.conf").write_text("\n".join(["[global]", *(f"{name} = {pip[name]}" for name in pip), ""]))


def _texts(paths: Iterable[Path]) -> list[str]:
    texts = []
    for path in paths:
        try:
            texts.append(path.read_text())
        except (OSError, ValueError):
            continue  # Not there, or not for this user: then it is no setting of his.
    return texts


def _pip_files() -> list[Path]:
    home = Path.home()
    configured = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    files = [Path("/etc/xdg/pip/pip.conf"), Path("/etc/pip.conf"), home / ".pip/pip.conf", configured / "pip/pip.conf"]
    named = os.environ.get("PIP_CONFIG_FILE", "")
    return [*files, Path(sys.prefix) / "pip.conf", *([Path(named)] if named else [])]


def _apt_dump() -> str:
    try:
        return subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout  # noqa: S607  the distribution's
    except (OSError, subprocess.SubprocessError):
        return ""


def _authorities(pip: str) -> bytes:
    """Return all bundles that this machine's programs are told to trust, each once."""
    named = [pip, *(os.environ.get(name, "") for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"))]
    system = next((path for path in _BUNDLES if Path(path).is_file()), "")
    bundles = dict.fromkeys(Path(path).read_bytes() for path in (system, *named) if path and Path(path).is_file())
    return b"\n".join(bundles)
