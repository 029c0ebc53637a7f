"""How much a volume holds.

That a volume grows, or cannot, depends on its StorageClass; so does whether a size can be taken back. No schema knows
that: `blueprint/volume_sizes` says it.
"""

from typing import Annotated

from stackwright.api.base import Quantity, max_length, minimum, pattern, rule
from stackwright.api.forms import Form
from stackwright.kube.markers import POSITIVE, QUANTITY

_SIZE = "must be more than 0; a volume cannot have size 0"

StorageRequest = Annotated[
    str,
    pattern(QUANTITY),
    max_length(32),
    rule("quantity(self).isGreaterThan(quantity('0'))", message=_SIZE),
    Form.SIZE,
]

# The same where Kubernetes itself would accept a bare number.
StorageQuantity = Annotated[
    Quantity,
    # A rule would cost more than the schema of the umbrella allows, where it is repeated for each instance.
    pattern(POSITIVE),
    minimum(1),
    Form.SIZE,
]
