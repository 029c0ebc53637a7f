"""config.json in the form in which kolla-ansible writes it for Keystone, Glance and Nova."""

import json
from typing import Any

import pytest

from tests.images.container import CONFIG_FILES, GLANCE, GROUPS, KEYSTONE, NOVA, USERS, Container, User

STATE = "/var/lib/kolla/state"
AUTHORITIES = {
    "source": "/var/lib/kolla/config_files/ca-certificates",
    "dest": "/var/lib/kolla/share/ca-certificates",
    "owner": "root",
    "perm": "0644",
}


def own(name: str, dest: str, owner: str, **more: Any) -> dict[str, Any]:
    return {"source": f"/var/lib/kolla/config_files/{name}", "dest": dest, "owner": owner, "perm": "0600", **more}


KEYSTONE_CONFIG = {
    "command": "/usr/local/bin/keystone-startup.sh",
    "config_files": [
        own("keystone-startup.sh", "/usr/local/bin/keystone-startup.sh", "root", perm="0755"),
        own("keystone.conf", "/etc/keystone/keystone.conf", "keystone"),
        own("keystone-paste.ini", "/etc/keystone/keystone-paste.ini", "keystone", optional=True),
        own("domains", "/etc/keystone/domains", "keystone", optional=True),
        own("keystone-uwsgi.ini", "/etc/keystone/keystone-api-uwsgi.ini", "keystone"),
        own("policy.yaml", "/etc/keystone/policy.yaml", "keystone"),
        own("keystone-cert.pem", "/etc/keystone/certs/keystone-cert.pem", "keystone"),
        own("keystone-key.pem", "/etc/keystone/certs/keystone-key.pem", "keystone"),
        AUTHORITIES,
    ],
    "permissions": [
        {"path": "/var/log/kolla", "owner": "keystone:kolla"},
        {"path": "/var/log/kolla/keystone/keystone.log", "owner": "keystone:keystone"},
        {"path": "/etc/keystone/fernet-keys", "owner": "keystone:keystone", "perm": "0770"},
        {"path": "/etc/keystone/domains", "owner": "keystone:keystone", "perm": "0700"},
    ],
}
GLANCE_CONFIG = {
    "command": "cat /etc/glance/glance-api.conf",
    "config_files": [
        own("glance-api.conf", "/etc/glance/glance-api.conf", "glance"),
        own("glance-api-uwsgi.ini", "/etc/glance/glance-api-uwsgi.ini", "glance"),
        own("ceph", "/etc/ceph", "glance"),
        own("glance-image-import.conf", "/etc/glance/glance.conf.d/glance-image-import.conf", "glance"),
        AUTHORITIES,
    ],
    "permissions": [
        {"path": "/var/lib/glance", "owner": "glance:glance", "recurse": True},
        {"path": "/var/log/kolla/glance", "owner": "glance:glance", "recurse": True},
    ],
}
NOVA_CONFIG = {
    "command": "cat /etc/nova/nova.conf",
    "config_files": [
        own("nova.conf", "/etc/nova/nova.conf", "nova"),
        own("nova-api-uwsgi.ini", "/etc/nova/nova-api-uwsgi.ini", "nova"),
        own("clientkey.pem", "/etc/pki/libvirt/private/clientkey.pem", "root:nova", perm="0640"),
        own("release", "/etc/nova/release", "nova", optional=True),
        own("vendordata.json", "/etc/nova/vendordata.json", "nova"),
        AUTHORITIES,
    ],
    "directories": [{"path": "/var/log/kolla/nova", "owner": "nova", "perm": "0755"}],
    "permissions": [
        {"path": "/var/log/kolla/nova", "owner": "nova:nova", "recurse": True},
        {"path": "/var/lib/nova", "owner": "nova:nova", "recurse": True},
    ],
}
SERVICES: dict[str, tuple[dict[str, Any], User]] = {
    "keystone": (KEYSTONE_CONFIG, KEYSTONE),
    "glance": (GLANCE_CONFIG, GLANCE),
    "nova": (NOVA_CONFIG, NOVA),
}
DIRECTORIES = ("domains", "ceph", "ca-certificates")


