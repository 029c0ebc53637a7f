"""What would change if the operator took a release over: shown in the status before anybody has to decide."""

from typing import Any, TypeVar

import msgspec

from stackwright.adapters.errors import AdapterError
from stackwright.api.base import CustomResource, Status
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.service import Service
from stackwright.controllers import release
from stackwright.controllers.service import charts
from stackwright.controllers.service.decide import Seen, decide
from stackwright.controllers.service.environment import Environment
from stackwright.kube.builtin import Secret
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.resource import Overridden

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


async def describe_given(
    service: Service[C, F], resource: C, seen: Seen, environment: Environment, context: Context
) -> tuple[Status, str]:
    """Return the status of a resource whose release was given to helm, and a sentence that says so.

    The status lists what the operator would change; if that is not known now, the sentence says why.
    """
    metadata = resource.metadata
    history = release.history_of(context.store(Secret).list(metadata.namespace), metadata.name)
    sentence = release.why_given(history)
    try:
        intent = decide(service, resource, seen, environment)
        if intent.values is None or not service.has_chart:
            why = "; ".join(wait.message for wait in intent.waits) or "the service is not deployed"
            return _with(resource.status, ()), f"{sentence}. {release.UNKNOWN}: {why}"
        chart = await charts.folder(service, resource, seen.look, environment)
        rendered = await environment.renderer.render(chart, metadata.name, metadata.namespace, intent.values)
    except (Blocked, Retry, AdapterError) as error:
        return _with(resource.status, ()), f"{sentence}. {release.UNKNOWN}: {error}"
    return _with(resource.status, release.preview(history, rendered.objects)), sentence


def note_contested(status: Status, error: Exception) -> Status:
    """Return the status with what would be reverted, where an error says that a release is contested."""
    contested = error if isinstance(error, release.Contested) else error.__cause__
    return _with(status, contested.overridden) if isinstance(contested, release.Contested) else status


def _with(status: Any, overridden: tuple[Overridden, ...]) -> Status:
    result: Status = msgspec.structs.replace(status, overridden=overridden)
    return result
