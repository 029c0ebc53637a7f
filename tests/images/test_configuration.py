"""The form of config.json, without a file system."""

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from images.start.kolla_set_configs import configuration, defaults
from images.start.kolla_set_configs.errors import InvalidConfig
from tests.images.container import START

COPY = {"source": "/a", "dest": "/b", "owner": "nova", "perm": "0600"}
MADE = {"path": "/a", "owner": "nova", "perm": "0755"}


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        pytest.param("644", 0o644, id="three-digits"),
        pytest.param("0644", 0o644, id="four-digits"),
        pytest.param("0600", 0o600, id="as-kolla-ansible-writes-it"),
        pytest.param("0o644", 0o644, id="as-python-writes-it"),
        pytest.param("0o0644", 0o644, id="as-python-writes-it-with-four-digits"),
        pytest.param("1777", 0o1777, id="sticky"),
        pytest.param("2755", 0o2755, id="set-group-id"),
        pytest.param("0o2775", 0o2775, id="set-group-id-as-python-writes-it"),
        pytest.param("4755", 0o4755, id="set-user-id"),
        pytest.param("0000", 0, id="nothing-for-anybody"),
    ],
)
def test_perm(text: str, mode: int) -> None:
    assert configuration.parse_perm(text) == mode


@pytest.mark.parametrize(
    "value", ["", "44", "0888", "rw-r--r--", "u+x", "07777", "0x1ff", "0o12345", " 644", 420, None]
)
def test_anything_else_is_no_perm(value: object) -> None:
    with pytest.raises(InvalidConfig, match="Invalid permission"):
        configuration.parse_perm(value)


@pytest.mark.parametrize(
    ("owner", "parts"),
    [
        pytest.param("nova", ("nova", "nova"), id="the-group-is-called-like-the-user"),
        pytest.param("nova:", ("nova", "nova"), id="an-empty-group-is-no-group"),
        pytest.param("root:nova", ("root", "nova"), id="user-and-group"),
    ],
)
def test_owner(owner: str, parts: tuple[str, str]) -> None:
    assert configuration.split_owner(owner) == parts


@pytest.mark.parametrize(
    ("perm", "mode"),
    [(0o644, 0o755), (0o600, 0o700), (0o640, 0o750), (0o755, 0o755), (0o200, 0o200), (0o2640, 0o2750), (0o004, 0o005)],
)
def test_a_directory_can_be_entered_by_those_who_can_read_it(perm: int, mode: int) -> None:
    assert configuration.directory_mode(perm) == mode


@pytest.mark.parametrize(
    ("dest", "source", "path"),
    [
        pytest.param("/etc/nova/", "/src/nova.conf", "/etc/nova/nova.conf", id="into-a-directory-under-its-own-name"),
        pytest.param("/etc/nova/x.conf", "/src/nova.conf", "/etc/nova/x.conf", id="exactly-there"),
        pytest.param("/", "/src/etc", "/etc", id="into-the-root"),
        pytest.param("/etc/haproxy/", "/src/services.d/", "/etc/haproxy", id="a-source-with-a-slash-has-no-name"),
    ],
)
def test_destination(dest: str, source: str, path: str) -> None:
    assert configuration.destination(dest, source) == Path(path)


def test_all_of_a_configuration() -> None:
    config = configuration.parse_config(
        {
            "command": "nova-api --debug",
            "config_files": [COPY, {"source": "/c/*", "dest": "/d/", "preserve_properties": True, "optional": True}],
            "directories": [MADE],
            "files": [{**MADE, "perm": "644"}],
            "permissions": [{"path": "/log/*", "owner": "nova:kolla", "recurse": True, "exclude": ["snap.*"]}],
            "what_may_come_later": 1,
        }
    )
    assert config.command == "nova-api --debug"
    assert [(entry.dest, entry.perm, entry.optional, entry.merge) for entry in config.config_files] == [
        ("/b", 0o600, False, False),
        ("/d/", None, True, False),
    ]
    assert [rule.perm for rule in (*config.directories, *config.files, *config.permissions)] == [0o755, 0o644, None]
    assert config.permissions[0].recurse
    assert config.permissions[0].excludes(Path("/log/x/snapshot.1"))
    assert not config.permissions[0].excludes(Path("/log/x/nova.log"))


@pytest.mark.parametrize("empty", [[], {}, None])
def test_a_list_may_be_empty(empty: object) -> None:
    sections = ("config_files", "directories", "files", "permissions")
    config = configuration.parse_config({"command": "/bin/true", **dict.fromkeys(sections, empty)})
    assert config == configuration.parse_config({"command": "/bin/true"})


