"""The files from which services' processes start."""

import ast

import pytest

from stackwright.blueprint import serving
from stackwright.blueprint.service import ConfigFile
from stackwright.services.barbican.settings import PROGRAMS
from stackwright.services.glance.settings import PREPARE as GLANCE
from stackwright.services.keystone.settings import PREPARE as KEYSTONE


@pytest.mark.parametrize(
    "file",
    [
        serving.application("keystone", "keystone.wsgi.api", KEYSTONE),
        serving.application("placement", "placement.wsgi.api"),
        serving.application("glance", "glance.wsgi.api", GLANCE),
        *PROGRAMS.values(),
    ],
    ids=["keystone", "placement", "glance", "barbican", "barbican-worker", "barbican-keystone-listener"],
)
def test_each_is_a_program_that_checks_before_it_serves(file: ConfigFile) -> None:
    tree = ast.parse(file.content)
    calls = [node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    assert {"load", "check"} & set(calls)
    imported = {
        name
        for node in ast.walk(tree)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
        + ([each.name for each in node.names] if isinstance(node, ast.Import) else [])
    }
    assert not any(name.startswith("stackwright") for name in imported)


def test_the_mark_of_a_start_is_the_same_in_the_pod_and_for_its_probe() -> None:
    assert f'Path("{serving.STARTED}")' in PROGRAMS["worker"].content


def test_the_application_is_loaded_before_anything_is_asked() -> None:
    text = serving.application("keystone", "keystone.wsgi.api", KEYSTONE).content
    assert text.index('application = load("keystone.wsgi.api", peers)') < text.index("reach(ask)")
