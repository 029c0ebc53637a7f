"""What a start copies, creates and permits, as root: Kolla's contract, sentence by sentence.

Kolla publishes test cases for its own program, on a file system made of mocks; what they check is checked here, and in
the tests of defaults and of --check, by running ours.
"""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from images.start.kolla_set_configs import copying
from tests.images.container import CONFIG_FILES, GROUPS, USERS, Container

NOVA_IDS = (USERS["nova"], GROUPS["nova"])


def copy(source: str, dest: str, **more: Any) -> dict[str, Any]:
    return {"source": source, "dest": dest, "owner": "nova", "perm": "0600", **more}


# Copying.


def test_a_file_is_copied_with_its_owner_and_mode(container: Container) -> None:
    source = container.source("nova.conf", "[DEFAULT]\n")
    container.config(config_files=[copy(source, "/etc/nova/deep/nova.conf", owner="root:nova", perm="0640")])
    assert container.set_configs().code == 0
    assert container.text("/etc/nova/deep/nova.conf") == "[DEFAULT]\n"
    assert container.owner("/etc/nova/deep/nova.conf") == (0, GROUPS["nova"])
    assert container.mode("/etc/nova/deep/nova.conf") == 0o640


def test_nobody_else_can_read_a_copy_before_it_has_its_mode(tmp_path: Path) -> None:
    source, dest = tmp_path / "source", tmp_path / "dest"
    source.write_text("secret")
    source.chmod(0o644)
    copying.copy_content(source, dest)
    assert (dest.read_text(), stat.S_IMODE(dest.stat().st_mode)) == ("secret", 0o600)


def test_the_destination_is_replaced_and_not_written_through(container: Container) -> None:
    container.write("/precious", "keep me")
    container.link("/etc/nova/nova.conf", "/precious")
    container.config(config_files=[copy(container.source("nova.conf", "new"), "/etc/nova/nova.conf")])
    assert container.set_configs().code == 0
    assert not container.at("/etc/nova/nova.conf").is_symlink()
    assert container.text("/etc/nova/nova.conf") == "new"
    assert container.text("/precious") == "keep me"


def test_a_file_takes_the_place_of_a_directory(container: Container) -> None:
    container.write("/etc/nova/nova.conf/odd", "old")
    container.config(config_files=[copy(container.source("nova.conf", "new"), "/etc/nova/nova.conf")])
    assert container.set_configs().code == 0
    assert container.text("/etc/nova/nova.conf") == "new"


def test_a_wildcard_copies_all_that_it_finds_into_a_directory(container: Container) -> None:
    for name in ("bar.conf", "bar.yml", "other.conf"):
        container.source(name, name)
    container.config(config_files=[copy(f"{CONFIG_FILES}/bar.*", "/foo/")])
    assert container.set_configs().code == 0
    assert sorted(path.name for path in container.at("/foo").iterdir()) == ["bar.conf", "bar.yml"]
    assert container.text("/foo/bar.yml") == "bar.yml"
    assert container.owner("/foo/bar.conf") == NOVA_IDS


@pytest.mark.parametrize("source", ["missing.conf", "missing.*"])
def test_a_source_that_is_missing_is_an_error(container: Container, source: str) -> None:
    container.config(config_files=[copy(f"{CONFIG_FILES}/{source}", "/etc/nova/")])
    result = container.set_configs()
    assert result.code == 1
    assert f"ERROR MissingRequiredSource: {CONFIG_FILES}/{source} file is not found" in result.log


@pytest.mark.parametrize("source", ["missing.conf", "missing.*"])
def test_an_optional_source_may_be_missing(container: Container, source: str) -> None:
    container.write("/etc/nova/policy.yaml", "default")
    container.config(config_files=[copy(f"{CONFIG_FILES}/{source}", "/etc/nova/policy.yaml", optional=True)])
    assert container.set_configs().code == 0
    assert container.text("/etc/nova/policy.yaml") == "default"


def test_a_directory_is_replaced_with_all_that_is_in_it(container: Container) -> None:
    container.source("domains/a.conf", "a")
    container.source("domains/deep/b.conf", "b")
    container.write("/etc/keystone/domains/old.conf")
    container.config(config_files=[copy(f"{CONFIG_FILES}/domains", "/etc/keystone/domains", owner="keystone")])
    assert container.set_configs().code == 0
    assert container.text("/etc/keystone/domains/deep/b.conf") == "b"
    assert not container.at("/etc/keystone/domains/old.conf").exists()
    assert container.mode("/etc/keystone/domains/deep/b.conf") == 0o600
    assert container.mode("/etc/keystone/domains/deep") == 0o700
    assert container.owner("/etc/keystone/domains/deep") == (USERS["keystone"],) * 2


