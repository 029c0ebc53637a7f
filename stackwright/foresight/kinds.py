"""The kinds of services, the kinds of workloads, and all kinds that appear in the tree of a cloud. Pure."""

from functools import cache

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.kube.builtin import DaemonSet, Deployment, Job, Plain, StatefulSet
from stackwright.kube.resource import Resource

WORKLOADS: tuple[type[Plain], ...] = (Job, Deployment, StatefulSet, DaemonSet)


@cache
def service_kinds() -> tuple[type[CustomResource], ...]:
    """Return the kinds whose resources have pods."""
    found = {part.kind for section in services.sections() for part in section.parts}
    found |= {service.kind for service in services.blueprints()}
    return tuple(sorted(found, key=lambda kind: kind.kind.crd_name))


def chart_of(kind: type[CustomResource]) -> str:
    """Return the name of the chart of a kind, which is the name of its folder."""
    blueprint = services.blueprint_of(kind)
    return blueprint.name if blueprint is not None else kind.__module__.split(".")[-2]


def tree_kinds() -> tuple[type[Resource], ...]:
    """Return the kinds that appear in a tree."""
    return (*services.kinds(), *WORKLOADS)
