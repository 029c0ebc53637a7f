"""What an operator runs: the controllers of all services, or of some, and the webhooks of their kinds."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from stackwright import services
from stackwright.blueprint.images import ComponentImage
from stackwright.controllers import admission, broker, controlplane, database, identity, service
from stackwright.controllers.admission import Known
from stackwright.controllers.controlplane import Operators, ServiceOperator
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.service import Environment
from stackwright.controllers.words import CORE, word_of
from stackwright.kube.admission.checks import Webhook
from stackwright.kube.controller import Controller
from stackwright.kube.errors import ConfigError
from stackwright.kube.resource import CustomResource

NAME = "stackwright-operator"


def assemble(dialler: Dialler, environment: Environment, operators: Operators | None = None) -> tuple[Controller, ...]:
    """Return all controllers that there are; `operators` are those of single services, where they are started here."""
    return (
        *controlplane.controllers(operators),
        *service.controllers(services.blueprints(), environment),
        *database.controllers(dialler),
        *broker.controllers(dialler),
        *identity.controllers(dialler),
    )


def team_of(controller: Controller) -> str:
    """Return the word by which a controller is chosen; that of the services' own operators goes with the core."""
    return CORE if controller.kind is ServiceOperator else word_of(controller.kind)


def choose(controllers: Iterable[Controller], words: Iterable[str]) -> tuple[Controller, ...]:
    """Return the controllers of the services that the words name, all when there are none."""
    controllers, wanted = tuple(controllers), set(words)
    known = {team_of(controller) for controller in controllers}
    if unknown := sorted(wanted - known):
        raise ConfigError(f"There is no controller of {unknown[0]}; there are those of {', '.join(sorted(known))}.")
    return tuple(controller for controller in controllers if not wanted or team_of(controller) in wanted)


def webhooks(
    controllers: Iterable[Controller],
    known: Known,
    operators: Operators | None = None,
    images: Mapping[str, ComponentImage] | None = None,
) -> tuple[Webhook[Any], ...]:
    """Return the webhooks of the kinds that these controllers keep; `known` lists what a namespace has.

    Who starts the operators of single services answers for all of their kinds: a check needs no rights, and is there
    before they are.
    """
    # A kind may have several controllers, and has one webhook.
    kept = dict.fromkeys(each.kind for each in controllers if issubclass(each.kind, CustomResource))
    kinds = list(kept) if operators is None else list(services.kinds())
    return admission.webhooks(kinds, known, {services.control_plane(): controlplane.check}, images)


def lease_of(word: str, namespaces: Iterable[str] = ()) -> str:
    """Return the lease under which a service's controllers work: each service has its own, whoever else does what.

    So an operator of all services and one of a single service divide the work, and never do the same. Operators in a
    cluster are told apart by their own namespace, where the leases are: a list of namespaces that changes changes no
    lease, and the new pod waits for the old one. Those beside a cluster share one, and name theirs.
    """
    names = sorted(namespaces)
    # Of several names a digest: a name has room for 253 characters.
    several = hashlib.sha256(" ".join(names).encode()).hexdigest()[:8]
    return "-".join((NAME, word, *(names if len(names) < 2 else (several,))))
