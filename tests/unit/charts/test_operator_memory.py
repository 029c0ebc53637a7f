"""The memory limit of the operators holds all that they may take."""

from pathlib import Path

import yaml

from stackwright.adapters.helm import packages, programs, rendering

VALUES = Path(__file__).parents[3] / "charts" / "stackwright" / "values.yaml"
# The pages of the helm program itself, and what an operator needs to read the longest output.
PROGRAM, READING = 64 * 2**20, 64 * 2**20


def test_the_limit_is_the_operator_and_every_helm_that_may_run_at_once() -> None:
    resources = yaml.safe_load(VALUES.read_text())["resources"]
    asked, limit = (int(resources[name]["memory"].removesuffix("Mi")) * 2**20 for name in ("requests", "limits"))
    helms = (1 + rendering.AT_ONCE) * programs.Bounds().memory + packages.BOUNDS.memory
    assert asked + helms + PROGRAM + READING <= limit < asked + helms + PROGRAM + READING + 64 * 2**20
