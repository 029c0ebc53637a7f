"""Where the time of a ring goes, read from what pytest prints."""

from tests.durations import by_file, table

PRINTED = """\
3.50s setup    tests/functional/test_a.py::test_one[x::y]
1.00s call     tests/functional/test_a.py::test_one[x::y]
10.25s call     tests/functional/test_b.py::TestB::test_two
0.25s teardown tests/functional/test_b.py::TestB::test_two
(6 durations < 0.005s hidden.  Use -vv to show these durations.)
"""


def test_seconds_are_added_by_file_and_phase_the_longest_first() -> None:
    found = by_file(PRINTED.splitlines())
    assert list(found) == ["tests/functional/test_b.py", "tests/functional/test_a.py"]
    assert found["tests/functional/test_a.py"] == {"setup": 3.5, "call": 1.0, "teardown": 0.0}
    assert table(found).splitlines()[1].split() == ["10.5", "70.0%", "0.0", "10.2", "0.2", "tests/functional/test_b.py"]


def test_nothing_takes_no_time() -> None:
    assert by_file(["passed"]) == {}
    assert table({}).splitlines()[0].endswith("file")
