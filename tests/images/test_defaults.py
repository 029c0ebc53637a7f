"""The image's own files: saved, and put back before the next copying."""

import json
from typing import Any

import pytest

from tests.images.container import CONFIG_FILES, GROUPS, USERS, Container

STATE = "/etc/kolla/defaults/state"


def copy(source: str, dest: str, **more: Any) -> dict[str, Any]:
    return {"source": f"{CONFIG_FILES}/{source}", "dest": dest, "owner": "nova", "perm": "0600", **more}


def state(container: Container) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(container.text(STATE))
    return document


def test_the_first_start_saves_what_it_overwrites(container: Container) -> None:
    container.write("/etc/nova/nova.conf", "default", mode=0o640)
    container.source("nova.conf", "configured")
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf")])
    assert container.set_configs().code == 0
    assert container.text("/etc/nova/nova.conf") == "configured"
    assert container.text("/etc/kolla/defaults/etc/nova/nova.conf") == "default"
    assert container.mode("/etc/kolla/defaults/etc/nova/nova.conf") == 0o640
    assert state(container) == {
        "/etc/nova/nova.conf": {
            "source": "/etc/nova/nova.conf",
            "preserve_properties": True,
            "dest": "/etc/kolla/defaults/etc/nova/nova.conf",
        }
    }


def test_it_remembers_where_there_was_nothing(container: Container) -> None:
    container.source("nova.conf")
    container.config(config_files=[copy("nova.conf", "/etc/nova/")])
    assert container.set_configs().code == 0
    assert state(container)["/etc/nova/nova.conf"] == {
        "source": "/etc/nova/nova.conf",
        "preserve_properties": True,
        "dest": None,
    }


def test_what_is_optional_and_missing_is_not_remembered(container: Container) -> None:
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf", optional=True)])
    assert container.set_configs().code == 0
    assert state(container) == {}


def test_a_file_that_is_no_longer_named_becomes_the_default_again(container: Container) -> None:
    container.write("/etc/nova/policy.yaml", "default", mode=0o604)
    container.at("/etc/nova/policy.yaml").chmod(0o604)
    container.source("policy.yaml", "configured")
    container.config(config_files=[copy("policy.yaml", "/etc/nova/policy.yaml")])
    container.set_configs()
    container.config(config_files=[])
    assert container.set_configs().code == 0
    assert container.text("/etc/nova/policy.yaml") == "default"
    assert (container.owner("/etc/nova/policy.yaml"), container.mode("/etc/nova/policy.yaml")) == ((0, 0), 0o604)
    assert container.check().code == 0


@pytest.mark.parametrize("directory", [False, True])
def test_what_was_not_there_goes_when_it_is_no_longer_named(container: Container, directory: bool) -> None:
    container.source("extra/file" if directory else "extra", "configured")
    container.config(config_files=[copy("extra", "/etc/nova/extra")])
    container.set_configs()
    assert container.at("/etc/nova/extra").is_dir() is directory
    container.config(config_files=[])
    assert container.set_configs().code == 0
    assert not container.at("/etc/nova/extra").exists()
    assert container.check().code == 0


def test_an_optional_source_that_goes_takes_its_copy_with_it(container: Container) -> None:
    container.write("/etc/nova/policy.yaml", "default")
    source = container.source("policy.yaml", "configured")
    container.config(config_files=[copy("policy.yaml", "/etc/nova/policy.yaml", optional=True)])
    container.set_configs()
    container.at(source).unlink()
    assert container.check().code == 1
    assert container.set_configs().code == 0
    assert container.text("/etc/nova/policy.yaml") == "default"
    assert container.check().code == 0


def test_the_default_is_the_images_after_any_number_of_starts(container: Container) -> None:
    container.write("/etc/nova/nova.conf", "default")
    for number in range(4):
        container.source("nova.conf", f"configured {number}")
        container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf")])
        assert container.set_configs().code == 0
        assert container.text("/etc/nova/nova.conf") == f"configured {number}"
        assert container.text("/etc/kolla/defaults/etc/nova/nova.conf") == "default"


def test_a_file_that_is_named_only_later_is_saved_then(container: Container) -> None:
    container.write("/etc/nova/a", "default a")
    container.write("/etc/nova/b", "default b")
    container.source("a", "configured")
    container.source("b", "configured")
    container.config(config_files=[copy("a", "/etc/nova/a")])
    container.set_configs()
    container.config(config_files=[copy("a", "/etc/nova/a"), copy("b", "/etc/nova/b")])
    container.set_configs()
    container.config()
    assert container.set_configs().code == 0
    assert (container.text("/etc/nova/a"), container.text("/etc/nova/b")) == ("default a", "default b")


