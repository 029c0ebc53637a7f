"""Parts of Kubernetes' own objects that users write into our resources in free form, as in a pod or a Service.

    marker.py    says of a free-form field which part it becomes
    pods.py      tolerations, DNS, and where the value of a variable comes from
    volumes.py   the volumes of a pod, by their source
    services.py  the spec of a Service

The schemas of our kinds do not contain these types: a volume alone has some thirty sources. By these types
`blueprint/embedding.py` refuses what the API server would refuse.
"""

from stackwright.api.embedded.marker import Embedded, EmbeddedPart, embedded

__all__ = ["Embedded", "EmbeddedPart", "embedded"]
