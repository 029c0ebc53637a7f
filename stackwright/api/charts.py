"""A user's own chart instead of ours: where it comes from."""

from typing import Annotated, ClassVar

from stackwright.api.base import Rule, Value, describe, max_length, min_length, pattern, rule
from stackwright.api.forms import OPTIONAL_NAME

# A repository in a registry, with an optional version and always with the digest, so that its content never changes.
_NAME = "oci://[a-zA-Z0-9.-]+(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+"
_REFERENCE = f"^{_NAME}(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{{0,127}})?@sha256:[0-9a-f]{{64}}$"


class ChartConfigMap(Value, frozen=True, kw_only=True):
    """Names a packaged chart in a ConfigMap."""

    name: Annotated[str, min_length(1), max_length(253), describe("The name of the ConfigMap, in the same namespace.")]
    key: Annotated[
        str,
        min_length(1),
        max_length(253),
        describe(
            "The key of its binaryData that holds the packaged chart (.tgz). A ConfigMap holds 1 MiB at most;"
            " put a larger chart into a registry."
        ),
    ] = "chart.tgz"


class ChartSource(Value, frozen=True, kw_only=True):
    """Says where a chart comes from: a registry or a ConfigMap."""

    validations: ClassVar[tuple[Rule, ...]] = (
        rule("has(self.oci) != has(self.configMap)", message="chart needs one of oci and configMap, and not both"),
        rule(
            "has(self.oci) || (!has(self.pullSecret) && !has(self.plainHTTP))",
            message="pullSecret and plainHTTP are for a chart from a registry; they go with oci",
        ),
    )

    oci: Annotated[
        str | None,
        max_length(512),
        rule(
            f"self.matches('{_REFERENCE}')",
            message="oci must name a chart in a registry by its digest: oci://HOST/PATH/NAME@sha256:DIGEST, with a "
            ":VERSION before the @ if you like; helm push prints the digest",
        ),
        describe("A chart in a registry, by its digest: oci://registry.example/charts/keystone@sha256:…"),
    ] = None
    configMap: Annotated[ChartConfigMap | None, describe("A packaged chart in a ConfigMap.")] = None
    pullSecret: Annotated[
        str | None,
        pattern(OPTIONAL_NAME),
        max_length(253),
        describe("A Secret of type kubernetes.io/dockerconfigjson with the login to the registry."),
    ] = None
    plainHTTP: Annotated[bool | None, describe("Whether to use the registry without TLS.")] = None

    def __str__(self) -> str:
        return self.oci or (f"ConfigMap {self.configMap.name}" if self.configMap is not None else "")


Chart = Annotated[
    ChartSource | None,
    describe(
        "Your own chart instead of ours. It gets the same values, and may render what ours may: objects of "
        "this namespace that belong to nobody else."
    ),
]
