"""Looks for the content of Secrets where it must not stand."""

import base64
import gzip
import json
import subprocess
import urllib.parse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.e2e.cloud import NAMESPACE, OPERATORS, Cloud
from tests.e2e.clusters import Kubectl

# What stands before the name of a pod where its log was looked through.
LOG = "the log of "


def found_beside(cloud: Cloud, *names: str) -> list[str]:
    """Return where a secret stands that must not, while all services of these names are there, each with Secrets."""
    secrets = values(cloud.kubectl)
    if lacking := missing(names, "", secrets):
        raise AssertionError(f"there are no Secrets of {', '.join(lacking)}; there are {sorted(secrets)}")
    texts = places(cloud.kubectl)
    if lacking := missing(names, LOG, texts):
        raise AssertionError(f"there are no logs of {', '.join(lacking)}: have they no pods? There are {sorted(texts)}")
    return list(leaks(secrets, texts))


def missing(names: Iterable[str], before: str, there: Iterable[str]) -> list[str]:
    """Return the services of which nothing is there. Pure."""
    found = list(there)
    return [name for name in names if not any(place.startswith(f"{before}{name}-") for place in found)]


def values(kubectl: Kubectl) -> dict[str, str]:
    """Return every value of eight bytes or more that a Secret of the cloud holds, by where it stands."""
    listed = json.loads(kubectl("get", "secrets", "--output=json"))["items"]
    found: dict[str, str] = {}
    for item in listed:
        for key, data in item.get("data", {}).items():
            if item.get("type") == "helm.sh/release.v1":
                continue
            text = base64.b64decode(data).decode(errors="replace")
            found[f"{item['metadata']['name']}/{key}"] = text.strip()
    return {place: text for place, text in found.items() if len(text) >= 8 and not _is_public(place)}


# Which server, schema and user a login is for: resources say it too.
NAMES = {"host", "hostname", "username", "user", "port", "database", "databaseServer", "brokerServer"}
NAMES |= {"rabbitmq_user_name", "notification_rabbitmq_user_name"}
# What stands in Secrets beside what is secret: lists of plugins, and keys that everybody may know.
OPEN = {"enabled_plugins", "ssh-publickey", "known_hosts"}


def _is_public(place: str) -> bool:
    """Return whether what stands there is no secret, though it is in a Secret: programs and names of hosts."""
    key = place.partition("/")[2]
    # What a user overrides stands in the resource too.
    return key.endswith((".json", ".cnf", "-override.conf")) or key in NAMES | OPEN


def leaks(secrets: dict[str, str], texts: dict[str, str]) -> Iterator[str]:
    """Yield where a secret stands: as it is, in base64, or as in a URL."""
    for place, value in secrets.items():
        lines = [line for line in value.splitlines() if len(line) >= 8] if "\n" in value else [value]
        wanted = lines if len(lines) == 1 else [line for line in lines if "://" in line or "pass" in line.lower()]
        for text in wanted:
            forms = {text, base64.b64encode(text.encode()).decode(), urllib.parse.quote(text, safe="")}
            yield from (f"{place} in {name}" for name, content in texts.items() if any(f in content for f in forms))


def places(kubectl: Kubectl) -> dict[str, str]:
    """Return all that people and programs may read without reading Secrets."""
    found: dict[str, str] = {}
    for namespace in (NAMESPACE, OPERATORS):
        here = Kubectl(kubectl.program, kubectl.kubeconfig, namespace)
        for pod in here.get("pods", "{.items[*].metadata.name}").split():
            command = here.command("logs", pod, "--all-containers", "--prefix")
            found[f"{LOG}{pod}"] = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=60
            ).stdout
        found[f"the events of {namespace}"] = here("get", "events", "--output=yaml")
    found["the resources"] = kubectl("get", "openstack", "--output=yaml")
    found["the pods"] = kubectl("get", "pods,jobs,deployments,statefulsets,configmaps", "--output=yaml")
    found["the release records"] = _records(kubectl)
    found["the processes"] = "\n".join(_arguments())
    return found


def _records(kubectl: Kubectl) -> str:
    listed: list[dict[str, Any]] = json.loads(kubectl("get", "secrets", "--selector=owner=helm", "--output=json"))[
        "items"
    ]
    raw = (base64.b64decode(base64.b64decode(item["data"]["release"])) for item in listed)
    return "\n".join(gzip.decompress(record).decode() for record in raw)


def _arguments() -> Iterator[str]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                yield (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
