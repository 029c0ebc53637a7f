"""What a machine cannot be called."""

import pytest

from stackwright.local.errors import ClusterFailed
from stackwright.local.machine import lifecycle
from stackwright.local.progress import Silent


@pytest.mark.parametrize("name", ["", "Compute", "a.b", lifecycle.KEY, lifecycle.FIRST_SERVER_KEY])
def test_a_machine_is_not_called_like_a_file_beside_it(name: str) -> None:
    with pytest.raises(ClusterFailed, match=f'A node cannot be called "{name}"'):
        lifecycle.add("trial", name, progress=Silent(), ask=lambda _: False)
