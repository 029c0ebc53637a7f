"""The Secrets of a TransportURL: the password of its user, and the URL itself. Pure."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from stackwright.blueprint import use
from stackwright.blueprint.needs.broker import QUORUM_QUEUES, TRANSPORT_URL
from stackwright.blueprint.secret_values import encode, texts_of
from stackwright.blueprint.service import Export
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import JsonObject, Resource, owner_reference

# Annotations by which a Secret tells whom and what it is of; neither is a secret.
USER = "openstack.org/rabbitmq-user"
HOSTS = "openstack.org/rabbitmq-hosts"
# On the Secret of a password that we made up: the user is ours then, and goes when nobody uses it.
GENERATED = "openstack.org/generated"
# A finalizer with this suffix on the Secret of a URL says that somebody uses the URL; it is kept until then.
CONSUMER = "-transport-consumer"


@dataclass(frozen=True)
class Url:
    """A Secret with a URL, as it is there."""

    name: str
    user: str
    hosts: tuple[str, ...]
    content: Mapping[str, str] = field(repr=False)
    readers: tuple[use.Reader, ...] = ()
    consumed: bool = False

    @property
    def export(self) -> Export:
        """The Secret as something that others read, and mark."""
        return Export(self.name, self.content, readers=self.readers)


def url_of(secret: Secret) -> Url:
    """Return what a Secret with a URL says."""
    annotations = secret.metadata.annotations
    return Url(
        name=secret.metadata.name,
        user=annotations.get(USER, ""),
        hosts=tuple(host for host in annotations.get(HOSTS, "").split(",") if host),
        content=texts_of(secret),
        readers=use.named_on(secret),
        consumed=any(name.endswith(CONSUMER) for name in secret.metadata.finalizers),
    )


def transport_url(login: tuple[str, str], hosts: tuple[str, ...], port: int, vhost: str) -> str:
    """Return the URL for oslo.messaging: the login stands before every host, and clients try one after the other."""
    user, password = (quote(word, safe="") for word in login)
    places = ",".join(f"{user}:{password}@{_bracketed(host)}:{port}" for host in hosts)
    # The default virtual host is called "/", and an empty path means it.
    path = "" if vhost == "/" else quote(vhost, safe="")
    return f"rabbit://{places}/{path}?ssl=0"


def content(url: str, queue_type: str) -> dict[str, str]:
    """Return what stands in the Secret with a URL."""
    return {TRANSPORT_URL: url, QUORUM_QUEUES: "true" if queue_type == "quorum" else "false"}


def digest(values: Mapping[str, str]) -> str:
    """Return a digest of a Secret's content."""
    text = "\0".join(f"{key}\0{value}" for key, value in sorted(values.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def url_name(resource: str, user: str, taken: frozenset[str]) -> str:
    """Return the name for the URL of a user: the plain one, or after a rotation one that says of whom it is."""
    plain = f"rabbitmq-transport-url-{resource}"
    return plain if plain not in taken else f"{plain}-{_short(user)}"


def password_name(broker: str, user: str) -> str:
    """Return the name of the Secret with the password of a user at a broker; all that name the user share it."""
    word = re.sub(r"[^a-z0-9]+", "-", user.lower())[:40].strip("-")
    return "-".join(part for part in ("rabbitmq-user", word, _short(f"{broker}/{user}")) if part)


def url_secret(owner: Resource, url: Url, labels: Mapping[str, str]) -> JsonObject:
    """Return the Secret with a URL as it is applied; it goes with its TransportURL."""
    # Where nobody is known to read it, nobody is waited for but those who are connected.
    marks = use.annotations_of(url.export) if url.readers else {}
    return {
        "metadata": {
            "name": url.name,
            "namespace": owner.metadata.namespace,
            "labels": dict(labels),
            "annotations": {USER: url.user, HOSTS: ",".join(url.hosts), **marks},
            "ownerReferences": [owner_reference(owner)],
        },
        "data": encode(url.content),
    }


def password_secret(namespace: str, name: str, login: tuple[str, str], labels: Mapping[str, str]) -> JsonObject:
    """Return the Secret with a password as it is created; it has no owner, because several may use it."""
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels),
            "annotations": {USER: login[0], GENERATED: "true"},
        },
        "data": encode({"username": login[0], "password": login[1]}),
    }


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
