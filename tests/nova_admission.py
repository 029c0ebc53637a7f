"""What upstream's webhooks of Nova refuse, and how they say it: the cases of its own tests, and what its code adds.

Each case has what its author wrote beside the least that upstream's own tests give a kind.
"""

from dataclasses import dataclass
from typing import Any

REGEX = r"should match with the regex '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'"
API_FILES = "Only the following keys are valid: policy.yaml, api-paste.ini, nova_api_audit_map.conf"
METADATA_FILES = "Only the following keys are valid: api-paste.ini"
COMPUTE_FILES = "Only the following keys are valid: provider*.yaml"
BOTH_PLACES = (
    "should be false as metadata is enabled on the top level too. The metadata service can be either enabled on top "
    "or in the cells but not in both places at the same time."
)
UNIQUE = "RabbitMqCluster CR need to be uniq per cell. It's duplicated with cell:"
NAMESPACE = 'Invalid value: "namespace": Customizing namespace field is not supported'
SERVER = {"secret": "nova", "keystoneAuthURL": "http://keystone-internal:5000", "serviceAccount": "nova-sa"}
DATABASES = {
    "apiDatabaseHostname": "nova-api-db-hostname",
    "apiDatabaseAccount": "test-nova-api-account",
    "cell0DatabaseHostname": "nova-cell0-db-hostname",
    "cell0DatabaseAccount": "test-nova-cell0-account",
    "memcachedInstance": "memcached",
    "registeredCells": {},
}
OF_CELL = {
    "cellName": "cell1",
    "cellDatabaseHostname": "nova-cell-db-hostname",
    "cellDatabaseAccount": "test-nova-cell1-account",
}
# What upstream's tests give each kind.
LEAST: dict[str, dict[str, Any]] = {
    "Nova": {
        "secret": "external-secret",
        "apiMessageBusInstance": "nova-api-transport",
        "cellTemplates": {"cell0": {}},
    },
    "NovaCell": {**SERVER, **OF_CELL, "memcachedInstance": "memcached"},
    "NovaAPI": {**SERVER, **DATABASES, "keystonePublicAuthURL": "http://keystone-public:5000"},
    "NovaScheduler": {**SERVER, **DATABASES},
    "NovaMetadata": {
        **SERVER,
        "apiDatabaseHostname": "nova-api-db-hostname",
        "cellDatabaseHostname": "nova-cell-db-hostname",
        "memcachedInstance": "memcached",
    },
    "NovaConductor": {**SERVER, **OF_CELL, "memcachedInstance": "memcached"},
    "NovaNoVNCProxy": {**SERVER, **OF_CELL, "memcachedInstance": "memcached"},
    "NovaCompute": {**SERVER, "cellName": "cell1", "computeName": "compute1", "computeDriver": "ironic.IronicDriver"},
}
IRONIC = {"computeDriver": "ironic.IronicDriver"}
ON, OFF = {"enabled": True}, {"enabled": False}
FILES = {"policy.yaml": "custom policy", "api-paste.ini": "custom paste config"}
PROVIDERS = {"policy.yaml": "custom policy not supported", "provider123.yaml": "provider*.yaml is supported"}
LONG, LONG_COMPUTE = "cell1" + "x" * 31, "ironic-compute" + "x" * 31
ELSEWHERE = {"topologyRef": {"name": "foo", "namespace": "bar"}}
WRONG_ENDPOINT: dict[str, Any] = {"override": {"service": {"internal": {}, "wrooong": {}}}}


@dataclass(frozen=True)
class Case:
    """A kind, what is said beside the least, and each refusal: its path, and its message as upstream has it."""

    name: str
    kind: str
    said: dict[str, Any]
    refused: tuple[tuple[str, str], ...]
    reason: str = "FieldValueInvalid"
    old: dict[str, Any] | None = None

    @property
    def spec(self) -> dict[str, Any]:
        """The spec as it is written."""
        return {**LEAST[self.kind], **self.said}

    @property
    def stored(self) -> dict[str, Any] | None:
        """The spec that is there already; None for a new resource."""
        return None if self.old is None else {**LEAST[self.kind], **self.old}


