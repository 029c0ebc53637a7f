"""A component's config.json: ours, and the user's over it."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from stackwright.api.base import ObjectMeta
from stackwright.api.start import CopiedFile, KollaConfig, MadePath, Permission
from stackwright.blueprint import admission, start
from stackwright.blueprint.service import ConfigFile
from stackwright.services.keystone.kinds import KeystoneAPI, KeystoneAPISpec

FILES = (
    ConfigFile("api-01-teapot.conf", "[DEFAULT]", "/etc/teapot/teapot.conf.d/01-teapot.conf"),
    ConfigFile("api-policy.yaml", "{}", "/etc/teapot/policy.yaml"),
)
CONFIGURATION = {"source": "/var/lib/openstack/config/api-01-teapot.conf", "dest": FILES[0].destination}
POLICY = {"source": "/var/lib/openstack/config/api-policy.yaml", "dest": FILES[1].destination}
MODE = {"owner": "teapot", "perm": "0600"}


def merged(own: KollaConfig | None) -> Any:
    return json.loads(start.contract("brew", FILES, "teapot", own))


def test_without_a_word_of_the_user_it_is_ours() -> None:
    assert merged(None) == {"command": "brew", "config_files": [CONFIGURATION | MODE, POLICY | MODE]}


def test_another_command_starts_with_the_same_files() -> None:
    assert merged(KollaConfig(command="brew --green")) == merged(None) | {"command": "brew --green"}


@pytest.mark.parametrize(
    ("entry", "files"),
    [
        pytest.param(
            CopiedFile(source="policy.yaml", dest="/etc/other/", perm="0640"),
            [CONFIGURATION | MODE, POLICY | MODE, POLICY | MODE | {"dest": "/etc/other/policy.yaml", "perm": "0640"}],
            id="a-file-of-ours-goes-to-a-further-place-under-its-own-name",
        ),
        pytest.param(
            CopiedFile(source="/mnt/policy.yaml", dest="/etc/teapot/", owner="root:root", optional=True),
            [
                CONFIGURATION | MODE,
                {"source": "/mnt/policy.yaml", "dest": "/etc/teapot/", "owner": "root:root", "perm": "0600"}
                | {"optional": True},
            ],
            id="one-for-the-same-place-replaces-ours",
        ),
        pytest.param(
            CopiedFile(source="/mnt/tea*", dest="/etc/tea/", preserve_properties=True, merge=True),
            [
                CONFIGURATION | MODE,
                POLICY | MODE,
                {"source": "/mnt/tea*", "dest": "/etc/tea/", "preserve_properties": True, "merge": True},
            ],
            id="a-source-that-keeps-its-properties-says-no-others",
        ),
    ],
)
def test_further_files_are_merged_by_where_they_end(entry: CopiedFile, files: list[Any]) -> None:
    assert merged(KollaConfig(config_files=(entry,)))["config_files"] == files


def test_paths_and_permissions_are_added_for_the_services_own_user() -> None:
    own = KollaConfig(
        directories=(MadePath(path="/var/lib/teapot/leaves"),),
        files=(MadePath(path="/var/lib/teapot/log", perm="0644"),),
        permissions=(Permission(path="/var/lib/teapot", recurse=True, exclude=("leaves$",)),),
    )
    assert merged(own) == merged(None) | {
        "directories": [{"path": "/var/lib/teapot/leaves", "owner": "teapot", "perm": "0750"}],
        "files": [{"path": "/var/lib/teapot/log", "owner": "teapot", "perm": "0644"}],
        "permissions": [{"path": "/var/lib/teapot", "owner": "teapot", "recurse": True, "exclude": ["leaves$"]}],
    }


def test_the_image_reads_what_was_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "images" / "start"))
    monkeypatch.delitem(sys.modules, "kolla_set_configs", raising=False)
    configuration = importlib.import_module("kolla_set_configs.configuration")
    own = KollaConfig(
        command="brew",
        config_files=(CopiedFile(source="policy.yaml", dest="/etc/other/"),),
        permissions=(Permission(path="/var/lib/teapot", exclude=("leaves$",)),),
    )
    read = configuration.parse_config(merged(own))
    assert read.command == "brew"
    assert [str(entry.dest) for entry in read.config_files][-1] == "/etc/other/policy.yaml"


def keystone(own: KollaConfig, **overwrite: str) -> KeystoneAPI:
    spec = KeystoneAPISpec(secret="s", databaseInstance="db", kollaConfig=own, defaultConfigOverwrite=overwrite)
    return KeystoneAPI(metadata=ObjectMeta(name="keystone"), spec=spec)


@pytest.mark.parametrize(
    ("own", "path"),
    [
        pytest.param(
            KollaConfig(config_files=(CopiedFile(source="tea", dest="/tea"),)),
            "config_files[0].source",
            id="a-file-that-nobody-brings",
        ),
        pytest.param(
            KollaConfig(config_files=(CopiedFile(source="/var/lib/kolla/config_files/a", dest="/a"),)),
            "config_files[0].source",
            id="a-place-where-only-kolla-has-files",
        ),
        pytest.param(
            KollaConfig(permissions=(Permission(path="/tea", exclude=("a", "(")),)),
            "permissions[0].exclude[1]",
            id="a-broken-expression",
        ),
    ],
)
def test_what_the_container_would_stumble_over_is_refused_at_admission(own: KollaConfig, path: str) -> None:
    assert [place for place, _ in admission.problems(keystone(own))] == [f"spec.kollaConfig.{path}"]


def test_a_file_that_the_user_brings_may_be_copied_anywhere() -> None:
    own = KollaConfig(config_files=(CopiedFile(source="tea", dest="/tea"),))
    assert admission.problems(keystone(own, tea="green")) == ()