def without(entry: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != key}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param([], '"command" key', id="not-an-object"),
        pytest.param({}, '"command" key', id="no-command"),
        pytest.param({"command": ["a", "b"]}, '"command" must be text', id="a-command-that-is-a-list"),
        pytest.param({"command": "x", "config_files": "y"}, "must be a list", id="a-section-that-is-text"),
        pytest.param({"command": "x", "files": ["y"]}, "must be a list of objects", id="an-entry-that-is-text"),
    ],
)
def test_a_document_is_refused(document: object, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        configuration.parse_config(document)


@pytest.mark.parametrize(
    ("section", "entry", "message"),
    [
        pytest.param("config_files", without(COPY, "source"), "missing required keys: source", id="copy-no-source"),
        pytest.param("config_files", without(COPY, "dest"), "missing required keys: dest", id="copy-no-dest"),
        pytest.param(
            "config_files", without(COPY, "owner"), "preserve_properties or owner and perm", id="copy-no-owner"
        ),
        pytest.param("config_files", without(COPY, "perm"), "preserve_properties or owner and perm", id="copy-no-perm"),
        pytest.param("config_files", {**COPY, "source": None}, '"source" must not be null', id="copy-null-source"),
        pytest.param("config_files", {**COPY, "dest": "b"}, "absolute path, not b", id="copy-relative-dest"),
        pytest.param("config_files", {**COPY, "mode": "1"}, "unknown keys: mode", id="copy-unknown-key"),
        pytest.param("config_files", {**COPY, "merge": "yes"}, '"merge" must be true or false', id="copy-flag-as-text"),
        pytest.param("config_files", {**COPY, "perm": 384}, "Invalid permission 384", id="copy-perm-as-number"),
        pytest.param("directories", without(MADE, "path"), "directories config is missing", id="directory-no-path"),
        pytest.param("directories", without(MADE, "owner"), "directories config is missing", id="directory-no-owner"),
        pytest.param("directories", without(MADE, "perm"), "directories config is missing", id="directory-no-perm"),
        pytest.param("directories", {**MADE, "perm": None}, '"perm" must not be null', id="directory-null-perm"),
        pytest.param(
            "directories", {**MADE, "path": "/a/*"}, "directories config does not support glob", id="directory-*"
        ),
        pytest.param("files", without(MADE, "path"), "files config is missing required keys: path", id="file-no-path"),
        pytest.param("files", {**MADE, "path": None}, 'files config key "path" must not be null', id="file-null-path"),
        pytest.param("files", {**MADE, "owner": None}, '"owner" must not be null', id="file-null-owner"),
        pytest.param("files", {**MADE, "path": "/a?.log"}, "files config does not support glob", id="file-wildcard"),
        pytest.param("permissions", {"owner": "nova"}, "missing required keys: path", id="permission-no-path"),
        pytest.param("permissions", {"path": "/a"}, "missing required keys: owner", id="permission-no-owner"),
        pytest.param("permissions", {**MADE, "perm": "rwx"}, "Invalid permission 'rwx'", id="permission-bad-perm"),
        pytest.param(
            "permissions", {**MADE, "exclude": "x"}, '"exclude" must be a list', id="permission-exclude-as-text"
        ),
        pytest.param(
            "permissions", {**MADE, "exclude": ["("]}, "no valid regular expression", id="permission-bad-exclude"
        ),
    ],
)
def test_an_entry_is_refused_by_its_place(section: str, entry: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidConfig, match=message) as caught:
        configuration.parse_config({"command": "x", section: [entry]})
    assert str(caught.value).endswith(f"({section}[0])")


def test_without_a_state_directory_the_places_are_kollas() -> None:
    place = defaults.places("")
    assert [str(path) for path in (place.run_command, place.configured, place.defaults, place.state)] == [
        "/run_command",
        "/configured",
        "/etc/kolla/defaults",
        "/etc/kolla/defaults/state",
    ]
    assert str(place.default_of(Path("/etc/nova/nova.conf"))) == "/etc/kolla/defaults/etc/nova/nova.conf"


def test_a_state_directory_holds_all_of_it() -> None:
    place = defaults.places("/state")
    assert [str(path) for path in (place.run_command, place.configured, place.state)] == [
        "/state/run_command",
        "/state/configured",
        "/state/defaults/state",
    ]


@pytest.mark.parametrize("path", sorted((START / "kolla_set_configs").glob("*.py")), ids=lambda path: path.stem)
def test_every_image_can_run_it(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    foreign = {name.split(".")[0] for name in imported} - sys.stdlib_module_names
    assert foreign <= ({"yaml"} if path.stem == "loading" else set())