def test_a_source_with_a_slash_at_its_end_is_the_directory(container: Container) -> None:
    container.source("services.d/a.cfg", "a")
    container.config(config_files=[copy(f"{CONFIG_FILES}/services.d/", "/etc/haproxy/services.d", perm="0700")])
    assert container.set_configs().code == 0
    assert container.text("/etc/haproxy/services.d/a.cfg") == "a"


def test_a_merge_keeps_what_is_there(container: Container) -> None:
    container.source("secrets/a", "new")
    container.source("secrets/deep/b", "new")
    container.write("/etc/libvirt/secrets/a", "old")
    container.write("/etc/libvirt/secrets/deep/kept", "old", mode=0o604)
    container.write("/etc/libvirt/secrets/kept", "old")
    container.config(config_files=[copy(f"{CONFIG_FILES}/secrets", "/etc/libvirt/secrets", merge=True)])
    assert container.set_configs().code == 0
    assert container.text("/etc/libvirt/secrets/a") == "new"
    assert container.text("/etc/libvirt/secrets/deep/b") == "new"
    assert container.text("/etc/libvirt/secrets/deep/kept") == container.text("/etc/libvirt/secrets/kept") == "old"
    assert container.mode("/etc/libvirt/secrets/deep/kept") == 0o604


def test_a_merge_puts_a_directory_in_the_place_of_a_file(container: Container) -> None:
    container.source("secrets/deep/b", "new")
    container.write("/etc/libvirt/secrets/deep", "a file")
    container.config(config_files=[copy(f"{CONFIG_FILES}/secrets", "/etc/libvirt/secrets", merge=True)])
    assert container.set_configs().code == 0
    assert container.text("/etc/libvirt/secrets/deep/b") == "new"


def preserving(source: str, dest: str, **more: Any) -> dict[str, Any]:
    return {"source": source, "dest": dest, "preserve_properties": True, **more}


def test_properties_can_be_preserved(container: Container) -> None:
    source = container.source("extras/rules", "x", mode=0o4750)
    container.at(source).chmod(0o750)
    container.at(f"{CONFIG_FILES}/extras").chmod(0o711)
    container.config(config_files=[preserving(f"{CONFIG_FILES}/extras", "/etc/prometheus/extras")])
    assert container.set_configs().code == 0
    assert container.mode("/etc/prometheus/extras") == 0o711
    assert container.mode("/etc/prometheus/extras/rules") == 0o750
    assert container.owner("/etc/prometheus/extras/rules") == (0, 0)
    copied, original = container.at("/etc/prometheus/extras/rules").stat(), container.at(source).stat()
    assert copied.st_mtime_ns == original.st_mtime_ns


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        pytest.param({"merge": True, "preserve_properties": True}, True, id="kept-with-both"),
        pytest.param({"merge": True}, False, id="followed-with-merge-alone"),
        pytest.param({"preserve_properties": True}, False, id="followed-with-preserve-alone"),
        pytest.param({}, False, id="followed-with-neither"),
    ],
)
def test_a_link_in_a_source(container: Container, more: dict[str, Any], kept: bool) -> None:
    container.source("tree/real", "content")
    container.link(f"{CONFIG_FILES}/tree/link", "real")
    container.config(config_files=[copy(f"{CONFIG_FILES}/tree", "/etc/tree", **more)])
    assert container.set_configs().code == 0
    assert container.at("/etc/tree/link").is_symlink() is kept
    assert container.text("/etc/tree/link") == "content"


def test_a_linked_directory_never_takes_the_place_of_a_directory(container: Container) -> None:
    container.source("real/a", "new")
    container.link(f"{CONFIG_FILES}/tree/etc", "../real")
    container.write("/etc/kept", "old")
    container.config(config_files=[preserving(f"{CONFIG_FILES}/tree/*", "/", merge=True)])
    assert container.set_configs().code == 0
    assert (container.text("/etc/a"), container.text("/etc/kept")) == ("new", "old")


