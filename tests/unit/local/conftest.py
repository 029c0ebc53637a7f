"""What the tests of builds share: a real Go compiler on PATH."""

import os
from pathlib import Path

import pytest

from stackwright.local import cache, toolchain, versions
from stackwright.local.errors import ToolchainMissing
from stackwright.local.progress import Silent
from stackwright.local.toolchain import Toolchain


@pytest.fixture(scope="session")
def compiler() -> Toolchain:
    """The compiler that would build Kubernetes here; fetched when the machine has none."""
    try:
        return toolchain.find(
            versions.go_minimum(versions.MODULE),
            folder=cache.root(),
            architecture=versions.architecture(),
            progress=Silent(),
        )
    except ToolchainMissing as error:
        reason = str(error)
    pytest.skip(reason)


@pytest.fixture
def go(compiler: Toolchain, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    """The compiler, found on PATH."""
    monkeypatch.setenv("PATH", f"{Path(compiler.go).parent}:{os.environ['PATH']}")
    return compiler
