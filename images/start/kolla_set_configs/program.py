"""The program itself: load the configuration, then bring it into place or check it."""

from __future__ import annotations

import argparse
import logging
import os

from .checking import check_configs
from .configuration import Config
from .copying import STAYS, copy_config_file, create_directory, create_file
from .defaults import Places, find_places, keep_defaults
from .errors import ImmutableConfig, InvalidConfig, StartError
from .loading import load_config
from .properties import apply_rule, is_root, set_mode

LOG = logging.getLogger("kolla_set_configs")

STRATEGIES = ("COPY_ALWAYS", "COPY_ONCE")


def set_configs(config: Config, place: Places) -> None:
    """Bring the container into the state that the configuration describes; the order is part of the contract."""
    for rule in config.directories:
        create_directory(rule)
    for rule in config.files:
        create_file(rule)
    keep_defaults(config, place)
    LOG.info("Copying service configuration files")
    for entry in config.config_files:
        copy_config_file(entry)
    LOG.info("Writing out command to execute")
    place.run_command.write_text(config.command, encoding="utf-8")
    set_mode(place.run_command, 0o644)
    for rule in config.permissions:
        apply_rule(rule)


def execute_strategy(config: Config, place: Places, strategy: str | None) -> None:
    """Copy on every start, or only once."""
    LOG.info("Kolla config strategy set to: %s", strategy)
    if strategy not in STRATEGIES:
        raise InvalidConfig(f"KOLLA_CONFIG_STRATEGY is not set properly: use {' or '.join(STRATEGIES)}")
    if strategy == "COPY_ONCE" and place.configured.exists():
        raise ImmutableConfig("The config strategy prevents copying new configs")
    set_configs(config, place)
    if strategy == "COPY_ONCE":
        place.configured.touch()


def explain(error: OSError) -> str:
    """Return a sentence for what the file system refused."""
    if error.errno is None:
        return str(error)
    sentence = f"{error.filename}: {error.strerror}"
    if error.errno in STAYS and not is_root():
        sentence += f"; the image or a volume has to open it to uid {os.geteuid()}"
    return sentence


def run(*, check: bool) -> int:
    """Do what was asked for and return the exit code."""
    try:
        config = load_config(os.environ)
        place = find_places(os.environ)
        if check:
            check_configs(config, place)
        else:
            execute_strategy(config, place, os.environ.get("KOLLA_CONFIG_STRATEGY"))
    except StartError as error:
        LOG.log(logging.ERROR if error.exit_code else logging.INFO, "%s: %s", type(error).__name__, error)
        return error.exit_code
    except OSError as error:
        LOG.error("OSError: %s", explain(error))  # noqa: TRY400  A sentence says what to do; a traceback does not.
        return 2
    except Exception:
        LOG.exception("Unexpected error:")
        return 2
    return 0


def main() -> int:
    """Run the program."""
    form = "%(asctime)s.%(msecs)03d %(levelname)s %(message)s"
    logging.basicConfig(format=form, datefmt="%Y-%m-%d %H:%M:%S", level=logging.INFO)
    parser = argparse.ArgumentParser(
        prog="kolla_set_configs", description="Put this container's configuration in place."
    )
    parser.add_argument("--check", action="store_true", help="only say whether it is in place")
    return run(check=parser.parse_args().check)
