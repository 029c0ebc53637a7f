"""The start under the restricted pod profile: a number as user, no capability, no sudo, a read-only root."""

from typing import Any

import pytest

from tests.images.container import CONFIG_FILES, GROUPS, NOVA, STRANGER, USERS, Container, User

STATE = "/var/lib/kolla/state"
ANYBODY = pytest.mark.parametrize("user", [NOVA, STRANGER], ids=["the-service-s-user", "a-user-without-a-name"])


def copy(source: str, dest: str, **more: Any) -> dict[str, Any]:
    return {"source": f"{CONFIG_FILES}/{source}", "dest": dest, "owner": "nova", "perm": "0600", **more}


def image(container: Container, user: User) -> None:
    """An image as ours are: what the service writes belongs to its user, and the state is anybody's."""
    container.directory(STATE, mode=0o1777)
    container.directory("/etc/nova", user=user)


@ANYBODY
def test_the_service_s_user_copies_for_himself(container: Container, user: User) -> None:
    image(container, user)
    container.source("nova.conf", "configured")
    container.config("nova-api", config_files=[copy("nova.conf", "/etc/nova/nova.conf")])
    for _ in range(2):
        result = container.set_configs(user=user)
        assert (result.code, "WARNING" in result.log) == (0, False), result.log
        assert container.text("/etc/nova/nova.conf") == "configured"
        assert (container.owner("/etc/nova/nova.conf"), container.mode("/etc/nova/nova.conf")) == (
            (user.uid, user.gid),
            0o600,
        )
    assert container.text(f"{STATE}/run_command") == "nova-api"
    assert container.mode(f"{STATE}/run_command") == 0o644


def test_an_owner_that_is_already_right_is_done(container: Container) -> None:
    image(container, NOVA)
    container.source("nova.conf")
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf")])
    assert "ownership" not in container.set_configs(user=NOVA).log


def test_an_owner_that_cannot_be_set_is_logged_and_no_more(container: Container) -> None:
    image(container, NOVA)
    container.source("nova.conf")
    container.write("/usr/local/share/root's", mode=0o604)
    container.config(
        config_files=[copy("nova.conf", "/etc/nova/nova.conf", owner="root", perm="0640")],
        permissions=[{"path": "/usr/local/share/root's", "owner": "nova", "perm": "0600"}],
    )
    result = container.set_configs(user=NOVA)
    assert result.code == 0
    assert "Failed to change ownership of /etc/nova/nova.conf to 0:0: Operation not permitted" in result.log
    assert "Failed to change ownership of /usr/local/share/root's to 42436:42436" in result.log
    assert "Failed to set permission of /usr/local/share/root's to 0o600" in result.log
    assert "Traceback" not in result.log
    assert container.owner("/etc/nova/nova.conf") == (NOVA.uid, NOVA.gid)
    assert container.mode("/etc/nova/nova.conf") == 0o640
    assert container.mode("/usr/local/share/root's") == 0o604


def test_an_owner_that_is_not_known_is_logged_and_no_more(container: Container) -> None:
    image(container, STRANGER)
    container.source("nova.conf")
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf", owner="nobody-here")])
    result = container.set_configs(user=STRANGER)
    assert result.code == 0
    assert "There is no user nobody-here in this image" in result.log
    assert container.owner("/etc/nova/nova.conf") == (STRANGER.uid, STRANGER.gid)


def test_a_group_of_the_user_s_own_is_set(container: Container) -> None:
    member = User(NOVA.uid, NOVA.gid, (NOVA.gid, GROUPS["kolla"]))
    image(container, member)
    container.source("nova.conf")
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf", owner="root:kolla")])
    assert container.set_configs(user=member).code == 0
    assert container.owner("/etc/nova/nova.conf") == (NOVA.uid, GROUPS["kolla"])
    assert container.check(user=member).code == 0


def test_preserved_owners_are_kept_as_far_as_it_goes(container: Container) -> None:
    image(container, NOVA)
    container.source("extra", "x", mode=0o444)
    container.config(
        config_files=[{"source": f"{CONFIG_FILES}/extra", "dest": "/etc/nova/", "preserve_properties": True}]
    )
    assert container.set_configs(user=NOVA).code == 0
    assert (container.owner("/etc/nova/extra"), container.mode("/etc/nova/extra")) == ((NOVA.uid, NOVA.gid), 0o444)


def test_a_directory_that_nobody_may_write_is_replaced_by_the_next_start(container: Container) -> None:
    image(container, NOVA)
    container.source("keys/0", "key")
    container.config(config_files=[copy("keys", "/etc/nova/keys", perm="0400")])
    for _ in range(2):
        assert container.set_configs(user=NOVA).code == 0
        assert (container.mode("/etc/nova/keys"), container.mode("/etc/nova/keys/0")) == (0o500, 0o400)


def test_the_image_s_defaults_come_back(container: Container) -> None:
    image(container, NOVA)
    container.write("/etc/nova/nova.conf", "default")
    container.source("nova.conf", "configured")
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf")])
    assert container.set_configs(user=NOVA).code == 0
    assert container.text(f"{STATE}/defaults/etc/nova/nova.conf") == "default"
    container.config()
    assert container.set_configs(user=NOVA).code == 0
    assert container.text("/etc/nova/nova.conf") == "default"