def test_a_default_directory_comes_back_with_its_links(container: Container) -> None:
    container.write("/etc/apache2/conf-available/nova.conf", "default")
    container.link("/etc/apache2/conf-enabled/nova.conf", "../conf-available/nova.conf")
    container.link("/etc/apache2/conf-enabled/dangling", "nowhere")
    container.source("enabled/keystone.conf", "configured")
    container.config(config_files=[copy("enabled", "/etc/apache2/conf-enabled")])
    container.set_configs()
    assert [path.name for path in container.at("/etc/apache2/conf-enabled").iterdir()] == ["keystone.conf"]
    container.config()
    assert container.set_configs().code == 0
    assert str(container.at("/etc/apache2/conf-enabled/nova.conf").readlink()) == "../conf-available/nova.conf"
    assert str(container.at("/etc/apache2/conf-enabled/dangling").readlink()) == "nowhere"
    assert not container.at("/etc/apache2/conf-enabled/keystone.conf").exists()


def test_a_merge_gives_back_single_files_and_leaves_the_rest_to_the_service(container: Container) -> None:
    container.write("/var/lib/nova/over", "default")
    container.source("data/over", "configured")
    container.source("data/new", "configured")
    container.config(config_files=[copy("data", "/var/lib/nova", merge=True)])
    container.set_configs()
    container.write("/var/lib/nova/instances/disk", "written by the service")
    container.set_configs()
    assert container.text("/var/lib/nova/over") == container.text("/var/lib/nova/new") == "configured"
    container.config()
    assert container.set_configs().code == 0
    assert container.text("/var/lib/nova/over") == "default"
    assert not container.at("/var/lib/nova/new").exists()
    assert container.text("/var/lib/nova/instances/disk") == "written by the service"


def test_a_wildcard_is_remembered_by_what_it_found(container: Container) -> None:
    container.write("/etc/nova/a.conf", "default")
    sources = [container.source(f"{name}.conf", "configured") for name in ("a", "b")]
    container.config(config_files=[copy("*.conf", "/etc/nova/", optional=True)])
    container.set_configs()
    assert sorted(state(container)) == ["/etc/nova/a.conf", "/etc/nova/b.conf"]
    container.at(sources[1]).unlink()
    assert container.set_configs().code == 0
    assert container.text("/etc/nova/a.conf") == "configured"
    assert not container.at("/etc/nova/b.conf").exists()


def test_owner_and_links_of_a_default_survive_the_round_trip(container: Container) -> None:
    container.write("/usr/local/share/real", "default")
    container.link("/etc/nova/nova.conf", "/usr/local/share/real")
    container.source("nova.conf", "configured")
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf")])
    container.set_configs()
    assert container.owner("/etc/nova/nova.conf") == (USERS["nova"], GROUPS["nova"])
    assert container.text("/usr/local/share/real") == "default"
    container.config()
    container.set_configs()
    assert str(container.at("/etc/nova/nova.conf").readlink()) == "/usr/local/share/real"


def test_a_start_that_was_cut_off_is_made_good_by_the_next(container: Container) -> None:
    container.write("/etc/nova/nova.conf", "default")
    container.source("nova.conf", "configured")
    missing = copy("missing", "/etc/nova/missing")
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf"), missing])
    assert container.set_configs().code == 1
    container.config()
    assert container.set_configs().code == 0
    assert container.text("/etc/nova/nova.conf") == "default"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"/etc/nova.conf": null}'])
def test_a_state_that_cannot_be_read_is_an_error(container: Container, text: str) -> None:
    container.config()
    container.write(STATE, text)
    result = container.set_configs()
    assert result.code == 1
    assert f"InvalidConfig: Invalid state file found at {STATE}" in result.log


def test_a_saved_default_that_is_lost_is_an_error(container: Container) -> None:
    container.write("/etc/nova/nova.conf", "default")
    container.source("nova.conf", "configured")
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf")])
    container.set_configs()
    container.at("/etc/kolla/defaults/etc/nova/nova.conf").unlink()
    result = container.set_configs()
    assert result.code == 1
    assert "MissingRequiredSource: /etc/kolla/defaults/etc/nova/nova.conf file is not found" in result.log
    assert container.text("/etc/nova/nova.conf") == "configured"
