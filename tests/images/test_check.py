"""`--check`: what it finds, and that it changes nothing."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.images.container import CONFIG_FILES, NOVA, STRANGER, USERS, Container


def copy(source: str, dest: str, **more: Any) -> dict[str, Any]:
    return {"source": f"{CONFIG_FILES}/{source}", "dest": dest, "owner": "nova", "perm": "0600", **more}


def started(container: Container) -> None:
    """A service with a file, a directory, a wildcard and properties that are preserved, all in place."""
    container.source("nova.conf", "a")
    container.source("policy/deep/one", "b")
    container.source("policy/two", "c")
    container.source("x.rules", "d")
    container.source("y.rules", "e", mode=0o604)
    container.config(
        "nova-api",
        config_files=[
            copy("nova.conf", "/etc/nova/nova.conf", perm="600"),
            copy("policy", "/etc/nova/policy", perm="0640"),
            {"source": f"{CONFIG_FILES}/*.rules", "dest": "/etc/nova/", "preserve_properties": True},
            copy("nothing", "/etc/nova/nothing", optional=True),
        ],
    )
    assert container.set_configs().code == 0


def test_after_a_start_all_is_well_and_nothing_is_touched(container: Container) -> None:
    started(container)
    before = container.snapshot()
    result = container.check()
    assert (result.code, "ERROR" in result.log) == (0, False)
    assert container.snapshot() == before


def test_before_any_start_nothing_is_well_and_nothing_is_made(container: Container) -> None:
    container.config("nova-api")
    before = container.snapshot()
    result = container.check()
    assert result.code == 1
    assert "ERROR ConfigFileCommandDiffers: Running command differs. nova-api != None" in result.log
    assert container.snapshot() == before


def test_another_command(container: Container) -> None:
    started(container)
    container.config("nova-metadata")
    result = container.check()
    assert result.code == 1
    assert "ConfigFileCommandDiffers: Running command differs. nova-metadata != nova-api" in result.log


def give_away(path: str) -> Callable[[Container], None]:
    return lambda container: os.chown(container.at(path), USERS["glance"], USERS["nova"])


def regroup(path: str) -> Callable[[Container], None]:
    return lambda container: os.chown(container.at(path), USERS["nova"], USERS["glance"])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(
            lambda container: container.at("/etc/nova/nova.conf").write_text("other"),
            "/etc/nova/nova.conf does not have the content of",
            id="the-content-of-a-file",
        ),
        pytest.param(
            lambda container: container.source("policy/two", "other"),
            "/etc/nova/policy/two does not have the content of",
            id="the-content-of-a-source-in-a-directory",
        ),
        pytest.param(
            lambda container: container.at("/etc/nova/x.rules").write_text("other"),
            "/etc/nova/x.rules does not have the content of",
            id="the-content-of-one-of-a-wildcard",
        ),
        pytest.param(
            lambda container: container.at("/etc/nova/nova.conf").unlink(),
            "/etc/nova/nova.conf does not exist",
            id="a-file-that-is-gone",
        ),
        pytest.param(
            lambda container: container.source("policy/deep/three"),
            "/etc/nova/policy/deep/three does not exist",
            id="a-new-file-in-a-source-directory",
        ),
        pytest.param(
            lambda container: container.source("nothing"),
            "/etc/nova/nothing does not exist",
            id="an-optional-source-that-came",
        ),
        pytest.param(
            lambda container: container.at("/etc/nova/nova.conf").chmod(0o640),
            "/etc/nova/nova.conf does not have expected perm: 0600, actual: 0640",
            id="the-mode-of-a-file",
        ),
        pytest.param(
            lambda container: container.at("/etc/nova/policy/deep").chmod(0o700),
            "/etc/nova/policy/deep does not have expected perm: 0750, actual: 0700",
            id="the-mode-of-a-directory",
        ),
        pytest.param(
            lambda container: container.at("/etc/nova/y.rules").chmod(0o600),
            "/etc/nova/y.rules does not have expected perm: 0604, actual: 0600",
            id="a-mode-that-is-preserved",
        ),
        pytest.param(give_away("/etc/nova/nova.conf"), "expected user: 42436, actual: 42415", id="the-user"),
        pytest.param(regroup("/etc/nova/nova.conf"), "expected group: 42436, actual: 42415", id="the-group"),
        pytest.param(give_away("/etc/nova/x.rules"), "expected user: 0, actual: 42415", id="a-user-that-is-preserved"),
    ],
)
def test_what_is_in_a_bad_state(container: Container, damage: Callable[[Container], Any], message: str) -> None:
    started(container)
    damage(container)
    result = container.check()
    assert result.code == 1
    assert message in result.log
    assert "ERROR ConfigFileBadState: Following files are in bad state: [" in result.log
    assert container.set_configs().code == 0
    assert container.check().code == 0


def test_a_file_in_the_place_of_a_directory(container: Container) -> None:
    started(container)
    container.at("/etc/nova/policy/deep/one").unlink()
    container.at("/etc/nova/policy/deep").rmdir()
    container.write("/etc/nova/policy/deep", "a file")
    result = container.check()
    assert result.code == 1
    assert f"/etc/nova/policy/deep is not of the same kind as {CONFIG_FILES}/policy/deep" in result.log


def test_a_file_that_is_no_longer_named(container: Container) -> None:
    started(container)
    container.config("nova-api", config_files=[copy("nova.conf", "/etc/nova/nova.conf")])
    result = container.check()
    assert result.code == 1
    assert "ERROR StateMismatch: " in result.log
    assert "['/etc/nova/policy', '/etc/nova/x.rules', '/etc/nova/y.rules']" in result.log


def test_a_source_that_is_missing(container: Container) -> None:
    started(container)
    container.at(f"{CONFIG_FILES}/nova.conf").unlink()
    result = container.check()
    assert result.code == 1
    assert f"MissingRequiredSource: {CONFIG_FILES}/nova.conf file is not found" in result.log


def test_links_are_compared_as_links_where_they_were_copied_so(container: Container) -> None:
    container.source("tree/real", "x")
    container.link(f"{CONFIG_FILES}/tree/link", "real")
    tree = {"source": f"{CONFIG_FILES}/tree", "dest": "/etc/tree", "merge": True, "preserve_properties": True}
    container.config(config_files=[tree])
    container.set_configs()
    assert container.check().code == 0
    container.at("/etc/tree/link").unlink()
    container.write("/etc/tree/link", "x")
    assert "/etc/tree/link is not the same link" in container.check().log


def test_a_later_entry_and_permissions_have_the_last_word(container: Container) -> None:
    container.source("all/a", "from the directory")
    container.source("all/b", "from the directory")
    container.source("a", "from the file")
    container.config(
        config_files=[copy("all", "/etc/all"), copy("a", "/etc/all/a")],
        permissions=[
            {"path": "/etc/al*", "owner": "glance", "perm": "0644", "recurse": True, "exclude": ["b$"]},
            {"path": "/etc/all", "owner": "glance:kolla"},
        ],
    )
    assert container.set_configs().code == 0
    assert (container.text("/etc/all/a"), container.owner("/etc/all/a")[0]) == ("from the file", USERS["glance"])
    assert container.check().code == 0
    container.at("/etc/all/a").chmod(0o600)
    assert "/etc/all/a does not have expected perm: 0644, actual: 0600" in container.check().log


@pytest.mark.parametrize("user", [NOVA, STRANGER], ids=["the-service-s-user", "a-user-without-a-name"])
def test_a_user_who_is_not_root_is_asked_for_what_he_could_do(container: Container, user: Any) -> None:
    container.volume("/var/lib/kolla/state")
    container.directory("/etc/nova", user=user)
    container.source("nova.conf", "a")
    container.source("extra", "b", mode=0o644)
    preserved = {"source": f"{CONFIG_FILES}/extra", "dest": "/etc/nova/", "preserve_properties": True}
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf", owner="root:kolla"), preserved])
    assert container.set_configs(user=user).code == 0
    result = container.check(user=user)
    assert (result.code, "ERROR" in result.log) == (0, False)
    container.at("/etc/nova/nova.conf").chmod(0o644)
    assert container.check(user=user).code == 1
    container.write("/etc/nova/nova.conf", "a", mode=0o604, user=NOVA if user == STRANGER else STRANGER)
    assert "does not have expected user: 0" in container.check(user=user).log
