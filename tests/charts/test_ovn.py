"""The programs of OVN's pods: a changed one restarts the pods that run it, and no others."""

import ast
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackwright.kube import documents
from tests.charts.conftest import CHARTS, VALUES, Helm

PROGRAMS = CHARTS / "ovn" / "files"
HASH = "openstack.org/programs-hash"
# What the pods of each workload start.
STARTED = {"ovsdbserver-nb": "member", "ovn-controller-ovs": "switch", "ovn-controller": "controller"}

Rendered = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture
def changed(helm: Helm, tmp_path: Path) -> Callable[[str], Rendered]:
    """Renders the chart with one of its programs changed; with none for an empty name."""

    def run(program: str) -> Rendered:
        chart = tmp_path / (program or "none") / "ovn"
        shutil.copytree(CHARTS / "ovn", chart)
        if program:
            with (chart / "files" / f"{program}.py").open("a") as file:
                file.write("# changed\n")
        printed = helm("template", "ovn", chart, "--values", VALUES / "ovn.yaml")
        return {(body["kind"], body["metadata"]["name"]): body for body in documents.read(printed)}

    return run


def imported(program: str) -> set[str]:
    """Return a program with all those that it imports."""
    found, left = set(), {program}
    while left:
        name = left.pop()
        found.add(name)
        tree = ast.parse((PROGRAMS / f"{name}.py").read_text())
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        left |= {str(module) for module in modules if (PROGRAMS / f"{module}.py").exists()} - found
    return found


def hashes(objects: Rendered) -> dict[str, str]:
    workloads = {name: body["spec"] for (kind, name), body in objects.items() if kind in ("StatefulSet", "DaemonSet")}
    templates = {name: workloads[name]["template"] for name in STARTED}
    return {name: template["metadata"]["annotations"][HASH] for name, template in templates.items()}


def test_a_changed_program_restarts_the_pods_that_run_it(changed: Callable[[str], Rendered]) -> None:
    before = hashes(changed(""))
    assert before.keys() == STARTED.keys()
    for path in PROGRAMS.glob("*.py"):
        after = hashes(changed(path.stem))
        rolled = {name for name in STARTED if after[name] != before[name]}
        assert rolled == {name for name, program in STARTED.items() if path.stem in imported(program)}, path.stem
        assert rolled, path.stem


def test_pods_have_the_programs_that_they_run(changed: Callable[[str], Rendered]) -> None:
    objects = changed("")
    expected = {f"{name}.py" for program in STARTED.values() for name in imported(program)}
    assert objects["ConfigMap", "ovn-programs"]["data"].keys() == expected
    for name, text in objects["ConfigMap", "ovn-programs"]["data"].items():
        assert text == (PROGRAMS / name).read_text()