def case(name: str, kind: str, said: dict[str, Any], *refused: tuple[str, str], **more: Any) -> Case:
    return Case(name, kind, said, refused, **more)


def cells(**more: Any) -> dict[str, Any]:
    return {"cellTemplates": {"cell0": {}, **more}}


def computes(**named: Any) -> dict[str, Any]:
    return {"novaComputeTemplates": named}


def cell0(**said: Any) -> dict[str, Any]:
    return {**LEAST["NovaCell"], "cellName": "cell0", **said}


def bus(cluster: str, vhost: str = "") -> dict[str, Any]:
    return {"messagingBus": {"cluster": cluster, "vhost": vhost}}


def invalid(value: object, words: str) -> str:
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower()
    return f"Invalid value: {shown}: {words}"


FALSE = invalid(value=True, words="should be false for cell0")
ZERO = invalid("novaComputeTemplates", "should have zero elements for cell0")
SHORTER = "should be shorter than 20 characters"
OLD_BUS, NEW_BUS = "spec.apiMessageBusInstance", "spec.messagingBus.cluster"
OLD_CELL_BUS = "spec.cellTemplates[cell1].cellMessageBusInstance"
NEW_CELL_BUS = "spec.cellTemplates[cell1].messagingBus.cluster"
OLD_NOISE, NEW_NOISE = "spec.notificationsBusInstance", "spec.notificationsBus.cluster"


def both(older: str, newer: str, first: str, second: str) -> str:
    return invalid(
        first,
        f'cannot set both deprecated field "{older}" and new field "{newer}" with different values (deprecated: '
        f'"{first}", new: "{second}"). Use "{newer}" only',
    )


def changed(older: str, newer: str) -> str:
    return (
        f'Forbidden: field "{older}" is deprecated, use "{newer}" instead. To migrate, first set "{newer}", then clear '
        "this field"
    )


