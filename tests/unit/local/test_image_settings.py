"""The machine's package settings: what is taken over into a build, and what is not."""

import os
from pathlib import Path

import pytest

from stackwright.local.images import bootstrapping, context, settings
from stackwright.local.images.recipes import Bootstrap
from stackwright.local.images.settings import Settings, Source

DEB822 = """\
Types: deb
# http://snapshot.example.org/20250520
URIs: http://mirror.example.org/debian
Suites: bookworm bookworm-updates bookworm-backports
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb deb-src
URIs: http://mirror.example.org/debian-security
Suites: bookworm-security
Components: main
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            DEB822,
            [
                "deb http://mirror.example.org/debian trixie main",
                "deb http://mirror.example.org/debian trixie-updates main",
                "deb http://mirror.example.org/debian-security trixie-security main",
            ],
            id="a-sources-file",
        ),
        pytest.param(
            "deb [arch=amd64 trusted=yes] http://m.example.org/debian bookworm main non-free # ours\n",
            ["deb [trusted=yes] http://m.example.org/debian trixie main"],
            id="a-list-file",
        ),
        pytest.param("# deb http://m.example.org/debian bookworm main\n", [], id="a-comment"),
        pytest.param("deb-src http://m.example.org/debian bookworm main\n", [], id="sources-only"),
        pytest.param("deb http://m.example.org/ubuntu noble main universe\n", [], id="another-distribution"),
        pytest.param("deb http://m.example.org/linux/debian bookworm stable\n", [], id="somebody-else-s-packages"),
        pytest.param(
            "deb [signed-by=/etc/apt/keyrings/other.gpg] http://m.example.org/debian bookworm main\n",
            [],
            id="signed-by-somebody-else",
        ),
        pytest.param(DEB822.replace("Types: deb\n", "Enabled: no\nTypes: deb\n").partition("\n\n")[0], [], id="off"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_debian_s_archive_is_found_and_taken_for_the_suite(text: str, expected: list[str]) -> None:
    assert [source.line for source in settings.debian_sources(text, "trixie")] == expected


def test_of_apt_s_options_those_that_say_how_to_reach_an_archive_are_kept() -> None:
    dump = """\
APT::Architecture "amd64";
Acquire::Check-Valid-Until "false";
Acquire::http::Proxy "http://proxy.example.org:3128";
Acquire::https::CaInfo "/etc/ssl/own.crt";
Acquire::Languages "";
Acquire::Retries "5";
DPkg::Post-Invoke:: "something";
"""
    assert list(settings.apt_options(dump)) == [
        'Acquire::Check-Valid-Until "false";',
        'Acquire::http::Proxy "http://proxy.example.org:3128";',
        'Acquire::Retries "5";',
    ]


@pytest.mark.parametrize(
    ("texts", "environment", "expected"),
    [
        pytest.param(["[global]\nindex_url = a\n"], {}, {"index-url": "a"}, id="an-underscore"),
        pytest.param(["[global]\nindex-url = a\n", "[install]\nindex-url = b\n"], {}, {"index-url": "b"}, id="later"),
        pytest.param(["[global]\nindex-url = a\n"], {"PIP_INDEX_URL": "c"}, {"index-url": "c"}, id="a-variable"),
        pytest.param(["[global]\nuser = true\nprefix = /x\n"], {}, {}, id="what-is-not-about-the-index"),
        pytest.param(["no section\n"], {}, {}, id="a-file-that-is-none"),
        pytest.param(
            ["[global]\nextra-index-url =\n  https://a\n  https://b\n"],
            {},
            {"extra-index-url": "https://a https://b"},
            id="several-lines",
        ),
        pytest.param([], {"PIP_FIND_LINKS": "/wheels"}, {}, id="a-folder-of-this-machine"),
        pytest.param([], {"PIP_FIND_LINKS": "/w https://x/y"}, {"find-links": "https://x/y"}, id="an-address"),
    ],
)
def test_how_pip_reaches_its_index(texts: list[str], environment: dict[str, str], expected: dict[str, str]) -> None:
    assert settings.pip_options(texts, environment) == expected


MACHINE = Settings(
    sources=(Source("http://mirror.example.org/debian", "trixie"),),
    apt=('Acquire::Retries "5";',),
    credentials="machine mirror.example.org login me password secret",
    pip={"index-url": "https://index.example.org/simple"},
    authorities=b"PEM",
)


def test_what_a_build_sees_is_written_to_one_folder(tmp_path: Path) -> None:
    settings.write(MACHINE, tmp_path / "settings")
    found = {path.name: path.read_text() for path in (tmp_path / "settings").iterdir()}
    assert found["sources.list"] == "deb http://mirror.example.org/debian trixie main\n"
    assert 'Dir::Etc::sourcelist "/mnt/settings/sources.list";' in found["apt.conf"]
    assert 'Acquire::Retries "5";' in found["apt.conf"]
    assert "cert = /mnt/settings/authorities.crt" in found["pip.conf"]
    assert "index-url = https://index.example.org/simple" in found["pip.conf"]
    assert "secret" in found["auth.conf"]
    assert (tmp_path / "settings").stat().st_mode & 0o777 == 0o700


def test_a_machine_without_settings_leaves_the_image_s_own_alone(tmp_path: Path) -> None:
    settings.write(Settings(), tmp_path / "settings")
    assert sorted(path.name for path in (tmp_path / "settings").iterdir()) == ["apt.conf", "pip.conf"]
    assert "sourcelist" not in (tmp_path / "settings" / "apt.conf").read_text()


@pytest.mark.parametrize(
    ("machine", "removed", "given"),
    [
        pytest.param(MACHINE, True, True, id="the-machine-s-archive-is-used-and-forgotten"),
        pytest.param(Settings(), False, False, id="a-machine-without-debian-takes-the-usual-archive"),
    ],
)
def test_the_first_image_knows_nothing_of_its_machine(
    tmp_path: Path, machine: Settings, removed: bool, given: bool
) -> None:
    folder = tmp_path / "context"
    folder.mkdir()
    words = context.bootstrap(Bootstrap("trixie", exclude=("/usr/share/man/*",)), machine, folder)
    hook = next(word for word in words if word.startswith("--customize-hook="))
    assert '"$1"/etc/resolv.conf' in hook
    assert ("sources.list" in hook) == removed
    assert (words[-1] == str(tmp_path / "sources.list")) == given
    assert "--dpkgopt=path-exclude=/usr/share/man/*" in words
    # Nothing of it is in the folder that becomes the image.
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("user", "mode"), [(0, 0o600), (1000, 0o644)], ids=["root", "somebody-with-namespaces"])
def test_passwords_are_for_root_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, mode: int) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    (tmp_path / "context").mkdir()
    context.bootstrap(Bootstrap("trixie"), MACHINE, tmp_path / "context")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir() if path.is_file()}
    assert modes == {"authorities.crt": 0o644, **dict.fromkeys(("apt.conf", "auth.conf", "sources.list"), mode)}


@pytest.mark.parametrize(
    ("flags", "may"),
    [(0, True), (os.ST_NOSUID, True), (os.ST_NODEV, False), (os.ST_NOEXEC | os.ST_NOSUID, False)],
)
def test_a_root_file_system_is_made_where_programs_and_devices_work(flags: int, may: bool) -> None:
    assert bootstrapping.may_have_a_root(flags) is may


def test_what_is_mounted_for_the_first_image_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    command = bootstrapping.command(tmp_path)
    assert (command[0], command[-1]) == ("unshare", "mmdebstrap")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert bootstrapping.command(tmp_path) == ["mmdebstrap"]
