"""A root file system with the start scripts installed as an image has them, in which they really run.

Every run has a mount namespace of its own: the host's programs are there read-only, the rest is the test's. The
user is dropped to as Kubernetes does it under the restricted profile: a number, no capability, no way to more.
"""

import json
import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

START = Path(__file__).parents[2] / "images" / "start"
CONFIG_FILES = "/var/lib/kolla/config_files"
HOST_DIRECTORIES = (
    *("bin", "sbin", "lib", "lib64"),
    *("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "usr/share/ca-certificates"),
)

USERS = {"root": 0, "keystone": 42425, "glance": 42415, "nova": 42436, "www-data": 33}
GROUPS = {**USERS, "kolla": 42400}


@dataclass(frozen=True)
class User:
    """Who runs a command: a number, whether the image has a name for it or not."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


ROOT = User(0, 0)
NOVA = User(USERS["nova"], USERS["nova"])
KEYSTONE = User(USERS["keystone"], USERS["keystone"])
GLANCE = User(USERS["glance"], USERS["glance"])
STRANGER = User(1000660000, 0)
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Result:
    code: int
    output: str
    log: str


@dataclass
class Container:
    """What an image, its volumes and its restarts are made of."""

    base: Path
    read_only: bool = False
    volumes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root.mkdir()
        self.root.chmod(0o755)
        (self.base / "mount").mkdir()
        for name in HOST_DIRECTORIES:
            if (host := Path("/", name)).is_symlink():
                self.link(name, str(host.readlink()))
            elif host.is_dir():
                self.directory(name)
        self.directory("/tmp", mode=0o1777)
        self.write("/dev/null")
        self.write("/etc/passwd", "".join(f"{name}:x:{uid}:{uid}::/:/bin/sh\n" for name, uid in USERS.items()))
        self.write("/etc/group", "".join(f"{name}:x:{gid}:\n" for name, gid in GROUPS.items()))
        for script in (START / "bin").iterdir():
            self.write(f"/usr/local/bin/{script.name}", script.read_text(), mode=0o755)
        modules = "usr/local/lib/kolla/kolla_set_configs"
        shutil.copytree(START / "kolla_set_configs", self.root / modules, ignore=shutil.ignore_patterns("__pycache__"))
        self.directory(CONFIG_FILES)

    @property
    def root(self) -> Path:
        return self.base / "root"

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def directory(self, path: str, *, mode: int = 0o755, user: User = ROOT) -> None:
        self.at(path).mkdir(parents=True, exist_ok=True)
        os.chown(self.at(path), user.uid, user.gid)
        self.at(path).chmod(mode)

    def write(self, path: str, text: str = "", *, mode: int = 0o644, user: User = ROOT) -> None:
        self.at(path).parent.mkdir(parents=True, exist_ok=True)
        self.at(path).write_text(text)
        os.chown(self.at(path), user.uid, user.gid)
        self.at(path).chmod(mode)

    def link(self, path: str, target: str) -> None:
        self.at(path).parent.mkdir(parents=True, exist_ok=True)
        self.at(path).symlink_to(target)

    def volume(self, path: str) -> None:
        """Mount an emptyDir at a path."""
        self.directory(path, mode=0o777)
        self.volumes.append(path)

    def source(self, name: str, text: str = "", *, mode: int = 0o644) -> str:
        """Mount a file beside config.json and return its path."""
        path = f"{CONFIG_FILES}/{name}"
        self.write(path, text, mode=mode)
        return path

    def mounted(self, path: str, files: Mapping[str, str]) -> None:
        """Mount a Secret or ConfigMap, in the form in which Kubernetes does it."""
        for name, text in files.items():
            self.write(f"{path}/..2026_07_01/{name}", text)
            self.link(f"{path}/{name}", f"..data/{name}")
        self.link(f"{path}/..data", "..2026_07_01")

    def config(self, command: str = "true", **sections: Sequence[Mapping[str, Any]]) -> None:
        self.source("config.json", json.dumps({"command": command, **sections}))

    def lacks_yaml(self) -> dict[str, str]:
        """Return the environment in which Python has no PyYAML."""
        self.write("/python/yaml.py", "raise ImportError('hidden from this test')")
        return {"PYTHONPATH": "/python"}

    def has_yaml(self) -> dict[str, str]:
        """Return the environment in which Python has PyYAML."""
        shutil.copytree(Path(yaml.__file__).parent, self.at("/python/yaml"))
        return {"PYTHONPATH": "/python"}

    def text(self, path: str) -> str:
        return self.at(path).read_text()

    def mode(self, path: str) -> int:
        return stat.S_IMODE(self.at(path).stat().st_mode)

    def owner(self, path: str) -> tuple[int, int]:
        status = self.at(path).stat()
        return status.st_uid, status.st_gid

    def snapshot(self) -> dict[str, tuple[int, int, int, int, bytes]]:
        """Return all that a run could have changed."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            key = str(path.relative_to(self.root))
            if "__pycache__" not in key:
                found[key] = (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, content)
        return found

    def set_configs(
        self, *, user: User = ROOT, strategy: str = "COPY_ALWAYS", environment: Mapping[str, str] = NOTHING
    ) -> Result:
        return self.run("kolla_set_configs", user=user, environment={"KOLLA_CONFIG_STRATEGY": strategy, **environment})

    def check(self, *, user: User = ROOT) -> Result:
        return self.run("kolla_set_configs", "--check", user=user)

    def start(self, *, user: User = ROOT, environment: Mapping[str, str] = NOTHING) -> Result:
        return self.run("kolla_start", user=user, environment={"KOLLA_CONFIG_STRATEGY": "COPY_ALWAYS", **environment})

    def run(self, *command: str, user: User = ROOT, environment: Mapping[str, str] = NOTHING) -> Result:
        script = " && ".join(shlex.join(words) for words in [*self.mounts(), self.entry(command, user)])
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
            env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def mounts(self) -> list[list[str]]:
        mount = self.base / "mount"
        steps = [["mount", "--bind", str(self.root), str(mount)]]
        host = [name for name in (*HOST_DIRECTORIES, "dev/null") if self.at(name).exists()]
        steps += [["mount", "--bind", f"/{name}", str(mount / name)] for name in host if not self.at(name).is_symlink()]
        steps += [["mount", "--bind", str(self.at(path)), str(mount / path.lstrip("/"))] for path in self.volumes]
        if self.read_only:
            steps.append(["mount", "-o", "remount,bind,ro", str(mount)])
        return steps

    def entry(self, command: Sequence[str], user: User) -> list[str]:
        words = ["exec", "chroot", str(self.base / "mount")]
        if user != ROOT:
            groups = f"--groups={','.join(map(str, user.groups))}" if user.groups else "--clear-groups"
            words += ["setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", groups]
            words += ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        return [*words, *command]


def why_not() -> str:
    """Return why this machine cannot run a container like these, if it cannot."""
    if os.geteuid() != 0:
        return "the start scripts are tried in a root file system of their own, for which the tests must run as root"
    if not Path("/usr/bin/python3").exists():
        return "the start scripts are tried with the system's Python, and there is no /usr/bin/python3"
    with tempfile.TemporaryDirectory() as directory:
        probe = ["unshare", "--mount", "--propagation", "private", "mount", "--bind", directory, directory]
        done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return f"this machine lets nobody mount: {done.stderr.strip()}" if done.returncode else ""