def mount(container: Container, config: dict[str, Any], *, copied_scripts: bool = True) -> dict[str, Any]:
    """Mount config.json and all that it copies but for what is optional; return it as it was mounted."""
    entries = [entry for entry in config["config_files"] if copied_scripts or not entry["dest"].startswith("/usr/")]
    config = {**config, "config_files": entries}
    container.source("config.json", json.dumps(config, indent=4))
    for entry in entries:
        name = entry["source"].removeprefix(f"{CONFIG_FILES}/")
        if name.endswith(".sh"):
            container.source(name, "#!/bin/sh\nexec cat /etc/keystone/keystone.conf\n")
        elif name in DIRECTORIES:
            container.source(f"{name}/one", f"configured {name}\n")
        elif not entry.get("optional"):
            container.source(name, f"configured {name}\n")
    return config


def image(container: Container, name: str, user: User) -> None:
    """What the image of a service has: defaults, directories of the service, and places for the start to write."""
    container.directory(STATE, mode=0o1777)
    container.directory("/var/lib/kolla/share", mode=0o1777)
    container.write(f"/etc/{name}/{name}.conf", "default")
    for path in (f"/etc/{name}", f"/var/lib/{name}", f"/var/log/kolla/{name}", "/etc/ceph", "/etc/pki/libvirt"):
        container.directory(path, user=user)
    container.write(f"/var/log/kolla/{name}/{name}.log", "old lines", user=user)
    container.directory("/etc/keystone/fernet-keys", mode=0o700, user=user)


@pytest.mark.parametrize("name", SERVICES)
def test_root_starts_it_as_kolla_would(container: Container, name: str) -> None:
    config, user = SERVICES[name]
    image(container, name, User(0, 0))
    mount(container, config)
    for _ in range(2):
        result = container.start()
        assert result.code == 0, result.log
        assert "WARNING" not in result.log
        main = "glance-api" if name == "glance" else name
        assert result.output.splitlines()[1:] == [f"configured {main}.conf"]
    for entry in config["config_files"]:
        if not entry.get("optional"):
            owner, _, group = entry["owner"].partition(":")
            assert container.owner(entry["dest"]) == (USERS[owner], GROUPS[group or owner])
    assert container.owner(f"/var/log/kolla/{name}/{name}.log") == (user.uid, user.gid)
    assert container.text(f"/var/log/kolla/{name}/{name}.log") == "old lines"
    assert container.check().code == 0


@pytest.mark.parametrize("name", SERVICES)
def test_the_service_s_own_user_starts_it_without_sudo(container: Container, name: str) -> None:
    config, user = SERVICES[name]
    image(container, name, user)
    config = mount(container, {**config, "command": f"cat /etc/{name}/{name}.conf"}, copied_scripts=False)
    for _ in range(2):
        result = container.start(user=user)
        assert result.code == 0, result.log
        assert "Traceback" not in result.log
    for entry in config["config_files"]:
        if not entry.get("optional"):
            assert container.owner(entry["dest"]) == (user.uid, user.gid)
            mode = int(entry["perm"], 8)
            assert container.mode(entry["dest"]) == (mode | (mode & 0o444) >> 2 if "." not in entry["dest"] else mode)
    assert "configured ca-certificates" in container.text(f"{STATE}/ca-certificates.crt")
    assert container.check(user=user).code == 0


def test_keystone_s_optional_domains_come_and_go(container: Container) -> None:
    config, user = SERVICES["keystone"]
    image(container, "keystone", user)
    mount(container, config, copied_scripts=False)
    domain = container.at(f"{CONFIG_FILES}/domains/one")
    assert container.set_configs(user=user).code == 0
    assert container.text("/etc/keystone/domains/one") == "configured domains\n"
    assert (container.mode("/etc/keystone/domains"), container.mode("/etc/keystone/domains/one")) == (0o700, 0o600)
    assert container.mode("/etc/keystone/fernet-keys") == 0o770
    domain.unlink()
    domain.parent.rmdir()
    assert container.check(user=user).code == 1
    assert container.set_configs(user=user).code == 0
    assert not container.at("/etc/keystone/domains").exists()
    assert container.check(user=user).code == 0


def test_a_script_for_the_system_s_directories_needs_root(container: Container) -> None:
    config, user = SERVICES["keystone"]
    image(container, "keystone", user)
    mount(container, config)
    result = container.start(user=user)
    assert (result.code, result.output) == (2, "")
    assert "OSError: /usr/local/bin/keystone-startup.sh: Permission denied" in result.log


def test_a_file_that_has_to_be_there_is_missed(container: Container) -> None:
    config, user = SERVICES["nova"]
    image(container, "nova", user)
    mount(container, config)
    container.at(f"{CONFIG_FILES}/nova.conf").unlink()
    result = container.start(user=user)
    assert (result.code, result.output) == (1, "")
    assert f"MissingRequiredSource: {CONFIG_FILES}/nova.conf file is not found" in result.log
