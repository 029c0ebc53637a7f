"""How much a volume holds."""

from typing import Annotated

from stackwright.api.base import Quantity, max_length, minimum, pattern, rule
from stackwright.api.forms import Form
from stackwright.kube.markers import POSITIVE, QUANTITY

_SIZE = "must be more than 0; a volume cannot have size 0"
_GROWS = "a volume can grow but not shrink; make another resource with smaller volumes and move the data"

StorageRequest = Annotated[
    str,
    pattern(QUANTITY),
    max_length(32),
    rule("quantity(self).isGreaterThan(quantity('0'))", message=_SIZE),
    rule("quantity(self).compareTo(quantity(oldSelf)) >= 0", message=_GROWS),
    Form.SIZE,
]

# The same where Kubernetes itself would accept a bare number.
StorageQuantity = Annotated[
    Quantity,
    # A rule would cost more than the schema of the umbrella allows, where it is repeated for each instance.
    pattern(POSITIVE),
    minimum(1),
    rule("quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0", message=_GROWS),
    Form.SIZE,
]
