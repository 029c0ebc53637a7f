"""The fields that the kinds of all services have in common, for code that deals with any of them. Pure.

The specs of services have no common base: some have one template, others one for each component.
"""

from typing import Protocol, cast

from stackwright.api.base import CustomResource
from stackwright.api.charts import ChartSource
from stackwright.api.service import Action, WorkloadStatus


class CommonSpec(Protocol):
    """What the spec of every service has."""

    @property
    def actions(self) -> tuple[Action, ...]:
        """What the user asks the service to do once."""
        ...

    @property
    def chart(self) -> ChartSource | None:
        """The user's own chart, if there is one."""
        ...


def spec_of(resource: CustomResource) -> CommonSpec:
    """Return the spec of a service's resource."""
    return cast("CommonSpec", resource.spec)  # type: ignore[attr-defined]  # every service has a spec


def status_of(resource: CustomResource) -> WorkloadStatus:
    """Return the status of a service's resource."""
    assert isinstance(resource.status, WorkloadStatus)  # noqa: S101  the status of every service extends it
    return resource.status
