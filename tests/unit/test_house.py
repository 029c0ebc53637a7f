"""Rules of the house that no linter knows."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from stackwright import services as known

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "stackwright"

# What runs under every service and what all of them ask who somebody is: these may be named where they are used.
INFRASTRUCTURE = {"mariadb", "rabbitmq", "memcached", "keystone"}
FOREIGN_WORDS = re.compile(
    r"openstack|keystone|nova|glance|neutron|placement|mariadb|rabbitmq|memcached", re.IGNORECASE
)
# Fields that one service happens to have alone so far: upstream gives them to others as well.
EVERYBODYS = {"keystoneAuthURL", "networkAttachment"}
NOTHING_NAMES = {"utils", "util", "common", "helpers", "helper", "misc", "manager"}


def services() -> set[str]:
    return {folder.name for folder in (PACKAGE / "services").iterdir() if (folder / "__init__.py").exists()}


def words(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every identifier and string literal of a module, with its line; docstrings are prose and not asked."""
    prose = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if node not in prose:
                yield node.lineno, text
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name


def named_outside(source: str, names: set[str]) -> list[str]:
    """Return where a module names one of the services."""
    if not names:
        return []
    wanted = re.compile("|".join(rf"(?<![a-z]){name}(?![a-z])" for name in sorted(names)), re.IGNORECASE)
    return [f"line {line}: {text}" for line, text in words(ast.parse(source)) if wanted.search(text)]


def test_the_runtime_has_no_word_of_what_runs_on_it() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((PACKAGE / "kube").rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if FOREIGN_WORDS.search(line)
    ]
    assert found == []


def test_a_service_is_named_in_its_own_folder_alone() -> None:
    names = services() - INFRASTRUCTURE
    places = [
        path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in ("services", "adapters")
    ]
    found = {str(path.relative_to(ROOT)): lines for path in places if (lines := named_outside(path.read_text(), names))}
    assert found == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param("glance = 1", True, id="a-variable"),
        pytest.param("x = 'glance-api'", True, id="a-string"),
        pytest.param("class GlanceSpec: pass", False, id="a-longer-word-is-another-word"),
        pytest.param('"""Glance is an example."""', False, id="prose-may-name-it"),
        pytest.param("x = 'at a glance'", True, id="a-text-is-not-excused"),
    ],
)
def test_the_search_finds_what_it_looks_for(source: str, found: bool) -> None:
    assert bool(named_outside(source, {"glance"})) is found


def own_fields() -> dict[str, str]:
    """Return the fields that kinds of one service alone have, each with its service; a plain word may mean anything."""
    owners: dict[str, set[str]] = {}
    for kind in known.kinds():
        folder = kind.__module__.split(".")[2]
        for part in msgspec.structs.fields(kind):
            if part.name in ("spec", "status"):
                for field in msgspec.structs.fields(part.type):
                    owners.setdefault(field.encode_name, set()).add(folder)
    return {
        name: owner
        for name, (owner, *others) in owners.items()
        if not others and owner in services() - INFRASTRUCTURE and name != name.lower()
    }


def test_what_all_services_have_in_common_knows_no_field_of_one() -> None:
    fields = own_fields()
    assert fields["dbType"] == "ovn"
    found = {
        f"{path.relative_to(ROOT)}:{line}: {text} of {fields[text]}"
        for path in (PACKAGE / "blueprint").rglob("*.py")
        for line, text in words(ast.parse(path.read_text()))
        if text in fields and text not in EVERYBODYS
    }
    assert found == set()


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [path for path in PACKAGE.rglob("*.py") if path.stem in NOTHING_NAMES] == []


def test_every_package_states_its_rule() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("__init__.py")
        if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_a_task_has_an_owner() -> None:
    """A task that nobody waits for loses its failure: `stackwright.tasks` starts them, or a task group."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != PACKAGE / "tasks.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in ("create_task", "ensure_future")
        and isinstance(node.value, ast.Name)
        and node.value.id in ("asyncio", "loop")
    ]
    assert found == []


def imported_tests(source: str) -> list[str]:
    """Return the modules of tests that a module imports, as a whole or in part."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                found += [module, *(f"{module}.{each.name}" for each in names)]
            case ast.Import(names=names):
                found += [each.name for each in names]
    return [name for name in found if re.fullmatch(r"tests\.(\w+\.)*test_\w+", name)]


def test_nothing_is_imported_from_test_modules() -> None:
    """What several files need has a module of its own, so that a test can be moved, or taken away, alone."""
    found = {
        str(path.relative_to(ROOT)): names
        for folder in ("tests", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (names := imported_tests(path.read_text()))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        pytest.param("from tests.unit.test_a import b", ["tests.unit.test_a"], id="a-part-of-it"),
        pytest.param("from tests.unit import test_a", ["tests.unit.test_a"], id="all-of-it"),
        pytest.param("import tests.unit.test_a as a", ["tests.unit.test_a"], id="under-another-name"),
        pytest.param("def f():\n    from tests.test_a import b", ["tests.test_a"], id="within-a-function"),
        pytest.param("from tests.unit.parts import a", [], id="a-module-that-has-no-tests"),
        pytest.param("from structlog.testing import capture_logs", [], id="somebody-else's"),
    ],
)
def test_imports_of_tests_are_found(source: str, found: list[str]) -> None:
    assert imported_tests(source) == found


def test_what_ci_does_not_run_can_still_be_set_up() -> None:
    """A fixture that gets another name is noticed here, and not when somebody needs those tests."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--setup-plan",
        "tests/chaos",
        "tests/long",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:]


def test_one_function_reads_numbers_that_people_write() -> None:
    """`str.isdigit` is also true of texts that `int` refuses: one of those would stop the reconciles of a namespace."""
    # The second only chooses a word; the third reads ports of a field that is short, and takes the digits of `int`.
    careful = {"blueprint/whole_numbers.py", "blueprint/cron.py", "controllers/dataplane/runs.py"}
    floors = ("api", "adapters", "blueprint", "controllers", "services")
    found = {
        name
        for path in PACKAGE.rglob("*.py")
        if (name := path.relative_to(PACKAGE).as_posix()).partition("/")[0] in floors
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("isdigit", "isdecimal", "isnumeric")
    }
    assert found == careful
