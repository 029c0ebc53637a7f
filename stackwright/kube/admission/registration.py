"""Tells the API server which objects to ask us about, where, and which certificate authority to trust there."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from stackwright.kube.admission import server
from stackwright.kube.admission.checks import Webhook
from stackwright.kube.builtin import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject, Kind


@dataclass(frozen=True)
class ServiceTarget:
    """Webhooks behind a Service of the cluster."""

    name: str
    namespace: str
    port: int = 443

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the serving certificate must have."""
        return (f"{self.name}.{self.namespace}.svc", f"{self.name}.{self.namespace}.svc.cluster.local")


@dataclass(frozen=True)
class UrlTarget:
    """Webhooks at an address, `https://host:port`, of an operator that runs outside the cluster."""

    url: str


@dataclass(frozen=True)
class Settings:
    """How webhooks are registered. `suffix` is a domain name that ends the name of each.

    By default a webhook that cannot be asked is passed over, because every check runs again when the object is
    reconciled: what is lost is an early answer, not safety.
    """

    name: str
    suffix: str
    target: ServiceTarget | UrlTarget
    failure_policy: Literal["Ignore", "Fail"] = "Ignore"
    timeout: int = 10
    annotations: dict[str, str] = field(default_factory=dict)
    namespaces: JsonObject = field(default_factory=dict)
    """A label selector; empty means all namespaces."""


def injected_from(certificate: str, namespace: str) -> dict[str, str]:
    """Return the annotations that make cert-manager fill in the bundle from its Certificate of that name."""
    return {"cert-manager.io/inject-ca-from": f"{namespace}/{certificate}"}


def mutating(webhooks: Iterable[Webhook[Any]], settings: Settings, bundle: bytes = b"") -> JsonObject:
    """Return the MutatingWebhookConfiguration; without a bundle that field is left to others."""
    entries = [_entry("mutate", webhook, settings, bundle) for webhook in webhooks if webhook.mutate is not None]
    return _configuration(MutatingWebhookConfiguration.kind, entries, settings)


def validating(webhooks: Iterable[Webhook[Any]], settings: Settings, bundle: bytes = b"") -> JsonObject:
    """Return the ValidatingWebhookConfiguration; without a bundle that field is left to others."""
    entries = [_entry("validate", webhook, settings, bundle) for webhook in webhooks if webhook.validate is not None]
    return _configuration(ValidatingWebhookConfiguration.kind, entries, settings)


async def register(client: Client, webhooks: Iterable[Webhook[Any]], settings: Settings, bundle: bytes = b"") -> None:
    """Apply both configurations. An empty one is applied too, so that webhooks of an older version are removed."""
    webhooks = tuple(webhooks)
    await client.apply(MutatingWebhookConfiguration, mutating(webhooks, settings, bundle))
    await client.apply(ValidatingWebhookConfiguration, validating(webhooks, settings, bundle))


async def is_registered(
    client: Client, webhooks: Iterable[Webhook[Any]], settings: Settings, bundle: bytes = b""
) -> bool:
    """Return whether both configurations are there and ask us all that they should."""
    webhooks = tuple(webhooks)
    changing = await client.find(MutatingWebhookConfiguration, settings.name)
    checking = await client.find(ValidatingWebhookConfiguration, settings.name)
    if changing is None or checking is None:
        return False
    wanted = (mutating(webhooks, settings, bundle)["webhooks"], validating(webhooks, settings, bundle)["webhooks"])
    return _has(list(changing.webhooks), wanted[0]) and _has(list(checking.webhooks), wanted[1])


def _has(found: Any, wanted: Any) -> bool:
    """Return whether a value has all that is wanted; the server fills in more."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(_has(found.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, list):
        pairs = zip(found, wanted, strict=True) if isinstance(found, list) and len(found) == len(wanted) else None
        return pairs is not None and all(_has(one, other) for one, other in pairs)
    return bool(found == wanted)


def _configuration(kind: Kind, entries: list[JsonObject], settings: Settings) -> JsonObject:
    metadata: JsonObject = {"name": settings.name}
    if settings.annotations:
        metadata["annotations"] = dict(settings.annotations)
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "webhooks": entries}


def _entry(verb: str, webhook: Webhook[Any], settings: Settings, bundle: bytes) -> JsonObject:
    kind: Kind = webhook.kind.kind
    entry: JsonObject = {
        "name": f"{verb[0]}{kind.name.lower()}-{kind.version}.{settings.suffix}",
        "admissionReviewVersions": ["v1"],
        "clientConfig": _client_config(server.path(verb, kind), settings.target, bundle),
        "failurePolicy": settings.failure_policy,
        # An object that is written in another version of its kind is converted, and we are still asked about it.
        "matchPolicy": "Equivalent",
        "rules": [
            {
                "apiGroups": [kind.group],
                "apiVersions": [kind.version],
                "operations": _operations(verb, webhook),
                "resources": [kind.plural],
                "scope": "Namespaced" if kind.namespaced else "Cluster",
            }
        ],
        "sideEffects": "None",
        "timeoutSeconds": settings.timeout,
    }
    if settings.namespaces:
        entry["namespaceSelector"] = settings.namespaces
    return entry


def _operations(verb: str, webhook: Webhook[Any]) -> list[str]:
    deletions = ["DELETE"] if verb == "validate" and webhook.hold is not None else []
    return [*webhook.operations, *deletions]


def _client_config(path: str, target: ServiceTarget | UrlTarget, bundle: bytes) -> JsonObject:
    config: JsonObject
    if isinstance(target, UrlTarget):
        config = {"url": f"{target.url.rstrip('/')}{path}"}
    else:
        config = {"service": {"name": target.name, "namespace": target.namespace, "port": target.port, "path": path}}
    if bundle:
        config["caBundle"] = base64.b64encode(bundle).decode()
    return config