def test_a_default_that_cannot_be_read_is_not_kept(container: Container) -> None:
    image(container, NOVA)
    container.write("/etc/nova/nova.conf", "default", mode=0o600)
    container.source("nova.conf", "configured")
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf")])
    result = container.set_configs(user=NOVA)
    assert result.code == 0
    assert "WARNING The default of /etc/nova/nova.conf cannot be read and is not saved" in result.log
    assert container.text("/etc/nova/nova.conf") == "configured"


@ANYBODY
def test_a_read_only_root_with_volumes_where_something_is_written(container: Container, user: User) -> None:
    container.read_only = True
    container.volume(STATE)
    container.volume("/etc/nova")
    container.volume("/var/log/kolla/nova")
    container.source("nova.conf", "configured")
    container.config(
        "cat /etc/nova/nova.conf",
        config_files=[copy("nova.conf", "/etc/nova/nova.conf")],
        directories=[{"path": "/var/log/kolla/nova/deep", "owner": "nova", "perm": "0755"}],
        permissions=[{"path": "/var/log/kolla/nova", "owner": "nova:nova", "recurse": True}],
    )
    for _ in range(2):
        result = container.start(user=user)
        assert (result.code, result.output) == (0, "Running command: 'cat /etc/nova/nova.conf'\nconfigured"), result.log
    assert container.check(user=user).code == 0


def test_a_mount_point_is_emptied_where_it_would_be_deleted(container: Container) -> None:
    container.read_only = True
    container.volume(STATE)
    container.volume("/etc/nova")
    container.write("/etc/nova/old/file", "old", user=NOVA)
    container.directory("/etc/nova/old", user=NOVA)
    container.source("nova/nova.conf", "configured")
    container.config(config_files=[copy("nova", "/etc/nova")])
    for _ in range(2):
        assert container.set_configs(user=NOVA).code == 0
        assert [path.name for path in container.at("/etc/nova").iterdir()] == ["nova.conf"]


def test_the_state_directory_can_be_named(container: Container) -> None:
    container.read_only = True
    container.volume("/run/start")
    container.config("echo started")
    environment = {"STACKWRIGHT_STATE_DIRECTORY": "/run/start/nova-api"}
    result = container.start(user=NOVA, environment=environment)
    assert (result.code, result.output) == (0, "Running command: 'echo started'\nstarted\n"), result.log
    assert container.text("/run/start/nova-api/run_command") == "echo started"


def test_copy_once_leaves_its_mark_in_the_state_directory(container: Container) -> None:
    image(container, NOVA)
    container.config("first")
    assert container.set_configs(user=NOVA, strategy="COPY_ONCE").code == 0
    assert container.at(f"{STATE}/configured").exists()
    container.config("second")
    assert container.set_configs(user=NOVA, strategy="COPY_ONCE").code == 0
    assert container.text(f"{STATE}/run_command") == "first"


@pytest.mark.parametrize(
    ("read_only", "reason"),
    [
        pytest.param(False, "Permission denied", id="root-s"),
        pytest.param(True, "Read-only file system", id="read-only"),
    ],
)
def test_a_place_that_cannot_be_written_is_named(container: Container, read_only: bool, reason: str) -> None:
    container.volume(STATE)
    container.read_only = read_only
    container.directory("/usr/local/sbin")
    container.source("keystone-startup.sh")
    container.config(config_files=[copy("keystone-startup.sh", "/usr/local/sbin/keystone-startup.sh")])
    result = container.set_configs(user=NOVA)
    assert result.code == 2
    assert "ERROR Unable to merge" in result.log
    assert f"ERROR OSError: /usr/local/sbin/keystone-startup.sh: {reason}; the image or a volume" in result.log
    assert f"uid {NOVA.uid}" in result.log
    assert "Traceback" not in result.log


def test_without_a_place_for_the_state_the_start_says_so(container: Container) -> None:
    container.config()
    result = container.start(user=NOVA)
    assert result.code == 2
    assert "ERROR OSError: /etc/kolla: Permission denied" in result.log


def test_a_file_that_belongs_to_the_user_in_a_directory_that_does_not(container: Container) -> None:
    container.directory(STATE, mode=0o1777)
    container.write("/etc/nova/nova.conf", "default, which is longer", mode=0o644, user=NOVA)
    container.source("nova.conf", "configured")
    container.config(config_files=[copy("nova.conf", "/etc/nova/nova.conf")])
    for _ in range(2):
        assert container.set_configs(user=NOVA).code == 0
        assert container.text("/etc/nova/nova.conf") == "configured"
    assert (container.owner("/etc/nova/nova.conf"), container.mode("/etc/nova/nova.conf")) == (
        (USERS["nova"], USERS["nova"]),
        0o600,
    )
    container.config()
    assert container.set_configs(user=NOVA).code == 0
    assert container.text("/etc/nova/nova.conf") == "default, which is longer"