CASES: tuple[Case, ...] = (
    case(
        "cell0-is-missing",
        "Nova",
        {"cellTemplates": {"cell1": {}}},
        (
            "spec.cellTemplates",
            "Required value: cell0 specification is missing, cell0 key is required in cellTemplates",
        ),
        reason="FieldValueRequired",
    ),
    case(
        "metadata-in-cell0",
        "Nova",
        {
            "metadataServiceTemplate": OFF,
            "cellTemplates": {"cell0": {"metadataServiceTemplate": ON}, "cell1": {"metadataServiceTemplate": ON}},
        },
        ("spec.cellTemplates[cell0].metadataServiceTemplate.enabled", FALSE),
    ),
    case(
        "metadata-in-a-NovaCell-cell0",
        "NovaCell",
        cell0(metadataServiceTemplate=ON),
        ("spec.metadataServiceTemplate.enabled", FALSE),
    ),
    case(
        "novnc-in-cell0",
        "Nova",
        {"cellTemplates": {"cell0": {"noVNCProxyServiceTemplate": ON}, "cell1": {"noVNCProxyServiceTemplate": ON}}},
        ("spec.cellTemplates[cell0].noVNCProxyServiceTemplate.enabled", FALSE),
    ),
    case(
        "novnc-in-a-NovaCell-cell0",
        "NovaCell",
        cell0(noVNCProxyServiceTemplate=ON),
        ("spec.noVNCProxyServiceTemplate.enabled", FALSE),
    ),
    case(
        "computes-in-cell0",
        "Nova",
        {"cellTemplates": {"cell0": computes(**{"ironic-compute": IRONIC})}},
        ("spec.cellTemplates[cell0].novaComputeTemplates", ZERO),
    ),
    case(
        "computes-in-a-NovaCell-cell0",
        "NovaCell",
        cell0(**computes(**{"ironic-compute": IRONIC})),
        ("spec.novaComputeTemplates", ZERO),
    ),
    case(
        "a-long-name-of-a-cell",
        "Nova",
        cells(**{LONG: {}}),
        (f"spec.cellTemplates[{LONG}]", invalid(LONG, "should be shorter than 36 characters")),
    ),
    case(
        "a-long-name-of-a-NovaCell",
        "NovaCell",
        {"cellName": LONG},
        ("spec.cellName", invalid(LONG, "should be shorter than 36 characters")),
    ),
    *(
        case(
            f"a-cell-called-{name}",
            "Nova",
            cells(**{name: {}}),
            (f"spec.cellTemplates[{name}]", invalid(name, REGEX)),
        )
        for name in ("Cell1xx", "cell1$xx__", "cellMy")
    ),
    case(
        "a-NovaCell-with-a-capital",
        "NovaCell",
        {"cellName": "Cell1"},
        ("spec.cellName", invalid("Cell1", REGEX)),
    ),
    case(
        "a-name-that-is-long-and-wrong",
        "Nova",
        cells(**{LONG.upper(): {}}),
        (
            f"spec.cellTemplates[{LONG.upper()}]",
            invalid(LONG.upper(), "should be shorter than 36 characters"),
        ),
        (f"spec.cellTemplates[{LONG.upper()}]", invalid(LONG.upper(), REGEX)),
    ),
    case(
        "two-errors",
        "Nova",
        {
            "metadataServiceTemplate": OFF,
            "cellTemplates": {"cell0": {"metadataServiceTemplate": ON}, LONG: {"metadataServiceTemplate": ON}},
        },
        ("spec.cellTemplates[cell0].metadataServiceTemplate.enabled", FALSE),
        (f"spec.cellTemplates[{LONG}]", invalid(LONG, "should be shorter than 36 characters")),
    ),
    case(
        "a-long-name-of-a-compute",
        "Nova",
        cells(cell1=computes(**{LONG_COMPUTE: IRONIC})),
        (f"spec.cellTemplates[cell1].novaComputeTemplates[{LONG_COMPUTE}]", invalid(LONG_COMPUTE, SHORTER)),
    ),
    case(
        "a-long-name-of-a-compute-in-a-NovaCell",
        "NovaCell",
        computes(**{LONG_COMPUTE: IRONIC}),
        (f"spec.novaComputeTemplates[{LONG_COMPUTE}]", invalid(LONG_COMPUTE, SHORTER)),
    ),
    *(
        case(
            f"a-compute-called-{name}",
            "NovaCell",
            computes(**{name: IRONIC}),
            (f"spec.novaComputeTemplates[{name}]", invalid(name, REGEX)),
        )
        for name in ("Compute1xx", "compute1-xx__", "computeFake1")
    ),
    case(
        "two-pods-of-ironic",
        "Nova",
        cells(cell1=computes(**{"ironic-compute": {**IRONIC, "replicas": 2}})),
        (
            "spec.cellTemplates[cell1].novaComputeTemplates[ironic-compute].replicas",
            invalid(2, "should be max 1 for ironic.IronicDriver"),
        ),
    ),
    case(
        "two-pods-of-ironic-in-a-NovaCell",
        "NovaCell",
        computes(metal={**IRONIC, "replicas": 3}),
        ("spec.novaComputeTemplates[metal].replicas", invalid(3, "should be max 1 for ironic.IronicDriver")),
    ),
    case(
        "two-pods-of-a-NovaCompute",
        "NovaCompute",
        {"replicas": 2},
        ("spec.replicas", invalid(2, "should be max 1 for ironic.IronicDriver")),
    ),
    case(
        "metadata-on-top-and-in-a-cell",
        "Nova",
        {"metadataServiceTemplate": ON, **cells(cell1={"metadataServiceTemplate": ON})},
        ("spec.cellTemplates[cell1].metadataServiceTemplate.enabled", invalid(value=True, words=BOTH_PLACES)),
    ),
    case(
        "metadata-on-top-by-default-and-in-a-cell",
        "Nova",
        cells(cell1={"metadataServiceTemplate": ON}),
        ("spec.cellTemplates[cell1].metadataServiceTemplate.enabled", invalid(value=True, words=BOTH_PLACES)),
    ),
    case(
        "a-broker-of-two-cells",
        "Nova",
        cells(cell1=bus("rabbitmq-of-caerbannog"), cell2=bus("rabbitmq-of-caerbannog")),
        (
            "spec.cellTemplates[cell2].messagingBus.cluster",
            invalid("rabbitmq-of-caerbannog", f"{UNIQUE} cell1; or give each cell a vhost of its own"),
        ),
    ),
    case(
        "a-broker-of-two-cells-by-default",
        "Nova",
        cells(cell1={}, cell2=bus("rabbitmq-cell1")),
        (
            "spec.cellTemplates[cell2].messagingBus.cluster",
            invalid("rabbitmq-cell1", f"{UNIQUE} cell1; or give each cell a vhost of its own"),
        ),
    ),
    case(
        "a-broker-of-two-cells-in-the-older-field",
        "Nova",
        cells(cell1=bus("one"), cell2={"cellMessageBusInstance": "one"}),
        (
            "spec.cellTemplates[cell2].cellMessageBusInstance",
            invalid("one", f"{UNIQUE} cell1; or give each cell a vhost of its own"),
        ),
    ),
    case(
        "a-file-of-a-NovaAPI",
        "NovaAPI",
        {"defaultConfigOverwrite": {**FILES, "foo.conf": "wrong custom config"}},
        ("spec.defaultConfigOverwrite", invalid("foo.conf", API_FILES)),
    ),
    case(
        "two-files-of-a-NovaAPI",
        "NovaAPI",
        {"defaultConfigOverwrite": {"foo.conf": "x", "bar.conf": "x"}},
        ("spec.defaultConfigOverwrite", invalid("foo.conf", API_FILES)),
        ("spec.defaultConfigOverwrite", invalid("bar.conf", API_FILES)),
    ),
    case(
        "a-file-of-the-api",
        "Nova",
        {"apiServiceTemplate": {"defaultConfigOverwrite": {**FILES, "provider.yaml": "not supported here"}}},
        ("spec.apiServiceTemplate.defaultConfigOverwrite", invalid("provider.yaml", API_FILES)),
    ),
    case(
        "a-file-of-a-NovaMetadata",
        "NovaMetadata",
        {"defaultConfigOverwrite": FILES},
        ("spec.defaultConfigOverwrite", invalid("policy.yaml", METADATA_FILES)),
    ),
    case(
        "a-file-of-the-metadata-on-top",
        "Nova",
        {"metadataServiceTemplate": {"defaultConfigOverwrite": FILES}},
        ("spec.metadataServiceTemplate.defaultConfigOverwrite", invalid("policy.yaml", METADATA_FILES)),
    ),
    case(
        "a-file-of-the-metadata-of-a-cell",
        "Nova",
        cells(cell1={"metadataServiceTemplate": {"defaultConfigOverwrite": FILES}}),
        (
            "spec.cellTemplates[cell1].metadataServiceTemplate.defaultConfigOverwrite",
            invalid("policy.yaml", METADATA_FILES),
        ),
    ),
    case(
        "a-file-of-a-NovaCompute",
        "NovaCompute",
        {"defaultConfigOverwrite": PROVIDERS},
        ("spec.defaultConfigOverwrite", invalid("policy.yaml", COMPUTE_FILES)),
    ),
    case(
        "a-file-of-a-compute-in-a-NovaCell",
        "NovaCell",
        computes(**{"ironic-compute": {**IRONIC, "defaultConfigOverwrite": PROVIDERS}}),
        (
            "spec.novaComputeTemplates[ironic-compute].defaultConfigOverwrite",
            invalid("policy.yaml", COMPUTE_FILES),
        ),
    ),
    case(
        "a-file-of-a-compute",
        "Nova",
        cells(cell1=computes(**{"ironic-compute": {**IRONIC, "defaultConfigOverwrite": PROVIDERS}})),
        (
            "spec.cellTemplates[cell1].novaComputeTemplates[ironic-compute].defaultConfigOverwrite",
            invalid("policy.yaml", COMPUTE_FILES),
        ),
    ),
    case(
        "a-schedule-with-four-fields",
        "NovaConductor",
        {"dbPurge": {"schedule": "* * * *"}},
        ("spec.dbPurge.schedule", invalid("* * * *", "expected exactly 5 fields, found 4: [* * * *]")),
    ),
    case(
        "a-schedule-with-six-fields",
        "NovaCell",
        {"dbPurge": {"schedule": "* * * * * 1"}},
        ("spec.dbPurge.schedule", invalid("* * * * * 1", "expected exactly 5 fields, found 6: [* * * * * 1]")),
    ),
    case(
        "a-schedule-that-is-a-word",
        "Nova",
        cells(cell1={"dbPurge": {"schedule": "@dailyX"}}),
        ("spec.cellTemplates[cell1].dbPurge.schedule", invalid("@dailyX", "unrecognized descriptor: @dailyX")),
    ),
    case(
        "a-schedule-out-of-range",
        "NovaConductor",
        {"dbPurge": {"schedule": "61 * * * *"}},
        ("spec.dbPurge.schedule", invalid("61 * * * *", "end of range (61) above maximum (59): 61")),
    ),
    case(
        "an-endpoint-of-a-NovaAPI",
        "NovaAPI",
        WRONG_ENDPOINT,
        ("spec.override.service[wrooong]", invalid("wrooong", "invalid endpoint type: wrooong")),
    ),
    case(
        "an-endpoint-of-the-api",
        "Nova",
        {"apiServiceTemplate": WRONG_ENDPOINT},
        (
            "spec.apiServiceTemplate.override.service[wrooong]",
            invalid("wrooong", "invalid endpoint type: wrooong"),
        ),
    ),
    *(
        case(f"a-topology-elsewhere-of-a-{kind}", kind, ELSEWHERE, ("spec.topologyRef.namespace", NAMESPACE))
        for kind in LEAST
    ),
    case(
        "a-topology-elsewhere-of-conductors",
        "Nova",
        cells(cell1={"conductorServiceTemplate": ELSEWHERE}),
        ("spec.cellTemplates[cell1].conductorServiceTemplate.topologyRef.namespace", NAMESPACE),
    ),
    case(
        "an-older-field-that-changes",
        "Nova",
        {"apiMessageBusInstance": "two"},
        (OLD_BUS, changed(OLD_BUS, NEW_BUS)),
        reason="FieldValueForbidden",
        old={"apiMessageBusInstance": "one"},
    ),
    case(
        "an-older-field-that-is-added",
        "Nova",
        {"notificationsBusInstance": "noise"},
        (OLD_NOISE, changed(OLD_NOISE, NEW_NOISE)),
        reason="FieldValueForbidden",
        old={},
    ),
    case(
        "an-older-field-of-a-cell-that-changes",
        "Nova",
        cells(cell1={"cellMessageBusInstance": "two"}),
        (OLD_CELL_BUS, changed(OLD_CELL_BUS, NEW_CELL_BUS)),
        reason="FieldValueForbidden",
        old=cells(cell1={"cellMessageBusInstance": "one"}),
    ),
    case(
        "a-newer-field-that-contradicts",
        "Nova",
        {"apiMessageBusInstance": "one", **bus("two")},
        (OLD_BUS, both(OLD_BUS, NEW_BUS, "one", "two")),
        old={"apiMessageBusInstance": "one"},
    ),
    case(
        "a-newer-field-of-a-cell-that-contradicts",
        "Nova",
        cells(cell1={"cellMessageBusInstance": "one", **bus("two")}),
        (OLD_CELL_BUS, both(OLD_CELL_BUS, NEW_CELL_BUS, "one", "two")),
        old=cells(cell1={"cellMessageBusInstance": "one"}),
    ),
)
