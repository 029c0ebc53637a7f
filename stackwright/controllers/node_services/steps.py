"""What is done for a service on a node: runs begin and go, and its API is told something."""

from dataclasses import dataclass, field

from stackwright.adapters.errors import AdapterError
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.node_service import Call, NodeService
from stackwright.blueprint.dataplane.records import is_for_resource, node_of
from stackwright.blueprint.dataplane.schedule import Backoff
from stackwright.controllers.dataplane.run_inputs import name_own_files
from stackwright.controllers.looks import Interests
from stackwright.controllers.node_services.begun import BegunRuns
from stackwright.controllers.node_services.preparation import Surroundings
from stackwright.controllers.node_services.signs import Address, Signs
from stackwright.controllers.translation import translate
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.controller import Context
from stackwright.kube.plan import Step
from stackwright.kube.resource import JsonObject, Resource, owner_reference


@dataclass(frozen=True)
class Begin(Step):
    """Create a run, with the Secrets that it reads."""

    resource: NodeServiceResource
    objects: tuple[tuple[type[Resource], JsonObject], ...] = field(repr=False)


@dataclass(frozen=True)
class Drop(Step):
    """Delete a run that has ended, and of which nobody speaks any more."""

    run: OpenStackAnsibleEE


@dataclass(frozen=True)
class Tell(Step):
    """Change something in the API of a service."""

    address: Address = field(repr=False)
    call: Call


@dataclass
class Memory:
    """What was done a moment ago, and what the caches may not show yet: runs that began.

    `shared` are those that the fleet begins for several nodes.
    """

    begun: dict[str, OpenStackAnsibleEE] = field(default_factory=dict)
    shared: BegunRuns = field(default_factory=BegunRuns)


@dataclass(frozen=True)
class World:
    """What a pass works with. `ask_again` is in how many seconds an API is asked again that does not say `up` yet."""

    context: Context
    interests: Interests
    around: Surroundings
    signs: Signs
    memory: Memory
    backoff: Backoff
    ask_again: float = 5.0


async def drop(run: OpenStackAnsibleEE, client: Client) -> None:
    """Delete a run that nobody speaks of any more, with the Secrets that are its own."""
    name, namespace = run.metadata.name, run.metadata.namespace
    await client.delete(OpenStackAnsibleEE, name, namespace, uid=run.metadata.uid)
    for secret in (run.spec.inventorySecretName, name_own_files(name)):
        if secret:
            await client.delete(Secret, secret, namespace)


async def act(service: NodeService, step: Begin | Drop | Tell, world: World) -> None:
    """Carry out one step."""
    client = world.context.client
    match step:
        case Tell(address=address, call=call):
            try:
                await world.signs.send(address, service.sign, call)
            except AdapterError as error:
                raise translate(error, step.condition) from error
        case Drop(run=run):
            await drop(run, client)
        case Begin(resource=resource, objects=objects):
            for kind, body in objects:
                made = await client.apply(kind, _owned_body(body, resource))
                if isinstance(made, OpenStackAnsibleEE):
                    world.memory.begun[resource.metadata.uid] = made


def _owned_body(body: JsonObject, resource: NodeServiceResource) -> JsonObject:
    metadata = {"namespace": resource.metadata.namespace, "ownerReferences": [owner_reference(resource)]}
    return {**body, "metadata": {**body["metadata"], **metadata}}


async def find_runs(resource: NodeServiceResource, world: World) -> tuple[OpenStackAnsibleEE, ...]:
    """Return all runs that touch the node of a resource, also one that began a moment ago."""
    name, memory = resource.node_name, world.memory
    namespace = resource.metadata.namespace
    cached = world.context.store(OpenStackAnsibleEE).list(namespace)
    everything = await memory.shared.complete(cached, namespace, world.context.client, resource.metadata.uid)
    found = [run for run in everything if node_of(run, name) is not None]
    begun = memory.begun.get(resource.metadata.uid)
    if begun is None:
        return tuple(found)
    if any(run.metadata.name == begun.metadata.name for run in found):
        del memory.begun[resource.metadata.uid]
        return tuple(found)
    # The cache may not have it yet; or it is gone already.
    there = await world.context.client.find(OpenStackAnsibleEE, begun.metadata.name, begun.metadata.namespace)
    if there is None:
        del memory.begun[resource.metadata.uid]
        return tuple(found)
    return (*found, there)


def is_owned(run: OpenStackAnsibleEE, resource: NodeServiceResource) -> bool:
    """Return whether a run was made for a resource, perhaps among others, and stays."""
    return is_for_resource(run, resource) and not run.deleting
