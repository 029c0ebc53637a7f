"""What people bring from openstack-k8s-operators, in our own words: samples, patches, and exports with all defaults.

Each row says what becomes of it: which fields it is refused for, and which its author is warned of. The page
docs/coming-from-upstream.md names each of these fields.
"""

from dataclasses import dataclass
from typing import Any

from stackwright.kube.resource import JsonObject
from tests.functional.crds.upstream_specs import (
    BARBICAN,
    ENABLED,
    EXPORTED,
    GALERA,
    GLANCE,
    IMAGE,
    KEYSTONE,
    LIFETIMES,
    LOAD_BALANCER,
    MEMCACHED,
    NEUTRON,
    OVN_CONTROLLER,
    OVN_DATABASE,
    OVN_NORTHD,
    PLACEMENT,
    POD_LEVEL,
    RABBITMQ,
    ROUTES,
    TO_COME,
    TURNED_OFF,
)


@dataclass(frozen=True)
class Row:
    """A resource that is valid upstream, and what becomes of it here: the fields that are refused or warned of."""

    kind: str
    spec: JsonObject
    refused: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    name: str = ""


def _plane(**said: Any) -> JsonObject:
    return {"secret": "osp-secret", "storageClass": "local-storage", **said}


def _service(**said: Any) -> JsonObject:
    return {"databaseInstance": "openstack", "secret": "osp-secret", **said}


def _galera(**said: Any) -> JsonObject:
    return {"storageClass": "local-storage", "storageRequest": "500M", **said}


