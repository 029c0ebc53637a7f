"""What an operator runs: the controllers of all services, or of some, and the webhooks of their kinds."""

from collections.abc import Iterable
from typing import Any

from stackwright import services
from stackwright.blueprint import admission
from stackwright.controllers import broker, controlplane, database, identity, service
from stackwright.controllers.controlplane.admission import Others
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.service import Environment
from stackwright.kube.admission.checks import Webhook
from stackwright.kube.controller import Controller
from stackwright.kube.errors import ConfigError
from stackwright.kube.resource import CustomResource, Resource

NAME = "stackwright-operator"


def assemble(dialler: Dialler, environment: Environment) -> tuple[Controller, ...]:
    """Return all controllers that there are."""
    return (
        *controlplane.controllers(dialler),
        *service.controllers(services.blueprints(), environment),
        *database.controllers(dialler),
        *broker.controllers(dialler),
        *identity.controllers(dialler),
    )


def word_of(kind: type[Resource]) -> str:
    """Return the word by which a kind's controller is chosen: the service whose group it is in, `core` for no service.

    So who asks for a database server also gets its schemas and accounts.
    """
    return kind.kind.group.partition(".")[0]


def choose(controllers: Iterable[Controller], words: Iterable[str]) -> tuple[Controller, ...]:
    """Return the controllers of the services that the words name, all when there are none."""
    controllers, wanted = tuple(controllers), set(words)
    known = {word_of(controller.kind) for controller in controllers}
    if unknown := sorted(wanted - known):
        raise ConfigError(f"There is no controller of {unknown[0]}; there are those of {', '.join(sorted(known))}.")
    return tuple(controller for controller in controllers if not wanted or word_of(controller.kind) in wanted)


def webhooks(controllers: Iterable[Controller], others: Others) -> tuple[Webhook[Any], ...]:
    """Return the webhooks of the kinds that these controllers keep; `others` lists a namespace's control planes."""
    kinds = [controller.kind for controller in controllers if issubclass(controller.kind, CustomResource)]
    umbrella = services.control_plane()
    own = (controlplane.webhook(others),) if umbrella in kinds else ()
    return (*own, *admission.checks(kind for kind in kinds if kind is not umbrella))


def lease_of(words: Iterable[str], namespace: str) -> str:
    """Return the lease for which operators of the same services and namespace compete."""
    return "-".join((NAME, *sorted(set(words)), *((namespace,) if namespace else ())))[:253].rstrip("-")