def test_a_mounted_secret_is_copied_without_what_kubernetes_keeps_in_it(container: Container) -> None:
    container.mounted(f"{CONFIG_FILES}/secret", {"nova.conf": "secret"})
    container.config(
        config_files=[
            copy(f"{CONFIG_FILES}/secret", "/etc/whole"),
            preserving(f"{CONFIG_FILES}/secret", "/etc/merged", merge=True),
            preserving(f"{CONFIG_FILES}/secret/*", "/etc/each/", merge=True),
        ]
    )
    assert container.set_configs().code == 0
    for directory in ("/etc/whole", "/etc/merged", "/etc/each"):
        assert [path.name for path in container.at(directory).iterdir()] == ["nova.conf"]
        assert not container.at(f"{directory}/nova.conf").is_symlink()
        assert container.text(f"{directory}/nova.conf") == "secret"


# Directories, files and permissions.


def test_directories_are_made_or_kept_and_get_owner_and_mode(container: Container) -> None:
    container.write("/var/log/there/kept", "old")
    container.config(
        directories=[
            {"path": "/var/log/new/deep", "owner": "nova", "perm": "0750"},
            {"path": "/var/log/there", "owner": "root:kolla", "perm": "0644"},
        ]
    )
    assert container.set_configs().code == 0
    assert (container.owner("/var/log/new/deep"), container.mode("/var/log/new/deep")) == (NOVA_IDS, 0o750)
    assert (container.owner("/var/log/there"), container.mode("/var/log/there")) == ((0, GROUPS["kolla"]), 0o755)
    assert container.text("/var/log/there/kept") == "old"


def test_files_are_made_or_kept_and_get_owner_and_mode(container: Container) -> None:
    container.write("/var/log/there.log", "old lines")
    container.directory("/var/log/nova")
    container.config(
        files=[
            {"path": "/var/log/nova/new.log", "owner": "nova", "perm": "0640"},
            {"path": "/var/log/there.log", "owner": "nova:kolla", "perm": "0o600"},
        ]
    )
    assert container.set_configs().code == 0
    assert container.text("/var/log/nova/new.log") == ""
    assert (container.owner("/var/log/nova/new.log"), container.mode("/var/log/nova/new.log")) == (NOVA_IDS, 0o640)
    assert container.text("/var/log/there.log") == "old lines"
    assert container.owner("/var/log/there.log") == (USERS["nova"], GROUPS["kolla"])
    assert container.mode("/var/log/there.log") == 0o600


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("/odd/link", "Path is a symbolic link, expected regular file (/odd/link)", id="a-link"),
        pytest.param("/odd/directory", "Path is a directory, expected file (/odd/directory)", id="a-directory"),
        pytest.param("/nowhere/a.log", "Parent directory does not exist (/nowhere)", id="a-missing-parent"),
    ],
)
def test_files_refuses(container: Container, path: str, message: str) -> None:
    container.directory("/odd/directory")
    container.link("/odd/link", "/odd/target")
    container.config(files=[{"path": path, "owner": "nova", "perm": "0640"}])
    result = container.set_configs()
    assert result.code == 2
    assert message in result.log
    assert "Traceback" not in result.log
    assert not container.at("/run_command").exists()


def test_a_directory_that_cannot_be_made_ends_the_start(container: Container) -> None:
    container.write("/var/log/nova", "a file")
    container.config(directories=[{"path": "/var/log/nova", "owner": "nova", "perm": "0750"}])
    result = container.set_configs()
    assert result.code == 2
    assert "OSError: /var/log/nova: File exists" in result.log


def test_permissions_take_wildcards_and_need_no_perm(container: Container) -> None:
    container.write("/var/log/kolla/nova/a.log", mode=0o604)
    container.write("/var/log/kolla/glance/b.log")
    container.config(permissions=[{"path": "/var/log/kolla/*", "owner": "nova:kolla"}])
    assert container.set_configs().code == 0
    for path in ("/var/log/kolla/nova", "/var/log/kolla/glance"):
        assert container.owner(path) == (USERS["nova"], GROUPS["kolla"])
        assert container.mode(path) == 0o755
    assert container.owner("/var/log/kolla/nova/a.log") == container.owner("/var/log/kolla") == (0, 0)


def test_permissions_recurse_but_for_what_is_excluded(container: Container) -> None:
    for path in ("a.log", "snapshot-1/b", "deep/c.log", "deep/c.tmp"):
        container.write(f"/var/lib/nova/{path}")
    container.config(
        permissions=[
            {
                "path": "/var/lib/nova",
                "owner": "nova",
                "perm": "0640",
                "recurse": True,
                "exclude": ["/nova/snapshot.*", r"\.tmp$"],
            }
        ]
    )
    assert container.set_configs().code == 0
    changed = ("/var/lib/nova", "/var/lib/nova/a.log", "/var/lib/nova/deep", "/var/lib/nova/deep/c.log")
    assert {container.owner(path) for path in changed} == {NOVA_IDS}
    assert [container.mode(path) for path in changed] == [0o750, 0o640, 0o750, 0o640]
    excluded = ("/var/lib/nova/snapshot-1", "/var/lib/nova/snapshot-1/b", "/var/lib/nova/deep/c.tmp")
    assert {container.owner(path) for path in excluded} == {(0, 0)}


