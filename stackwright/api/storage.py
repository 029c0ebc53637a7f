"""How much a volume holds."""

from typing import Annotated

from stackwright.api.base import Quantity, max_length, pattern, rule
from stackwright.kube.crd.markers import QUANTITY

_GROWS = "a volume can grow but not shrink; make another resource with smaller volumes and move the data"

StorageRequest = Annotated[
    str,
    pattern(QUANTITY),
    max_length(32),
    rule("quantity(self).compareTo(quantity(oldSelf)) >= 0", message=_GROWS),
]

# The same where Kubernetes itself would accept a bare number.
StorageQuantity = Annotated[
    Quantity, rule("quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0", message=_GROWS)
]