ROWS: dict[str, Row] = {
    # Control planes.
    "an export without sections to come": Row("OpenStackControlPlane", EXPORTED, warned=ROUTES),
    "an export": Row(
        "OpenStackControlPlane",
        {**EXPORTED, **TO_COME},
        warned=(*(f"spec.{name}" for name in ENABLED), *ROUTES),
    ),
    "an export with all of those turned off": Row("OpenStackControlPlane", {**EXPORTED, **TURNED_OFF}, warned=ROUTES),
    "an export of a cloud with TLS": Row(
        "OpenStackControlPlane",
        {**EXPORTED, "tls": {"ingress": {"enabled": True, **LIFETIMES}, "podLevel": {"enabled": True, **POD_LEVEL}}},
        refused=("spec.tls.ingress.enabled", "spec.tls.podLevel.enabled"),
    ),
    "sections that only say that they are off": Row(
        "OpenStackControlPlane", _plane(**{name: {"enabled": False} for name in TO_COME})
    ),
    "a control plane with defaults alone": Row("OpenStackControlPlane", _plane(keystone={"template": {}})),
    "brokers for all": Row(
        "OpenStackControlPlane",
        _plane(
            messagingBus={"cluster": "rabbitmq"},
            notificationsBus={"cluster": "rabbitmq-notifications", "user": "notifier"},
            notificationsBusInstance="rabbitmq-notifications",
            barbican={"template": {"barbicanKeystoneListener": {"replicas": 0}}},
        ),
    ),
    "application credentials": Row(
        "OpenStackControlPlane",
        _plane(applicationCredential={"enabled": True}, barbican={"applicationCredential": {"enabled": True}}),
        warned=("spec.applicationCredential", "spec.barbican.applicationCredential"),
    ),
    "a certificate of a public endpoint": Row(
        "OpenStackControlPlane",
        _plane(keystone={"apiOverride": {"tls": {"secretName": "cert"}}}),
        refused=("spec.keystone.apiOverride.tls.secretName",),
    ),
    "names of Glance's pods": Row(
        "OpenStackControlPlane",
        _plane(glance={"uniquePodNames": True, "serviceName": "glance-1a2b3"}),
        warned=("spec.glance.uniquePodNames", "spec.glance.serviceName"),
    ),
    # Services.
    "an exported Keystone": Row("KeystoneAPI", KEYSTONE),
    "a Keystone with certificates": Row(
        "KeystoneAPI",
        {**KEYSTONE, "tls": {"api": {"public": {"secretName": "cert"}}, "caBundleSecretName": "combined-ca-bundle"}},
        refused=("spec.tls.api.public.secretName", "spec.tls.caBundleSecretName"),
    ),
    "a Keystone without a region": Row("KeystoneAPI", _service(region="")),
    "trusts that are flushed each hour": Row("KeystoneAPI", _service(trustFlushSchedule="@every 1h30m")),
    "federation": Row("KeystoneAPI", _service(federatedRealmConfig="realms"), refused=("spec.federatedRealmConfig",)),
    "snippets for a web server": Row(
        "KeystoneAPI",
        _service(httpdCustomization={"customConfigSecret": "httpd"}),
        refused=("spec.httpdCustomization.customConfigSecret",),
    ),
    "where pods go": Row(
        "KeystoneAPI",
        _service(topologyRef={"name": "spread"}, networkAttachments=["internalapi"]),
        warned=("spec.networkAttachments",),
    ),
    "how pods are spread": Row(
        "Topology",
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
            ],
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 80, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname"}}
                    ]
                }
            },
        },
    ),
    "a Topology of another namespace": Row(
        "KeystoneAPI",
        _service(topologyRef={"name": "spread", "namespace": "elsewhere"}),
        refused=("spec.topologyRef.namespace",),
    ),
    "an exported Placement": Row("PlacementAPI", PLACEMENT),
    "an application credential of a service": Row(
        "PlacementAPI",
        _service(auth={"applicationCredentialSecret": "ac-placement-secret"}),
        refused=("spec.auth.applicationCredentialSecret",),
    ),
    "an exported Glance": Row("Glance", {**GLANCE, "secret": "osp-secret"}),
    "a Glance that notifies": Row("Glance", _service(notificationBusInstance="rabbitmq", apiTimeout=5)),
    "a Glance that does not": Row(
        "Glance", _service(notificationBusInstance="", glanceAPIs={"1st": {"apiTimeout": 0}})
    ),
    "a cache of images": Row(
        "Glance",
        _service(glanceAPIs={"default": {"imageCache": {"size": "10G"}}}),
        refused=("spec.glanceAPIs[default].imageCache",),
    ),
    "a store whose login is filled in": Row(
        "Glance",
        _service(customServiceConfig="[swift]\nauth = {{ .KeystoneInternalURL }}\nkey = {{ .ServicePassword }}\n"),
    ),
    "a name that nobody knows": Row(
        "Glance",
        _service(customServiceConfig="[swift]\nkey = {{ .Nobody }}\n"),
        refused=("spec.customServiceConfig",),
    ),
    "quotas of images": Row("Glance", _service(quotas={"imageCountTotal": 10}), refused=("spec.quotas",)),
    "an exported Barbican": Row("Barbican", BARBICAN),
    "a Barbican as a sample has it": Row(
        "Barbican",
        {
            "databaseInstance": "openstack",
            "serviceAccount": "barbican",
            "barbicanAPI": {"customServiceConfigSecrets": ["api-secrets"]},
            "barbicanWorker": {"containerImage": "registry.example.org/worker:1"},
            "barbicanKeystoneListener": {"defaultConfigOverwrite": {"policy.yaml": "{}"}, "replicas": 2},
            "enabledSecretStores": ["simple_crypto"],
            "extraMounts": [],
            "notificationsBus": {"cluster": "rabbitmq"},
            "passwordSelectors": {"simplecryptoadditionalkeks": ["OldKEK"]},
        },
        warned=("spec.serviceAccount",),
    ),
    "a hardware security module": Row(
        "Barbican",
        _service(
            pkcs11={"loginSecret": "hsm-login", "clientDataSecret": "hsm-data", "clientDataPath": "/etc/hsm-client"},
            enabledSecretStores=["pkcs11"],
            globalDefaultSecretStore="pkcs11",
        ),
        refused=("spec.enabledSecretStores", "spec.globalDefaultSecretStore", "spec.pkcs11"),
    ),
    "an exported Neutron": Row("NeutronAPI", NEUTRON),
    "a Neutron as a sample has it": Row(
        "NeutronAPI",
        _service(
            containerImage="registry.example.org/openstack-neutron-server:current",
            defaultConfigOverwrite={"policy.yaml": "get_network: '@'"},
            extraMounts=[{"extraVol": [{"propagation": ["NeutronAPI"], "volumes": [], "mounts": []}]}],
            ml2MechanismDrivers=["ovn", "sriovnicswitch"],
            networkAttachments=["internalapi"],
            notificationsBus={"cluster": "rabbitmq-notifications"},
            notificationsBusInstance="rabbitmq-notifications",
            topologyRef={"name": "spread"},
        ),
        warned=("spec.networkAttachments",),
    ),
    "a Neutron with certificates": Row(
        "NeutronAPI",
        _service(tls={"caBundleSecretName": "combined-ca-bundle", "ovn": {"secretName": "cert-neutron-ovndbs"}}),
        refused=("spec.tls.caBundleSecretName", "spec.tls.ovn.secretName"),
    ),
    "an exported database of networks": Row("OVNDBCluster", OVN_DATABASE),
    "a database of networks as a sample has it": Row(
        "OVNDBCluster",
        {
            "containerImage": IMAGE,
            "dbType": "SB",
            "exporterImage": "registry.example.org/exporter:current",
            "metricsEnabled": False,
            "networkAttachment": "internalapi",
            "override": {"service": {**LOAD_BALANCER, "spec": {"type": "LoadBalancer"}}},
            "probeIntervalToActive": 30000,
            "replicas": 2,
            "storageRequest": "10G",
            "topologyRef": {"name": "spread"},
        },
        warned=(
            "spec.exporterImage",
            "spec.networkAttachment",
            "spec.probeIntervalToActive",
            "spec.replicas",
        ),
    ),
    "a database of networks with certificates": Row(
        "OVNDBCluster",
        {
            "storageRequest": "10G",
            "tls": {"caBundleSecretName": "combined-ca-bundle", "secretName": "cert-ovndbcluster-nb-ovndbs"},
        },
        refused=("spec.tls.caBundleSecretName", "spec.tls.secretName"),
    ),
    "metrics with certificates": Row(
        "OVNDBCluster",
        {"storageRequest": "10G", "metricsTLS": {"secretName": "cert-ovn-metrics"}},
        warned=("spec.metricsTLS",),
    ),
    "an exported daemon of networks": Row("OVNNorthd", {**OVN_NORTHD, "containerImage": IMAGE}),
    "a daemon of networks with certificates": Row(
        "OVNNorthd", {"tls": {"secretName": "cert-ovnnorthd-ovndbs"}}, refused=("spec.tls.secretName",)
    ),
    "exported gateways": Row(
        "OVNController", {**OVN_CONTROLLER, "ovnContainerImage": IMAGE, "ovsContainerImage": IMAGE}
    ),
    "gateways as a sample has them": Row(
        "OVNController",
        {
            "external-ids": {
                "availability-zones": ["zone1", "zone2"],
                "enable-chassis-as-gateway": False,
                "ovn-bridge": "br-int",
                "ovn-encap-type": "vxlan",
                "system-id": "random",
            },
            "bondConfiguration": {"bond0": {"links": ["enp8s0", "enp9s0"], "mtu": 9000}},
            "networkAttachment": "tenant",
            "nicMappings": {"datacentre": "enp6s0"},
            "nodeSelector": {"node-role.kubernetes.io/worker": ""},
        },
        warned=(
            "spec.bondConfiguration",
            "spec.external-ids.enable-chassis-as-gateway",
            "spec.external-ids.system-id",
            "spec.networkAttachment",
        ),
    ),
    "gateways with a bond": Row(
        "OVNController",
        {"bondConfiguration": {"bond0": {"links": ["enp8s0"]}}, "nicMappings": {"datacentre": "bond0"}},
        refused=("spec.nicMappings[datacentre]",),
    ),
    "gateways with certificates": Row(
        "OVNController", {"tls": {"secretName": "cert-ovncontroller-ovndbs"}}, refused=("spec.tls.secretName",)
    ),
    # What services stand on.
    "an exported Galera": Row("Galera", GALERA),
    "a Galera with probes of its own": Row(
        "Galera",
        _galera(override={"probes": {"livenessProbes": {"periodSeconds": 30}}}, logToDisk=True),
        warned=("spec.logToDisk",),
    ),
    "a Galera of two": Row("Galera", _galera(replicas=2), refused=("spec.replicas",)),
    "a Galera with an account for root": Row(
        "Galera", _galera(rootDatabaseAccount="root"), refused=("spec.rootDatabaseAccount",)
    ),
    "a Galera with TLS": Row("Galera", _galera(tls={"secretName": "cert"}), refused=("spec.tls.secretName",)),
    "a Galera with TLS alone": Row(
        "Galera", _galera(disableNonTLSListeners=True), refused=("spec.disableNonTLSListeners",)
    ),
    "a database without a name": Row("MariaDBDatabase", {}, name="nova-cell1"),
    "an account with TLS": Row(
        "MariaDBAccount", {"userName": "a", "secret": "a", "requireTLS": True}, refused=("spec.requireTLS",)
    ),
    "an account of the server": Row(
        "MariaDBAccount", {"userName": "a", "secret": "a", "accountType": "System"}, refused=("spec.accountType",)
    ),
    "an exported broker": Row("RabbitMq", RABBITMQ),
    "a broker from before RabbitMQ 4": Row("RabbitMq", {"queueType": "Mirrored"}, warned=("spec.queueType",)),
    "a broker of two": Row("RabbitMq", {"replicas": 2}, warned=("spec.replicas",)),
    "a broker with what we do not read": Row(
        "RabbitMq",
        {
            "targetVersion": "4.2",
            "podOverride": {"services": [LOAD_BALANCER]},
            "override": {"statefulSet": {"spec": {"template": {"spec": {"hostNetwork": True}}}}},
            "skipPostDeploySteps": True,
            "service": {"type": "LoadBalancer"},
            "secretBackend": {"externalSecret": {"name": "mine"}},
        },
        warned=(
            "spec.targetVersion",
            "spec.podOverride",
            "spec.service",
            "spec.secretBackend",
            "spec.skipPostDeploySteps",
            "spec.override.statefulSet",
        ),
    ),
    "a broker with a long name": Row("RabbitMq", {}, name="a" * 46, refused=("metadata.name",)),
    "a broker with a dot in its name": Row("RabbitMq", {}, name="rabbitmq.cell1", refused=("metadata.name",)),
    "a user of another kind": Row(
        "TransportURL", {"rabbitmqClusterName": "rabbitmq", "userRef": "nova"}, refused=("spec.userRef",)
    ),
    "an exported cache": Row("Memcached", MEMCACHED),
    "a cache without a size": Row("Memcached", {"cacheSize": 0}, refused=("spec.cacheSize",)),
    "a cache with certificates for clients": Row(
        "Memcached",
        {"tls": {"secretName": "cert", "mtls": {"sslVerifyMode": "Require"}}},
        refused=("spec.tls.secretName", "spec.tls.mtls.sslVerifyMode"),
    ),
    "an endpoint of no interface": Row(
        "KeystoneEndpoint",
        {"serviceName": "image", "endpoints": {"other": "http://image.example.org"}},
        refused=("spec.endpoints",),
    ),
}
