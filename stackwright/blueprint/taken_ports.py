"""Node ports that users ask for: a cluster has each of them once, so that resources claim them. Pure."""

from collections.abc import Iterator

from stackwright.api.base import CustomResource
from stackwright.api.forms import Form
from stackwright.blueprint import embedding, structs
from stackwright.blueprint.claims import Claim
from stackwright.blueprint.spec_memory import SpecMemory
from stackwright.kube.builtin import Service

# The sort of the claims.
NODE_PORT = "node port"

_memory = SpecMemory[Claim]()


def claims(resource: CustomResource) -> tuple[Claim, ...]:
    """Return the claims on the ports that a resource asks for; they are looked for once in each spec."""
    return _memory.recall(resource, None, lambda: _asked(getattr(resource, "spec", None)))


def _asked(spec: object) -> Iterator[Claim]:
    for field in (*structs.fields("spec", spec), *embedding.fields("spec", spec)):
        if Form.NODE_PORT in field.markers:
            advice = "use another, or leave it out"
            yield Claim(NODE_PORT, str(field.value), path=field.path, advice=advice, everywhere=True)


def has_port(service: Service, claim: Claim) -> bool:
    """Return whether a Service has the port that a claim is about."""
    ports = [port.get("nodePort") for port in service.spec.get("ports") or ()]
    return claim.name in map(str, (*ports, service.spec.get("healthCheckNodePort")))
