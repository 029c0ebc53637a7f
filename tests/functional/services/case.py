"""What the tests know of a service: one row of data. The tests that all services share run for each row.

A row states what users of the service see: its ports, jobs, actions, its type in the catalog, what is refused, what
stays after a deletion. Passwords, providers and conditions are taken from the blueprint.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from stackwright.blueprint.needs import CatalogEntry
from stackwright.blueprint.needs.broker import BROKER
from stackwright.blueprint.needs.cache import CACHE
from stackwright.blueprint.needs.database import DATABASE
from stackwright.blueprint.needs.login import IDENTITY
from stackwright.blueprint.needs.need import WantedPassword
from stackwright.blueprint.needs.network_database import NETWORK_DATABASE
from stackwright.blueprint.service import Component, Service
from stackwright.kube.resource import CustomResource, JsonObject

SECRET = "osp-secret"
SERVER = "openstack"
# The StorageClass of volumes that are played.
CLASS = "played"
# What an API with a schema must be told.
API_LEAST: JsonObject = {"databaseInstance": SERVER, "secret": SECRET}
# What can be needed and is played.
PROVIDED = (DATABASE, CACHE, BROKER, IDENTITY, NETWORK_DATABASE)
# What no field names, so that nobody is told to name another one.
UNNAMED = frozenset({NETWORK_DATABASE})
# A key by which a service encrypts.
FERNET_KEY = "b3BlbnMtZXZlcnktZG9vci1vZi10aGUtaG91c2UtLS0="


@dataclass(frozen=True)
class Refusal:
    """A value of the spec that is refused, and the sentence that says why.

    The API server refuses it when it is written (`at_once`), by the schema of the kind; otherwise the operator says so
    in a condition.
    """

    spec: JsonObject
    sentence: str
    at_once: bool = False


@dataclass(frozen=True, kw_only=True)
class ServiceCase:
    """A row.

    `name` is the name of the resource. `least` is what a resource of the kind must say, `further` what the tests add.
    `without_state` makes it a service whose pods keep nothing.
    `ports` has the port of each of its Services, by the suffix after the resource's name. `listed` is its type in the
    catalog, `path` is appended to its URLs there. `jobs` are those that run before it is ready, `pods` is how many pods
    the status then counts, `actions` are what users may ask for beside `restart`. `stays` is what is left after a
    deletion, each as `Kind name`. `noted` are the exports whose digests the status has, by their keys there.
    `content` is the content of the Secret that spec.secret names, where no need of the blueprint says it. `given` are
    further Secrets that a user writes, by name. `children`
    are the blueprints of the kinds that the service stands for. `folder` contains the chart and the image of a service
    that is not among ours.
    """

    blueprint: Service[Any, Any]
    name: str
    least: JsonObject = field(default_factory=lambda: API_LEAST)
    further: JsonObject = field(default_factory=dict)
    without_state: JsonObject = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    listed: str = ""
    path: str = ""
    jobs: frozenset[str] = frozenset()
    pods: int = 1
    actions: frozenset[str] = frozenset()
    refused: tuple[Refusal, ...] = ()
    stays: frozenset[str] = frozenset()
    noted: frozenset[str] = frozenset()
    content: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    children: tuple[Service[Any, Any], ...] = ()
    folder: Path | None = None

    @property
    def kind(self) -> type[Any]:
        """The kind of its resources."""
        return self.blueprint.kind

    @property
    def kinds(self) -> tuple[type[CustomResource], ...]:
        """Its kind, and those of its children."""
        return (self.blueprint.kind, *(child.kind for child in self.children))

    @property
    def spec(self) -> JsonObject:
        """What the resource says in the tests."""
        return {**self.least, **self.further}

    def body(self, namespace: str, **spec: Any) -> JsonObject:
        """Return the resource as a user writes it, with some fields more."""
        return {"metadata": {"name": self.name, "namespace": namespace}, "spec": {**self.spec, **spec}}

    @property
    def resource(self) -> Any:
        """The resource, as the blueprint is asked about it."""
        return msgspec.convert(self.body("nowhere"), self.kind)

    @property
    def wanted(self) -> tuple[WantedPassword, ...]:
        """The passwords that it takes from its Secret."""
        resource = self.resource
        found = (one for need in self.blueprint.needs_of(resource) for one in need.passwords(resource))
        return tuple({one.key: one for one in found}.values())

    @property
    def passwords(self) -> dict[str, str]:
        """A Secret's content that suits it."""
        keys = {one.key: FERNET_KEY if one.fernet else f"the-word-of-{one.key}" for one in self.wanted}
        return {**keys, **self.content}

    @property
    def providers(self) -> dict[str, str]:
        """The names of the resources that it needs, by the word of the need."""
        return _providers(self.blueprint, self.resource)

    @property
    def all_providers(self) -> dict[str, str]:
        """The same, with those that its children need."""
        found = dict(self.providers)
        for child in self.blueprint.foreseen(self.resource) if self.blueprint.foreseen else ():
            blueprint = next(one for one in self.children if one.kind is type(child))
            found |= _providers(blueprint, child)
        return found

    @property
    def chart_jobs(self) -> frozenset[str]:
        """The Jobs of the chart that do, where a user asks for that, what operators do otherwise."""
        if "provisioning" not in self.resource.spec.__struct_fields__:
            return frozenset()
        return frozenset(entry.job for need in self.blueprint.needs_of(self.resource) for entry in need.provisions)

    @property
    def entry(self) -> CatalogEntry | None:
        """Its need of a place in the catalog."""
        found = (need for need in self.blueprint.needs if isinstance(need, CatalogEntry))
        return next(found, None)

    def urls(self, namespace: str) -> dict[str, str]:
        """Return the URLs of its endpoints, by interface."""
        named = {suffix.rpartition("-")[2]: (suffix, port) for suffix, port in self.ports.items() if suffix}
        return {
            interface: f"http://{self.name}-{suffix}.{namespace}.svc:{port}"
            for interface, (suffix, port) in named.items()
        }

    def workloads(self) -> Iterator[tuple[str, Component[Any, Any]]]:
        """Yield the names of its Deployments and StatefulSets, each with its component."""
        resource = msgspec.convert(self.body("nowhere", **self.without_state), self.kind)
        for component in self.blueprint.components_of(resource):
            suffix = component.name if component.suffix is None else component.suffix
            yield "-".join(filter(None, (self.name, suffix))), component

    def parts(self) -> Iterator[str]:
        """Yield the names of the hashes in the status: its release and parts, what ran, was generated or exported."""
        resource = self.resource
        if self.blueprint.has_chart:
            yield "release"
        yield from (one.name for one in self.blueprint.components_of(resource) if one.command is not None)
        yield from self.jobs
        yield from (one.note for one in self.wanted if one.note)
        yield from (f"{self.name}-{ring.name}" for ring in self.blueprint.key_rings)
        # One with readers is made when there is one, and nobody reads here.
        made = (secret for secret in self.blueprint.secrets if secret.wanted(resource) and not secret.readers)
        yield from (secret.name(resource) for secret in made)
        yield from self.noted


def _providers(blueprint: Service[Any, Any], resource: Any) -> dict[str, str]:
    named = [(need.word, need.provided_by(resource)) for need in blueprint.needs_of(resource)]
    # An API that a service can be without is not played.
    found = {word: name for word, name in named if word in PROVIDED and name}
    # Of several that are missing, a condition names the first.
    return found | {word: name for word, name in reversed(named) if word in UNNAMED}
