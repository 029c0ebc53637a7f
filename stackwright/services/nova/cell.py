"""A cell: it stands for its conductors, its noVNC proxy, its computes in the cluster, and perhaps its metadata."""

from collections.abc import Iterator
from typing import Any

import msgspec

from stackwright.api.base import JsonObject, ObjectMeta
from stackwright.blueprint.claims import Claim
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import Published
from stackwright.blueprint.service import Service, Told
from stackwright.kube import conditions
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.child import Child, child
from stackwright.services.nova import facts as needs
from stackwright.services.nova import migration, outside_compute, standing_for
from stackwright.services.nova.api import OPTIONS
from stackwright.services.nova.checks import cell_problems
from stackwright.services.nova.kinds.cell import NovaCell, NovaComputeState, compute_name, has_novncproxy
from stackwright.services.nova.kinds.services import (
    NovaCompute,
    NovaComputeSpec,
    NovaConductor,
    NovaConductorSpec,
    NovaMetadata,
    NovaMetadataSpec,
    NovaNoVNCProxy,
    NovaNoVNCProxySpec,
)
from stackwright.services.nova.outside_compute import CellFacts
from stackwright.services.nova.parent import scaled_by_hand
from stackwright.services.nova.templates import spec_of


def children(resource: NovaCell, facts: CellFacts) -> Iterator[Child | Wait]:
    """Yield the services of a cell: none of them waits for another."""
    spec, name = resource.spec, resource.metadata.name
    common = shared(spec)
    yield child(
        NovaConductor(
            metadata=ObjectMeta(name=f"{name}-conductor"),
            spec=spec_of(
                NovaConductorSpec,
                spec.conductorServiceTemplate,
                spec,
                **common,
                containerImage=spec.conductorContainerImageURL,
                dbPurge=spec.dbPurge,
                preserveJobs=spec.preserveJobs,
            ),
        ),
        condition="NovaConductorReady",
    )
    if spec.metadataServiceTemplate.enabled:
        # It serves this cell alone, and asks nothing of the API's database.
        own = {key: value for key, value in common.items() if not key.startswith("apiDatabase")}
        image = spec.metadataContainerImageURL
        said = spec_of(NovaMetadataSpec, spec.metadataServiceTemplate, spec, **own, containerImage=image)
        yield child(
            NovaMetadata(metadata=ObjectMeta(name=f"{name}-metadata"), spec=said), condition="NovaMetadataReady"
        )
    if has_novncproxy(spec.cellName, spec.noVNCProxyServiceTemplate):
        image = spec.novncproxyContainerImageURL
        proxy = spec_of(NovaNoVNCProxySpec, spec.noVNCProxyServiceTemplate, spec, **common, containerImage=image)
        yield child(
            NovaNoVNCProxy(metadata=ObjectMeta(name=novncproxy_name(resource)), spec=proxy),
            condition="NovaNoVNCProxyReady",
        )
    for compute, template in sorted(spec.novaComputeTemplates.items()):
        image = spec.computeContainerImageURL
        run = spec_of(NovaComputeSpec, template, spec, **common, computeName=compute, containerImage=image)
        yield child(
            NovaCompute(metadata=ObjectMeta(name=compute_name(name, compute)), spec=run),
            condition="NovaAllControlPlaneComputesReady",
        )
    yield from outside_compute.waits(resource, facts)


def novncproxy_name(resource: NovaCell) -> str:
    """Return the name of the resource of a cell's noVNC proxy."""
    return f"{resource.metadata.name}-novncproxy"


def shared(spec: Any) -> JsonObject:
    """Return what all services of a cell are told alike."""
    names = (
        "cellName",
        "secret",
        "messagingSecret",
        "keystoneAuthURL",
        "serviceUser",
        "region",
        "apiTimeout",
        "memcachedInstance",
        "apiDatabaseSecret",
        "apiDatabaseHostname",
        "apiDatabaseAccount",
        "cellDatabaseSecret",
        "cellDatabaseHostname",
        "cellDatabaseAccount",
    )
    return {name: getattr(spec, name) for name in names}


def tell(resource: NovaCell, facts: CellFacts | None, look: Look) -> Told[NovaCell]:
    """Return how many pods of each service are ready, and what computes outside of the cluster lack."""
    name = resource.metadata.name
    counts = {
        "conductorServiceReadyCount": look(NovaConductor, f"{name}-conductor"),
        "metadataServiceReadyCount": look(NovaMetadata, f"{name}-metadata"),
        "noVNCProxyServiceReadyCount": look(NovaNoVNCProxy, novncproxy_name(resource)),
    }
    changes: JsonObject = {field: of.status.readyCount if of is not None else 0 for field, of in counts.items()}
    computes = {key: look(NovaCompute, compute_name(name, key)) for key in sorted(resource.spec.novaComputeTemplates)}
    states = {key: _state(compute) for key, compute in computes.items()}
    changes["scaledByHand"] = scaled_by_hand((counts["conductorServiceReadyCount"], *computes.values()))
    # One that says nothing is not there for the server, which has no empty entries.
    changes["novaComputesStatus"] = {key: state for key, state in states.items() if state != NovaComputeState()}
    findings = tuple(outside_compute.findings(resource, facts)) if facts is not None else ()
    return Told(msgspec.structs.replace(resource.status, **changes), findings)


def _state(compute: NovaCompute | None) -> NovaComputeState:
    if compute is None:
        return NovaComputeState()
    ready = conditions.find(compute.status.conditions, conditions.READY)
    failed = ready is not None and ready.status == "False" and ready.severity == "Error"
    return NovaComputeState(deployed=conditions.is_true(compute.status.conditions), errors=failed)


def problems(resource: NovaCell, look: Look) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a cell, and with the names of what it stands for."""
    yield from cell_problems(resource, look)
    secrets = (_config(resource), migration.KEYS.name(resource))
    yield from standing_for.problems(standing_for.Member(CELL, resource, secrets=secrets), members(resource))


def members(resource: NovaCell) -> Iterator[standing_for.Member]:
    """Yield the services of a cell."""
    return standing_for.services_of_cell(resource.metadata.name, resource.spec.cellName, resource.spec)


def claims(resource: NovaCell) -> Iterator[Claim]:
    """Yield what a cell creates."""
    return standing_for.claims(members(resource), (_config(resource),))


def _config(resource: NovaCell) -> str:
    return outside_compute.secret_name(resource.metadata.name)


CELL = Service(
    name="nova-cell",
    chart="nova",
    image="nova",
    kind=NovaCell,
    facts=CellFacts,
    user="nova",
    components=(),
    needs=(
        needs.LOGIN_WITH_PUBLIC_URL,
        needs.MESSAGING,
        needs.NOTIFICATIONS_BUS,
        needs.OUTSIDE_MESSAGING,
        needs.OUTSIDE_NOTIFICATIONS,
        Published(name="console", of=NovaNoVNCProxy, resource=novncproxy_name),
    ),
    secrets=(migration.KEYS,),
    exports=outside_compute.exports,
    children=children,
    owns=(NovaConductor, NovaMetadata, NovaNoVNCProxy, NovaCompute),
    problems=problems,
    claims=claims,
    tell=tell,
    options=OPTIONS,
    unread=("serviceAccount",),
)
