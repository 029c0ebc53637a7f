"""The roster: all controllers that there are, those of some teams, and the webhooks of their kinds."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stackwright import services
from stackwright.api.dataplane import OpenStackDataPlane
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.network import IPSet, Reservation
from stackwright.api.topology import Topology
from stackwright.blueprint.images import ComponentImage
from stackwright.controllers import (
    addresses,
    admission,
    broker,
    controlplane,
    database,
    dataplane,
    identity,
    node_services,
    service,
)
from stackwright.controllers.admission import Known
from stackwright.controllers.controlplane import ServiceOperator, ServiceOperators
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.service import Environment
from stackwright.controllers.teams import CORE, team_of_kind
from stackwright.kube.admission.checks import Webhook
from stackwright.kube.controller import Controller
from stackwright.kube.errors import ConfigError
from stackwright.kube.resource import CustomResource


def assemble(
    dialler: Dialler, environment: Environment, operators: ServiceOperators | None = None
) -> tuple[Controller, ...]:
    """Return all controllers that there are; `operators` are those of single services, where they are started here."""
    return (
        *controlplane.controllers(operators),
        *service.controllers(services.blueprints(), environment),
        *database.controllers(dialler),
        *broker.controllers(dialler),
        *identity.controllers(dialler),
        *dataplane.controllers(environment.images, reads=tuple(_read_by_checks())),
        *node_services.controllers(dialler, environment.images),
        *addresses.controllers(),
        *services.controllers(),
    )


def _read_by_checks() -> Iterator[type[CustomResource]]:
    """Yield what the checks of nodes look at: the services on them, and what these are bound to."""
    for each in services.node_services():
        yield each.kind
        if each.binding is not None:
            yield each.binding.of


def team_of(controller: Controller) -> str:
    """Return the team of a controller; the controller of the services' own operators belongs to the core."""
    return CORE if controller.kind is ServiceOperator else controller.team or team_of_kind(controller.kind)


def choose(controllers: Iterable[Controller], teams: Iterable[str]) -> tuple[Controller, ...]:
    """Return the controllers of these teams, all when there are none."""
    controllers, wanted = tuple(controllers), set(teams)
    known = {team_of(controller) for controller in controllers}
    if unknown := sorted(wanted - known):
        raise ConfigError(f"There is no controller of {unknown[0]}; there are those of {', '.join(sorted(known))}.")
    return tuple(controller for controller in controllers if not wanted or team_of(controller) in wanted)


def webhooks(
    controllers: Iterable[Controller],
    known: Known,
    operators: ServiceOperators | None = None,
    images: Mapping[str, ComponentImage] | None = None,
) -> tuple[Webhook[Any], ...]:
    """Return the webhooks of the kinds that these controllers keep; `known` lists what a namespace has.

    The operator that starts those of single services answers for all of their kinds: a check needs no rights, and has
    to work before they run.
    """
    # A kind may have several controllers, and has one webhook: where the kind is kept.
    kept = dict.fromkeys(each.kind for each in controllers if each.reports and issubclass(each.kind, CustomResource))
    umbrella = services.control_plane()
    # No controller keeps these: the team of those who read them answers for them.
    read = ((Topology, umbrella), (OpenStackDataPlaneService, OpenStackDataPlane), (Reservation, IPSet))
    alone: tuple[type[CustomResource], ...] = tuple(kind for kind, reader in read if reader in kept)
    kinds = (*kept, *alone) if operators is None else services.kinds()
    further = services.checks()
    outside = services.node_services()
    own_checks = ({umbrella: controlplane.check}, dataplane.checks, node_services.checks(outside), addresses.checks)
    for own in own_checks:
        further = {**further, **{kind: (*further.get(kind, ()), check) for kind, check in own.items()}}
    return admission.webhooks(kinds, known, further, images, node_services.fill_in(outside, images or {}))
