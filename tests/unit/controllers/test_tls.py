"""TLS that is switched on is refused when it is written, in every kind alike; switched off it says nothing."""

import msgspec
import pytest

from stackwright import services
from stackwright.api.base import JsonObject
from stackwright.blueprint import tls
from stackwright.controllers import admission
from tests.functional.crds.samples import LEAST
from tests.surroundings import nothing_known

KINDS = {kind.kind.name: kind for kind in services.kinds()}


def refused(kind: str, spec: JsonObject) -> dict[str, str]:
    """Return the fields that admission refuses, each with its sentence."""
    (webhook,) = admission.webhooks((KINDS[kind],), nothing_known)
    assert webhook.validate is not None
    body = {"metadata": {"name": "one", "namespace": "here"}, "spec": LEAST[kind] | spec}
    errors = webhook.validate(None, msgspec.convert(body, KINDS[kind])).errors
    return {error.field: error.message for error in errors if error.reason == "FieldValueForbidden"}


API = {"api": {"public": {"secretName": "cert"}}}
ON: dict[str, tuple[str, JsonObject, str]] = {
    "an API's certificate": ("KeystoneAPI", {"tls": API}, "spec.tls.api.public.secretName"),
    "authorities": ("PlacementAPI", {"tls": {"caBundleSecretName": "ca"}}, "spec.tls.caBundleSecretName"),
    "one of several APIs": (
        "Glance",
        {"glanceAPIs": {"default": {"tls": API}}},
        "spec.glanceAPIs[default].tls.api.public.secretName",
    ),
    "a component": ("Barbican", {"barbicanAPI": {"tls": API}}, "spec.barbicanAPI.tls.api.public.secretName"),
    "a cache": ("Memcached", {"tls": {"secretName": "cert"}}, "spec.tls.secretName"),
    "a cache's clients": ("Memcached", {"tls": {"mtls": {"sslVerifyMode": "Request"}}}, "spec.tls.mtls.sslVerifyMode"),
    "a database": ("Galera", {"tls": {"secretName": "cert"}}, "spec.tls.secretName"),
    "a database with TLS alone": ("Galera", {"disableNonTLSListeners": True}, "spec.disableNonTLSListeners"),
    "a broker": ("RabbitMq", {"tls": {"secretName": "cert"}}, "spec.tls.secretName"),
    "a broker's authority": ("RabbitMq", {"tls": {"caSecretName": "ca"}}, "spec.tls.caSecretName"),
    "a broker with TLS alone": (
        "RabbitMq",
        {"tls": {"disableNonTLSListeners": True}},
        "spec.tls.disableNonTLSListeners",
    ),
    "an account": ("MariaDBAccount", {"requireTLS": True}, "spec.requireTLS"),
    "the public endpoints of a cloud": (
        "OpenStackControlPlane",
        {"tls": {"podLevel": {"enabled": False}}},
        "spec.tls.ingress.enabled",
    ),
    "the pods of a cloud": (
        "OpenStackControlPlane",
        {"tls": {"ingress": {"enabled": False}}},
        "spec.tls.podLevel.enabled",
    ),
    "a compute's API": ("NovaAPI", {"tls": API}, "spec.tls.api.public.secretName"),
    "metadata": ("NovaMetadata", {"tls": {"secretName": "cert"}}, "spec.tls.secretName"),
    "consoles": ("NovaNoVNCProxy", {"tls": {"vencrypt": {"secretName": "cert"}}}, "spec.tls.vencrypt.secretName"),
    **{
        f"the authorities of a {kind}": (kind, {"tls": {"caBundleSecretName": "ca"}}, "spec.tls.caBundleSecretName")
        for kind in ("NovaCell", "NovaScheduler", "NovaConductor", "NovaCompute")
    },
    "a database of networks": ("OVNDBCluster", {"tls": {"secretName": "cert"}}, "spec.tls.secretName"),
    "a daemon": ("OVNNorthd", {"tls": {"caBundleSecretName": "ca"}}, "spec.tls.caBundleSecretName"),
    "gateways": ("OVNController", {"tls": {"secretName": "cert"}}, "spec.tls.secretName"),
    "a client of databases": ("NeutronAPI", {"tls": {"ovn": {"secretName": "cert"}}}, "spec.tls.ovn.secretName"),
    "a template": (
        "OpenStackControlPlane",
        {"memcached": {"templates": {"memcached": {"tls": {"secretName": "cert"}}}}},
        "spec.memcached.templates[memcached].tls.secretName",
    ),
}


@pytest.mark.parametrize(("kind", "spec", "path"), [pytest.param(*case, id=name) for name, case in ON.items()])
def test_tls_that_is_switched_on_is_refused_by_its_field(kind: str, spec: JsonObject, path: str) -> None:
    found = refused(kind, spec)
    assert list(found) == [path]
    assert found[path].startswith("TLS is not supported yet; ")


EMPTY = {"api": {"public": {}, "internal": {}}, "caBundleSecretName": ""}
OFF: dict[str, tuple[str, JsonObject]] = {
    "an API": ("KeystoneAPI", {"tls": EMPTY}),
    "one of several APIs": ("Glance", {"glanceAPIs": {"default": {"tls": EMPTY}}}),
    "a component": ("Barbican", {"barbicanAPI": {"tls": EMPTY}}),
    "a cache": ("Memcached", {"tls": {"mtls": {"sslVerifyMode": "None", "authCertSecret": {}}}}),
    "a database": ("Galera", {"tls": {"caBundleSecretName": ""}, "disableNonTLSListeners": False}),
    "a broker": ("RabbitMq", {"tls": {"secretName": "", "disableNonTLSListeners": False}}),
    "an account": ("MariaDBAccount", {"requireTLS": False}),
    "a cloud": (
        "OpenStackControlPlane",
        {
            "tls": {
                "ingress": {"enabled": False, "ca": {"customIssuer": "mine", "duration": "87600h0m0s"}},
                "podLevel": {"enabled": False, "internal": {"cert": {"renewBefore": "48h"}}},
            }
        },
    ),
    "a section to come": ("OpenStackControlPlane", {"cinder": {"template": {"tls": {"secretName": "cert"}}}}),
}


@pytest.mark.parametrize(("kind", "spec"), [pytest.param(*case, id=name) for name, case in OFF.items()])
def test_tls_that_is_switched_off_says_nothing(kind: str, spec: JsonObject) -> None:
    assert refused(kind, spec) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_row(kind: str) -> None:
    """A kind that comes with a field for TLS has to be among those above."""
    spec = KINDS[kind].__annotations__["spec"]
    takes = {tls.TLS, *tls.ALONE} & set(getattr(spec, "__struct_fields__", ()))
    assert not takes or kind in {row[0] for row in ON.values()}
