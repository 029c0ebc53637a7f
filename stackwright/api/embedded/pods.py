"""Parts of a pod: tolerations, DNS, and where the value of a variable comes from. Fields are named as in Kubernetes."""

from typing import Annotated, ClassVar, Literal

from stackwright.api.base import Quantity, max_items, max_length, min_length
from stackwright.api.embedded.marker import EmbeddedPart
from stackwright.api.forms import Form

Required = Annotated[str, min_length(1)]
KeyName = Annotated[str, Form.CONFIG_KEY]


class Toleration(EmbeddedPart, frozen=True, kw_only=True):
    """A taint of nodes that a pod tolerates."""

    key: Annotated[str, Form.OPTIONAL_LABEL_KEY] = ""
    operator: Literal["Equal", "Exists", "Lt", "Gt", ""] = ""
    value: Annotated[str, Form.LABEL_VALUE] = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute", ""] = ""
    tolerationSeconds: int | None = None


class DnsOption(EmbeddedPart, frozen=True, kw_only=True):
    """An option of the resolver."""

    name: Required
    value: str | None = None


class DnsConfig(EmbeddedPart, frozen=True, kw_only=True):
    """The DNS configuration of a pod, beside what its policy says."""

    nameservers: Annotated[tuple[Annotated[str, Form.ADDRESS], ...], max_items(3)] = ()
    searches: Annotated[tuple[Annotated[str, Form.SEARCH_DOMAIN, max_length(254)], ...], max_items(32)] = ()
    options: tuple[DnsOption, ...] = ()


class ObjectKey(EmbeddedPart, frozen=True, kw_only=True):
    """A key of a ConfigMap or a Secret."""

    name: Required
    key: KeyName
    optional: bool | None = None


class FieldOfPod(EmbeddedPart, frozen=True, kw_only=True):
    """A field of the pod itself."""

    fieldPath: Required
    apiVersion: Literal["v1", ""] = ""


class ResourceOfContainer(EmbeddedPart, frozen=True, kw_only=True):
    """What a container requests, or its limit."""

    resource: Required
    containerName: str = ""
    divisor: Annotated[Quantity | None, Form.QUANTITY] = None


class FileKey(EmbeddedPart, frozen=True, kw_only=True):
    """A key in a file of variables, on a volume."""

    volumeName: Required
    path: Annotated[str, min_length(1), Form.RELATIVE_PATH]
    key: Required
    optional: bool | None = None


class ValueSource(EmbeddedPart, frozen=True, kw_only=True):
    """Where the value of a variable comes from."""

    one_of: ClassVar[tuple[str, ...]] = (
        "configMapKeyRef",
        "secretKeyRef",
        "fieldRef",
        "resourceFieldRef",
        "fileKeyRef",
    )

    configMapKeyRef: ObjectKey | None = None
    secretKeyRef: ObjectKey | None = None
    fieldRef: FieldOfPod | None = None
    resourceFieldRef: ResourceOfContainer | None = None
    fileKeyRef: FileKey | None = None
