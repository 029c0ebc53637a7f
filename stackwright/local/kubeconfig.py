"""Writes kubeconfig files with everything in them, so that one file is all that a client needs."""

import base64
from pathlib import Path

import yaml

from stackwright.local.certificates import Pair, write_private


def write(path: Path, *, server: str, authority: Path, client: Pair, name: str = "stackwright") -> None:
    """Write a kubeconfig for one user of one cluster, readable by its owner alone."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": _text(authority)}}],
        "users": [
            {
                "name": name,
                "user": {
                    "client-certificate-data": _text(client.certificate),
                    "client-key-data": _text(client.key),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    write_private(path, yaml.safe_dump(content, sort_keys=False).encode())


def _text(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
