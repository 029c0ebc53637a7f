"""The charts' examples, for installing by hand, contain what the operators would write."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from stackwright.services.barbican import settings as barbican
from stackwright.services.glance import settings as glance
from stackwright.services.keystone import settings as keystone
from stackwright.services.placement import service as placement

CHARTS = Path(__file__).parents[3] / "charts"


@pytest.mark.parametrize(
    ("example", "imports"),
    [
        ("barbican/example/config/api.json", barbican.IMPORTS),
        ("glance/example/config/default-external.json", glance.IMPORTS),
        ("glance/example/config/default-internal.json", glance.IMPORTS),
        ("keystone/example/config/api.json", keystone.IMPORTS),
        ("placement/example/config/api.json", placement.IMPORTS),
    ],
)
def test_processes_share_the_same_modules(example: str, imports: tuple[str, ...]) -> None:
    words = json.loads((CHARTS / example).read_text(encoding="utf-8"))["command"].split()
    assert tuple(module for option, module in pairwise(words) if option == "--shared-import") == imports
