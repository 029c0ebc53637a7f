"""What the collection for machines has in common with other parts of the product, and with itself."""

import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ROLES = sorted((ROOT / "ansible" / "roles").iterdir())


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_variable_with_a_default_is_described(role: Path) -> None:
    described = read(role / "meta" / "argument_specs.yml")["argument_specs"]["main"]["options"]
    assert set(read(role / "defaults" / "main.yml")) <= set(described)


def test_a_machine_and_a_gateway_of_one_name_would_be_the_same_chassis() -> None:
    chassis = runpy.run_path(str(ROOT / "charts" / "ovn" / "files" / "chassis.py"))
    said = read(ROOT / "ansible" / "roles" / "edpm_ovn" / "vars" / "main.yml")
    assert said["edpm_ovn_namespace"] == str(chassis["_NODES"])


def test_servers_run_as_the_user_that_nova_has_in_the_image() -> None:
    said = read(ROOT / "ansible" / "roles" / "edpm_nova" / "vars" / "main.yml")
    assert (
        f"uid = {said['edpm_nova_user']}\n" in (ROOT / "stackwright" / "services" / "nova" / "image.toml").read_text()
    )
