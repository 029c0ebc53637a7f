"""What the hand-written script applies: the objects of the same charts as plain manifests, and Secrets."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "keystone_script.sh"
PASSWORD = "measured"  # noqa: S105  of a cloud that lives for a minute


@dataclass(frozen=True)
class Prepared:
    """The files that the script is given."""

    manifests: Path
    login: Path


def prepare(folder: Path, namespace: str) -> Prepared:
    """Write the manifests of a database, a cache and Keystone, whose Jobs make what it needs."""
    resources = folder / "resources.yaml"
    resources.write_text("---\n".join(yaml.safe_dump(body) for body in _resources(namespace)))
    printed = [rendered(service, resources, namespace) for service in ("mariadb", "memcached", "keystone")]
    manifests = folder / "manifests.yaml"
    manifests.write_text("---\n".join(printed))
    return Prepared(manifests, login(folder, PASSWORD))


def login(folder: Path, password: str, project: str = "") -> Path:
    """Write what the administrator sends to get a token, of a project or of none."""
    user = {"name": "admin", "domain": {"name": "Default"}, "password": password}
    identity = {"methods": ["password"], "password": {"user": user}}
    path = folder / "login.json"
    scope = {"scope": {"project": {"name": project, "domain": {"name": "Default"}}}} if project else {}
    path.write_text(json.dumps({"auth": {"identity": identity, **scope}}))
    return path


def rendered(service: str, resources: Path, namespace: str, *what: str) -> str:
    """Return all objects of a service as plain manifests, or `what` else is asked for."""
    command = [sys.executable, "-m", "stackwright.cli", "render", service, *(what or ("--manifests",))]
    done = subprocess.run(
        [*command, "--file", str(resources), "--namespace", namespace],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"render {service}: {done.stderr}")
    return done.stdout


def _resources(namespace: str) -> list[dict[str, object]]:
    def named(kind: str, group: str, name: str, spec: dict[str, object]) -> dict[str, object]:
        metadata = {"name": name, "namespace": namespace}
        return {"apiVersion": f"{group}/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}

    keystone: dict[str, object] = {"databaseInstance": "openstack", "secret": "osp-secret"}
    secret: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "osp-secret", "namespace": namespace},
        "stringData": {"AdminPassword": PASSWORD},
    }
    return [
        secret,
        named("Galera", "mariadb.openstack.org", "openstack", {"storageClass": "local", "storageRequest": "10G"}),
        named("Memcached", "memcached.openstack.org", "memcached", {}),
        named("KeystoneAPI", "keystone.openstack.org", "keystone", keystone),
    ]
