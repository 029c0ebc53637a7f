"""On a person's machine a skip is a skip; in CI it is a failure, and an expected failure is none."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = {
    "test_inside.py": "import pytest\ndef test(): pytest.skip('no compiler inside')\n",
    "test_fixture.py": """
        import pytest
        @pytest.fixture
        def compiler(): pytest.skip('no compiler in a fixture')
        def test(compiler): pass
    """,
    "test_mark.py": "import pytest\n@pytest.mark.skip(reason='no compiler by mark')\ndef test(): pass\n",
    "test_module.py": "import pytest\npytest.skip('no compiler for all', allow_module_level=True)\n",
    "test_expected.py": "import pytest\n@pytest.mark.xfail(reason='known')\ndef test(): assert False\n",
}


def run(folder: Path, ci: str) -> "subprocess.CompletedProcess[str]":
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    for name, code in TESTS.items():
        (folder / name).write_text(textwrap.dedent(code))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", "--continue-on-collection-errors"]
    # Plugins that these tests do not use take most of the time.
    command += [f"-pno:{plugin}" for plugin in ("cacheprovider", "xdist", "hypothesispytest", "asyncio")]
    return subprocess.run(command, cwd=folder, env=kept | {"CI": ci}, capture_output=True, text=True, check=False)


def test_a_skip_fails_in_ci_with_its_reason(tmp_path: Path) -> None:
    answer = run(tmp_path, ci="true")
    assert answer.returncode == 1
    for reason in ("inside", "in a fixture", "by mark", "for all"):
        assert f"no compiler {reason}" in answer.stdout
    assert answer.stdout.count("in CI a skip is a failure") >= 4
    assert "1 failed, 1 xfailed, 3 errors" in answer.stdout


@pytest.mark.parametrize("ci", ["", "false"])
def test_a_skip_is_a_skip_elsewhere(tmp_path: Path, ci: str) -> None:
    answer = run(tmp_path, ci)
    assert answer.returncode == 0
    assert "4 skipped, 1 xfailed" in answer.stdout
