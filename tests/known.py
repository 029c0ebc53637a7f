"""What admission is told that there is, for tests."""

from stackwright.controllers.admission import Known
from stackwright.kube.resource import CustomResource, R


def listing(*resources: CustomResource) -> Known:
    """Return what lists just these resources, each in its own namespace."""

    def known(kind: type[R], namespace: str) -> list[R]:
        return [each for each in resources if isinstance(each, kind) and each.metadata.namespace == namespace]

    return known


nothing_known = listing()
