"""Whether root has the password of its Secret yet: a node gets a new one about a minute later. Pure."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from stackwright.blueprint.secret_values import read_database_password
from stackwright.kube.builtin import Secret

# How often the hash is taken, as the program of the nodes does it (`charts/mariadb/files/server.py`).
ROUNDS = 100_000


def is_pending(secret: Secret | None, key: str, record: Mapping[str, Any]) -> bool:
    """Return whether the node that clients use says that root has another password than the Secret.

    A node that has not said anything, or a Secret that cannot be read, is no reason to doubt it.
    """
    root, life = record.get("root"), record.get("life")
    password = read_database_password(secret, "", key, "")
    if not (isinstance(root, str) and root and isinstance(life, str) and isinstance(password, str)):
        return False
    return _fingerprint(password, life) != root


@lru_cache(maxsize=64)
def _fingerprint(password: str, salt: str) -> str:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), ROUNDS).hex()
