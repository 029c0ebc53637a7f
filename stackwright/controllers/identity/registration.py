"""What was made in Keystone for a resource, and the ConfigMap in which that is noted before it is made. Pure.

A resource has no finalizer: it may be gone, and no operator there, when nobody has cleaned up after it yet. The note
outlives it. Only what is noted is ever deleted for a resource that is gone: what was in Keystone before was adopted,
and stays. Whoever may write ConfigMaps can write a note, so a note alone proves nothing: what was made carries a mark
in Keystone, too, which names the resource and its cloud (`marks.py`), and both must agree.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from stackwright.controllers.identity.access import CLIENT_READY
from stackwright.controllers.identity.marks import Made
from stackwright.kube import fields
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import JsonObject, Key

# Tells by the resource's kind what a ConfigMap is.
LABEL = "keystone.openstack.org/registration"
# The longest name that an object may have.
_LONGEST_NAME = 253


def works_as(name: str) -> str:
    """Return how the user of the KeystoneService of that name is described; older operators left no other mark."""
    return f"Works as {name}"


def together(*some: Iterable[Made]) -> tuple[Made, ...]:
    """Return each thing once, always in the same order."""
    return tuple(sorted({one for things in some for one in things}, key=lambda one: (one.what, one.name, one.id)))


def known(made: Iterable[Made], present: Iterable[Made]) -> tuple[Made, ...]:
    """Return what of the noted things there is, now with its id, and what was about to be made and is not there."""
    there = together(present)
    ids = {(one.what, one.id) for one in there}
    # Of several with the same name, the first: a search by name finds that one, too.
    named = {(one.what, one.name): one for one in reversed(there)}
    noted = together(made)
    return together(
        (one for one in noted if one.id and (one.what, one.id) in ids),
        (named.get((one.what, one.name), one) for one in noted if not one.id),
    )


@dataclass(frozen=True)
class Registration:
    """What was made in one Keystone for one resource, which `kind` and `key` name, and for which cloud."""

    kind: str
    key: Key
    keystone: str
    made: tuple[Made, ...] = ()
    cloud: str = ""

    @property
    def name(self) -> str:
        """The name of the ConfigMap."""
        name = f"{self.keystone}.{self.kind.lower()}.{self.key.name}"
        if len(name) <= _LONGEST_NAME:
            return name
        digest = fields.digest({"name": name})
        return f"{name[: _LONGEST_NAME - len(digest) - 1].rstrip('.-')}-{digest}"

    @property
    def data(self) -> dict[str, str]:
        """The data of the ConfigMap."""
        # One line for each thing, for people who read it.
        made = ",\n ".join(msgspec.json.encode(one).decode() for one in self.made)
        cloud = {"cloud": self.cloud} if self.cloud else {}
        return {"keystoneInstance": self.keystone, "resource": self.key.name, "made": f"[{made}]", **cloud}

    def body(self) -> JsonObject:
        """Return the ConfigMap. It has no owner: it outlives the resource, and Keystone's too."""
        metadata = {"name": self.name, "namespace": self.key.namespace, "labels": {LABEL: self.kind}}
        return {"metadata": metadata, "data": self.data}

    def __str__(self) -> str:
        return f"{self.kind} {self.key.name}"


# Of how many words the name of a thing consists.
_WORDS = {"user": 1, "service": 2, "endpoint": 3}
_decoder = msgspec.json.Decoder(tuple[Made, ...])


def is_registration(config_map: ConfigMap) -> bool:
    """Return whether a ConfigMap is one of ours."""
    return LABEL in config_map.metadata.labels


def is_of(config_map: ConfigMap, keystone: str) -> bool:
    """Return whether a ConfigMap lists what was made in that Keystone."""
    return is_registration(config_map) and config_map.data.get("keystoneInstance") == keystone


def subject(config_map: ConfigMap) -> tuple[str, Key]:
    """Return for which resource, by kind and key, things were made."""
    metadata = config_map.metadata
    return metadata.labels.get(LABEL, ""), Key(metadata.namespace, config_map.data.get("resource", ""))


def read(config_map: ConfigMap) -> Registration:
    """Return what is noted in a ConfigMap; raise Blocked when somebody wrote something else there."""
    metadata, data = config_map.metadata, config_map.data
    empty = Registration(*subject(config_map), data.get("keystoneInstance", ""))
    try:
        made = _decoder.decode(data.get("made", ""))
    except msgspec.DecodeError:
        made = None
    whole = made is not None and all(len(one.name) == _WORDS[one.what] for one in made)
    if made is None or not whole or empty.name != metadata.name:
        message = (
            f"ConfigMap {metadata.name} does not contain its record; restore it, or delete the ConfigMap: then "
            "what was created in Keystone stays there"
        )
        raise Blocked(message, reason="RegistrationUnreadable", condition=CLIENT_READY)
    return replace(empty, made=made, cloud=data.get("cloud", ""))
