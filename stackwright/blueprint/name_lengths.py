"""Whether the name of a resource fits all that it becomes: a release, StatefulSets, Services. Pure.

What is added to the name is read from the service's own data, so that a further endpoint is counted by itself. Jobs and
CronJobs are not counted: nobody looks for them by name, so that theirs are shortened where they would be too long.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stackwright.api.base import CustomResource
from stackwright.api.forms import LONGEST_NAME
from stackwright.api.mariadb import DATABASE_LABEL, MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.blueprint.service import Service

# Helm's own limit.
RELEASE = 53
# The names of Services are DNS labels.
DNS_LABEL = 63
# A StatefulSet's name becomes a label of its pods, with a dash and the hash of its revision.
STATEFUL_SET = 52
# How many characters the digests of users have.
DIGEST = 8

# What is named after resources that no blueprint speaks of: what it is, what stands before and behind the name, and how
# long it may be. The Secret of a TransportURL whose user was changed ends in a dash and a digest of the new one.
_OF_KINDS: Mapping[type[CustomResource], tuple[str, str, str, int]] = {
    TransportURL: ("the Secret", "rabbitmq-transport-url-", f"-{'x' * DIGEST}", LONGEST_NAME),
    MariaDBDatabase: (f"the label {DATABASE_LABEL} of its accounts", "", "", DNS_LABEL),
}
_FORM = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def problems(service: Service[Any, Any], resource: CustomResource) -> Iterator[tuple[str, str]]:
    """Yield why a resource cannot have its name."""
    name = resource.metadata.name
    # The server has not generated a name yet.
    if not name:
        return
    if not _FORM.fullmatch(name):
        sentence = "must be lower case letters, digits and dashes, beginning with a letter: Services are named after it"
        yield "metadata.name", sentence
        return
    if service.elsewhere(resource):
        return
    what, added, most = min(_becomes(service, resource), key=lambda entry: entry[2] - len(entry[1]))
    longest = most - len(added)
    if len(name) > longest:
        example = f"<name>{added}" if added else "<name>"
        yield (
            "metadata.name",
            f"must have {longest} characters or less, and has {len(name)}: {what} {example} may have {most}",
        )


def of_kind(resource: CustomResource) -> Iterator[tuple[str, str]]:
    """Yield why a resource that no blueprint speaks of cannot have its name."""
    what, before, behind, most = _OF_KINDS.get(type(resource), ("", "", "", LONGEST_NAME))
    longest, name = most - len(before) - len(behind), resource.metadata.name
    if what and len(name) > longest:
        called = f"{before}<name>{'-<digest>' if behind else ''}"
        sentence = f"must have {longest} characters or less, and has {len(name)}: {what} {called} may have {most}"
        yield "metadata.name", sentence


def _becomes(service: Service[Any, Any], resource: CustomResource) -> Iterator[tuple[str, str, int]]:
    """Yield what is named after a resource: what it is, what is added to the name, and how long it may be."""
    yield "the Helm release", "", RELEASE
    for endpoint in service.endpoints_of(resource):
        yield from (("the Service", f"-{endpoint.key(interface)}", DNS_LABEL) for interface in endpoint.interfaces)
    for component in service.components_of(resource):
        if component.workload == "StatefulSet":
            suffix = component.name if component.suffix is None else component.suffix
            yield "the StatefulSet", f"-{suffix}" if suffix else "", STATEFUL_SET
