"""What admission is told that there is, for tests."""

from stackwright.controllers.surroundings import Known, nothing_known
from stackwright.kube.resource import R, Resource

__all__ = ["listing", "nothing_known"]


def listing(*resources: Resource) -> Known:
    """Return what lists just these resources, each in its own namespace."""

    def known(kind: type[R], namespace: str | None) -> list[R]:
        there = [each for each in resources if isinstance(each, kind)]
        return [each for each in there if namespace is None or each.metadata.namespace == namespace]

    return known