def test_permissions_without_recursion_stop_at_the_path(container: Container) -> None:
    container.write("/var/lib/nova/a.log")
    container.config(permissions=[{"path": "/var/lib/nova", "owner": "nova", "recurse": False}])
    assert container.set_configs().code == 0
    assert (container.owner("/var/lib/nova"), container.owner("/var/lib/nova/a.log")) == (NOVA_IDS, (0, 0))


def test_permissions_on_what_is_not_there_are_no_error(container: Container) -> None:
    container.link("/var/lib/dangling", "nowhere")
    container.config(permissions=[{"path": path, "owner": "nova"} for path in ("/var/lib/none", "/var/lib/dangling")])
    result = container.set_configs()
    assert result.code == 0
    assert "WARNING /var/lib/dangling does not exist" in result.log


def test_the_order_is_directories_files_copies_command_permissions(container: Container) -> None:
    source = container.source("nova.conf", "x")
    container.config(
        permissions=[{"path": "/made/by/directories/*", "owner": "glance", "perm": "0604"}],
        config_files=[copy(source, "/made/by/directories/nova.conf")],
        files=[{"path": "/made/by/directories/nova.log", "owner": "nova", "perm": "0600"}],
        directories=[{"path": "/made/by/directories", "owner": "nova", "perm": "0755"}],
    )
    assert container.set_configs().code == 0
    for name in ("nova.conf", "nova.log"):
        assert container.owner(f"/made/by/directories/{name}") == (USERS["glance"],) * 2
        assert container.mode(f"/made/by/directories/{name}") == 0o604


def test_an_unknown_owner_is_an_error_for_root(container: Container) -> None:
    container.config(config_files=[copy(container.source("a"), "/etc/a", owner="nobody-here")])
    result = container.set_configs()
    assert result.code == 1
    assert "ERROR UserNotFound: There is no user nobody-here in this image" in result.log


def test_owners_are_names_and_not_numbers(container: Container) -> None:
    container.config(config_files=[copy(container.source("a"), "/etc/a", owner="42436:42436")])
    assert "UserNotFound: There is no user 42436" in container.set_configs().log


# Where the configuration is read, and what is refused.


def test_yaml_goes_before_json(container: Container) -> None:
    container.config("from json")
    container.source(
        "config.yaml",
        "command: from yaml\ndirectories:\n  - {path: /made, owner: nova, perm: '0750'}\nconfig_files:\n",
    )
    assert container.set_configs(environment=container.has_yaml()).code == 0
    assert container.text("/run_command") == "from yaml"
    assert container.mode("/made") == 0o750


def test_yaml_in_an_image_that_cannot_read_it(container: Container) -> None:
    container.source("config.yaml", "command: x\n")
    result = container.set_configs(environment=container.lacks_yaml())
    assert result.code == 1
    assert (
        f"InvalidConfig: Invalid yaml file found at {CONFIG_FILES}/config.yaml: this image has no PyYAML" in result.log
    )


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        pytest.param("config.json", "{not json, password=hunter2", "Expecting property name", id="not-json"),
        pytest.param("config.json", "", "file is empty", id="empty-json"),
        pytest.param("config.json", "null", "file is empty", id="json-that-says-nothing"),
        pytest.param("config.yaml", "command: [password=hunter2", "it is not YAML (line 1)", id="not-yaml"),
        pytest.param("config.yaml", "", "file is empty", id="empty-yaml"),
        pytest.param("config.yaml", "# nothing\n", "file is empty", id="yaml-that-says-nothing"),
    ],
)
def test_a_file_that_cannot_be_understood(container: Container, name: str, text: str, reason: str) -> None:
    container.source(name, text)
    result = container.set_configs(environment=container.has_yaml())
    kind = name.rpartition(".")[2]
    assert result.code == 1
    assert f"ERROR InvalidConfig: Invalid {kind} file found at {CONFIG_FILES}/{name}: {reason}" in result.log
    assert "hunter2" not in result.log


def test_no_file_at_all(container: Container) -> None:
    result = container.set_configs()
    assert result.code == 1
    assert f"Invalid json file found at {CONFIG_FILES}/config.json: No such file or directory" in result.log


