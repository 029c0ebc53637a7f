"""What services with an API and a schema of their own say alike: what is refused, their db-sync, what they tell."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from stackwright.api import paths
from stackwright.api.base import CustomResource, JsonObject
from stackwright.api.exposure import RoutedOverride
from stackwright.api.keystone import KeystoneService
from stackwright.blueprint.facts import Endpoints
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs.database import DB_CREATE, DatabaseFacts
from stackwright.blueprint.places import is_url
from stackwright.blueprint.service import DB_SYNC, Component, ConfigFile, Job, Told
from stackwright.blueprint.workloads import Port

# Types of Services that have ports at nodes.
_AT_NODES = frozenset({"NodePort", "LoadBalancer"})
_URL = re.compile(r"https?://[^\s/]+(/[^\s/]+)*")


class ApiFacts(Protocol):
    """The facts of a service with a schema and endpoints."""

    @property
    def database(self) -> DatabaseFacts:
        """Where the schema is."""
        ...

    @property
    def endpoints(self) -> Endpoints | None:
        """Where the service is; None before that is known."""
        ...


def problems(resource: Any, look: Look, api: str = "") -> Iterable[tuple[str, str]]:
    """Yield the path of each field of an API that cannot be, and what to do about it.

    `api` is the field with the API's own template, where it is one of several components.
    """
    yield from urls(resource, api=api)
    if resource.spec.auth.applicationCredentialSecret:
        sentence = "application credentials are not supported yet; remove it, and the service's password is used"
        yield "spec.auth.applicationCredentialSecret", sentence
    if resource.spec.provisioning == "Job" and look(KeystoneService, resource.metadata.name) is not None:
        sentence = (
            f"KeystoneService {resource.metadata.name} keeps the service in Keystone, and its user would be "
            "deleted with it; leave provisioning as it was, or delete this resource and create it again: its data"
            " stays"
        )
        yield "spec.provisioning", sentence


def urls(resource: Any, added: str = "", api: str = "") -> Iterable[tuple[str, str]]:
    """Yield the endpoints that cannot be reached as they say; `added` is the path that clients always add."""
    template, path = _template(resource, api)
    yield from url_problems(template.override.service, f"{path}.override.service", added)


def _template(resource: Any, api: str) -> tuple[Any, str]:
    """Return what is said of the API, and at which path."""
    return paths.find(resource.spec, api), f"spec.{api}" if api else "spec"


def url_problems(overrides: Mapping[str, RoutedOverride], path: str, added: str = "") -> Iterable[tuple[str, str]]:
    """Yield those of some overrides, which stand at a path."""
    without = f"{added} or /" if added else "/"
    for interface, override in sorted(overrides.items()):
        url = override.endpointURL
        if url and (not _URL.fullmatch(url) or not is_url(url) or (added and url.endswith(added))):
            sentence = (
                f"is no URL that a path can be added to; write http(s)://host[:port][/path], without {without} at the "
                "end"
            )
            yield f"{path}.{interface}.endpointURL", sentence
        if override.spec is not None and override.spec.nodePort and override.spec.type not in _AT_NODES:
            sentence = "is a node port; set type to NodePort or LoadBalancer beside it, or leave it out"
            yield f"{path}.{interface}.spec.nodePort", sentence


def api(
    port: int, probe: str, command: Callable[[Any], str], files: Callable[[Any, Any], Iterable[ConfigFile]]
) -> Component[Any, Any]:
    """Return the component of a service with one API: uwsgi serves it at a port, and tells at a path that it does."""
    return Component(
        "api",
        command=command,
        files=files,
        description="The API: a Deployment named after the release.",
        suffix="",
        ports=(Port("api", port),),
        probe=probe,
        after=(DB_SYNC,),
    )


def db_sync(command: str, files: Callable[[Any, Any], Iterable[ConfigFile]]) -> Job[Any, Any]:
    """Return the job that makes or upgrades the tables: once for each image, and for each schema.

    A schema that was lost and created again is another one.
    """
    return Job(
        DB_SYNC,
        lambda _: command,
        _schema,
        condition="DBSyncReady",
        files=files,
        description="Makes or upgrades the tables.",
        after=(DB_CREATE,),
        # What it does needs no keys, and it runs before there are any.
        key_rings=False,
        tables=True,
    )


def _schema(resource: CustomResource, facts: ApiFacts) -> JsonObject:  # noqa: ARG001  the form of the word
    return facts.database.place


def tell(resource: Any, facts: ApiFacts | None, look: Look) -> Told[Any]:  # noqa: ARG001  the form of the word
    """Return where the service and its data are, for a status with apiEndpoints and databaseHostname."""
    if facts is None:
        return Told(resource.status)
    changes: JsonObject = {"databaseHostname": facts.database.hostname}
    if facts.endpoints is not None:
        changes["apiEndpoints"] = {"public": facts.endpoints.public, "internal": facts.endpoints.internal}
    return Told(msgspec.structs.replace(resource.status, **changes))
