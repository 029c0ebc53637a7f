"""What the names of rendered objects say."""

import pytest

from stackwright.controllers.release.bodies import is_volume_of


@pytest.mark.parametrize(
    ("claim", "made"),
    [
        ("data-kept-0", True),
        ("data-kept-12", True),
        ("123", False),
        ("data-kept-x", False),
        ("data-kept-", False),
        ("data-kept-more-0", False),
        ("other-kept-0", False),
    ],
)
def test_a_volume_is_of_a_stateful_set_by_its_whole_name(claim: str, *, made: bool) -> None:
    assert is_volume_of(claim, {"metadata": {"name": "data"}}, "kept") is made