def test_a_file_that_is_not_text(container: Container) -> None:
    container.at(f"{CONFIG_FILES}/config.json").write_bytes(b"\xff\xfe\x00")
    assert "Invalid json file found" in container.set_configs().log


def test_the_old_way_of_the_environment(container: Container) -> None:
    container.config("from the file")
    legacy = json.dumps({"command": "from the environment"})
    assert container.set_configs(environment={"KOLLA_CONFIG": legacy}).code == 0
    assert container.text("/run_command") == "from the environment"
    broken = container.set_configs(environment={"KOLLA_CONFIG": "{"})
    assert broken.code == 1
    assert "InvalidConfig: Invalid json file found at KOLLA_CONFIG" in broken.log


def test_the_old_way_of_another_file(container: Container) -> None:
    container.config("from the usual place")
    container.write("/config.json", json.dumps({"command": "from another place"}))
    assert container.set_configs(environment={"KOLLA_CONFIG_FILE": "/config.json"}).code == 0
    assert container.text("/run_command") == "from another place"


def test_nothing_is_changed_for_a_configuration_that_is_wrong(container: Container) -> None:
    source = container.source("nova.conf")
    container.config(config_files=[copy(source, "/etc/nova/nova.conf"), copy(source, "/etc/x", perm="rw")])
    before = container.snapshot()
    result = container.set_configs()
    assert result.code == 1
    assert "ERROR InvalidConfig: Invalid permission 'rw'" in result.log
    assert "(config_files[1])" in result.log
    assert container.snapshot() == before


# The strategies.


def test_the_command_is_left_for_everybody_to_read(container: Container) -> None:
    container.config("nova-api --config-file /etc/nova/nova.conf")
    assert container.set_configs().code == 0
    assert container.text("/run_command") == "nova-api --config-file /etc/nova/nova.conf"
    assert container.mode("/run_command") == 0o644


def test_copy_always_copies_on_every_start(container: Container) -> None:
    for text in ("first", "second"):
        container.config(text, config_files=[copy(container.source("nova.conf", text), "/etc/nova.conf")])
        assert container.set_configs().code == 0
        assert container.text("/etc/nova.conf") == container.text("/run_command") == text
    assert not container.at("/configured").exists()


def test_copy_once_copies_once(container: Container) -> None:
    container.config("first", config_files=[copy(container.source("nova.conf", "first"), "/etc/nova.conf")])
    assert container.set_configs(strategy="COPY_ONCE").code == 0
    assert container.text("/etc/nova.conf") == "first"
    assert container.at("/configured").exists()
    container.config("second", config_files=[copy(container.source("nova.conf", "second"), "/etc/nova.conf")])
    before = container.snapshot()
    result = container.set_configs(strategy="COPY_ONCE")
    assert result.code == 0
    assert "ImmutableConfig: The config strategy prevents copying new configs" in result.log
    assert container.snapshot() == before


def test_a_copy_once_that_failed_is_not_done(container: Container) -> None:
    container.config(config_files=[copy(f"{CONFIG_FILES}/nova.conf", "/etc/nova.conf")])
    assert container.set_configs(strategy="COPY_ONCE").code == 1
    container.source("nova.conf", "now it is there")
    assert container.set_configs(strategy="COPY_ONCE").code == 0
    assert container.text("/etc/nova.conf") == "now it is there"


@pytest.mark.parametrize(
    "environment", [{}, {"KOLLA_CONFIG_STRATEGY": "COPY_SOMETIMES"}, {"KOLLA_CONFIG_STRATEGY": ""}]
)
def test_another_strategy_is_an_error(container: Container, environment: dict[str, str]) -> None:
    container.config()
    result = container.run("kolla_set_configs", environment=environment)
    assert result.code == 1
    assert "ERROR InvalidConfig: KOLLA_CONFIG_STRATEGY is not set properly: use COPY_ALWAYS or COPY_ONCE" in result.log
    assert not container.at("/run_command").exists()


def test_what_is_unexpected_ends_with_two(container: Container) -> None:
    container.config()
    container.directory("/run_command")
    result = container.set_configs()
    assert result.code == 2
    assert "OSError: /run_command: Is a directory" in result.log


def test_lines_have_kollas_form(container: Container) -> None:
    container.config()
    line = container.set_configs().log.splitlines()[0]
    date, time, level, message = line.split(" ", 3)
    assert (len(date), len(time), level) == (10, 12, "INFO")
    assert message == f"Loading config file at {CONFIG_FILES}/config.json"
