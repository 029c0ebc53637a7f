"""Where the configuration comes from: a file that is mounted into the container, or, of old, the environment."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from .configuration import Config, parse_config
from .errors import InvalidConfig

LOG = logging.getLogger("kolla_set_configs")

CONFIG_FILES = Path("/var/lib/kolla/config_files")


def parse_json(text: str) -> object:
    """Return a JSON document."""
    try:
        document: object = json.loads(text)
    except ValueError as error:
        raise InvalidConfig(str(error)) from None
    return document


def parse_yaml(text: str) -> object:
    """Return a YAML document, if the image can read YAML."""
    try:
        import yaml  # noqa: PLC0415  Not every image has PyYAML, and config.json does without it.
    except ImportError:
        raise InvalidConfig("this image has no PyYAML; write config.json instead") from None
    try:
        document: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        # The whole of the error would quote the file, and that may hold a secret.
        mark = getattr(error, "problem_mark", None)
        raise InvalidConfig("it is not YAML" + (f" (line {mark.line + 1})" if mark else "")) from None
    return document


def find_file(environment: Mapping[str, str]) -> Path:
    """Return the file to read: the one that is named, else config.yaml if it is there, else config.json."""
    named = environment.get("KOLLA_CONFIG_FILE")
    if named:
        return Path(named)
    path = CONFIG_FILES / "config.yaml"
    return path if path.exists() else path.with_suffix(".json")


def load_config(environment: Mapping[str, str]) -> Config:
    """Read the configuration from where it is found first."""
    text = environment.get("KOLLA_CONFIG")
    if text:
        LOG.info("Loading config from KOLLA_CONFIG")
        kind, place = "json", "KOLLA_CONFIG"
    else:
        path = find_file(environment)
        kind, place = ("yaml" if path.suffix in (".yaml", ".yml") else "json"), str(path)
        LOG.info("Loading config file at %s", path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InvalidConfig(f"Invalid {kind} file found at {path}: {reason}") from None
    try:
        document = parse_yaml(text) if kind == "yaml" else parse_json(text)
    except InvalidConfig as error:
        reason = str(error) if text.strip() else "file is empty"
        raise InvalidConfig(f"Invalid {kind} file found at {place}: {reason}") from None
    if document is None:
        raise InvalidConfig(f"Invalid {kind} file found at {place}: file is empty")
    LOG.info("Validating config file")
    return parse_config(document)
