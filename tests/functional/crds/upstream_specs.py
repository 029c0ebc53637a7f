"""Specs of openstack-k8s-operators, in our own words, as they are exported from a cluster: with all defaults."""

from stackwright.kube.resource import JsonObject

LOAD_BALANCER = {"metadata": {"annotations": {"metallb.universe.tf/address-pool": "internalapi"}}}
OVERRIDE = {"service": {"internal": {**LOAD_BALANCER, "spec": {"type": "LoadBalancer"}}}}
NO_TLS: JsonObject = {"api": {"internal": {}, "public": {}}}
# What upstream's webhook writes into every section with an API.
ROUTE = {"route": {"metadata": {"annotations": {"haproxy.router.openshift.io/timeout": "60s"}}}}
# What lifetimes a control plane gets by default.
LIFETIMES = {"ca": {"duration": "87600h0m0s"}, "cert": {"duration": "43800h0m0s"}}
POD_LEVEL = {"internal": LIFETIMES, "libvirt": LIFETIMES, "ovn": LIFETIMES}
TLS_OFF = {"ingress": {"enabled": False, **LIFETIMES}, "podLevel": {"enabled": False, **POD_LEVEL}}

KEYSTONE: JsonObject = {
    "adminProject": "admin",
    "adminUser": "admin",
    "apiTimeout": 60,
    "databaseAccount": "keystone",
    "databaseInstance": "openstack",
    "enableSecureRBAC": True,
    "fernetMaxActiveKeys": 5,
    "fernetRotationDays": 1,
    "httpdCustomization": {"processNumber": 3},
    "memcachedInstance": "memcached",
    "override": OVERRIDE,
    "passwordSelectors": {"admin": "AdminPassword"},
    "preserveJobs": False,
    "rabbitMqClusterName": "rabbitmq",
    "region": "regionOne",
    "replicas": 1,
    "resources": {},
    "secret": "osp-secret",
    "tls": NO_TLS,
    "trustFlushArgs": "",
    "trustFlushSchedule": "1 * * * *",
    "trustFlushSuspend": False,
}
PLACEMENT: JsonObject = {
    "apiTimeout": 60,
    "customServiceConfig": "",
    "databaseAccount": "placement",
    "databaseInstance": "openstack",
    "override": OVERRIDE,
    "passwordSelectors": {"service": "PlacementPassword"},
    "preserveJobs": False,
    "replicas": 1,
    "resources": {},
    "secret": "osp-secret",
    "serviceUser": "placement",
    "tls": NO_TLS,
}
GLANCE: JsonObject = {
    "apiTimeout": 60,
    "databaseAccount": "glance",
    "databaseInstance": "openstack",
    "dbPurge": {"age": 30, "schedule": "1 0 * * *"},
    "glanceAPIs": {
        "default": {
            "apiTimeout": 60,
            "containerImage": "registry.example.org/openstack-glance-api:current",
            "imageCache": {"cleanerScheduler": "*/30 * * * *", "prunerScheduler": "1 0 * * *", "size": ""},
            "override": OVERRIDE,
            "replicas": 1,
            "resources": {},
            "storage": {},
            "tls": NO_TLS,
            "type": "single",
        }
    },
    "imageCache": {"cleanerScheduler": "", "prunerScheduler": "", "size": ""},
    "keystoneEndpoint": "default",
    "memcachedInstance": "memcached",
    "passwordSelectors": {"service": "GlancePassword"},
    "preserveJobs": False,
    "quotas": {"imageCountTotal": 0, "imageCountUpload": 0, "imageSizeTotal": 0, "imageStageTotal": 0},
    "serviceUser": "glance",
    "storage": {"storageClass": "nfs", "storageRequest": "10G"},
}
BARBICAN: JsonObject = {
    "apiTimeout": 90,
    "barbicanAPI": {
        "apiTimeout": 0,
        "enableSecureRBAC": True,
        "override": OVERRIDE,
        "replicas": 1,
        "resources": {},
        "tls": NO_TLS,
    },
    "barbicanKeystoneListener": {"replicas": 1, "resources": {}},
    "barbicanWorker": {"replicas": 1, "resources": {}},
    "databaseAccount": "barbican",
    "databaseInstance": "openstack",
    "globalDefaultSecretStore": "simple_crypto",
    "passwordSelectors": {
        "pkcs11pin": "PKCS11Pin",
        "service": "BarbicanPassword",
        "simplecryptokek": "BarbicanSimpleCryptoKEK",
    },
    "preserveJobs": False,
    "rabbitMqClusterName": "rabbitmq",
    "secret": "osp-secret",
    "serviceAccount": "",
    "serviceUser": "barbican",
    "simpleCryptoBackendSecret": "osp-secret",
}
NEUTRON: JsonObject = {
    "apiTimeout": 120,
    "auth": {},
    "corePlugin": "ml2",
    "customServiceConfig": "[ml2_type_vlan]\nnetwork_vlan_ranges = datacentre:1:1000\n",
    "databaseAccount": "neutron",
    "databaseInstance": "openstack",
    "memcachedInstance": "memcached",
    "messagingBus": {"cluster": "rabbitmq"},
    "ml2MechanismDrivers": ["ovn"],
    "override": OVERRIDE,
    "passwordSelectors": {"service": "NeutronPassword"},
    "preserveJobs": False,
    "rabbitMqClusterName": "rabbitmq",
    "replicas": 1,
    "resources": {},
    "secret": "osp-secret",
    "serviceUser": "neutron",
    "tls": {**NO_TLS, "ovn": {}},
}
OVN_DATABASE: JsonObject = {
    "dbType": "NB",
    "electionTimer": 10000,
    "exporterImage": "",
    "inactivityProbe": 60000,
    "logLevel": "info",
    "metricsEnabled": True,
    "metricsTLS": {},
    "networkAttachment": "",
    "nodeSelector": {},
    "override": {},
    "probeIntervalToActive": 60000,
    "replicas": 3,
    "resources": {},
    "storageClass": "nfs",
    "storageRequest": "10G",
    "tls": {},
}
OVN_NORTHD: JsonObject = {
    "exporterImage": "",
    "logLevel": "info",
    "metricsEnabled": True,
    "metricsTLS": {},
    "nThreads": 1,
    "replicas": 1,
    "resources": {},
    "tls": {},
}
OVN_CONTROLLER: JsonObject = {
    "external-ids": {
        "availability-zones": [],
        "enable-chassis-as-gateway": True,
        "ovn-bridge": "br-int",
        "ovn-encap-tos": "0",
        "ovn-encap-type": "geneve",
        "ovn-remote-probe-interval": 60000,
    },
    "metricsEnabled": True,
    "metricsTLS": {},
    "nicMappings": {"datacentre": "enp6s0", "storage": "enp7s0"},
    "ovnLogLevel": "info",
    "ovsLogLevel": "info",
    "resources": {},
    "tls": {},
}
OVN: JsonObject = {
    "enabled": True,
    "template": {
        "ovnController": OVN_CONTROLLER,
        "ovnDBCluster": {"ovndbcluster-nb": OVN_DATABASE, "ovndbcluster-sb": {**OVN_DATABASE, "dbType": "SB"}},
        "ovnNorthd": OVN_NORTHD,
    },
}
IMAGE = "registry.example.org/openstack-ovn:current"
GALERA: JsonObject = {
    "logToDisk": False,
    "replicas": 1,
    "secret": "osp-secret",
    "storageClass": "nfs",
    "storageRequest": "500M",
    "tls": {},
}
RABBITMQ: JsonObject = {
    "delayStartSeconds": 30,
    "override": {"service": {**LOAD_BALANCER, "spec": {"type": "LoadBalancer"}}},
    "persistence": {"storage": "10Gi"},
    "queueType": "Quorum",
    "rabbitmq": {},
    "replicas": 1,
    "resources": {"limits": {"cpu": "2", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}},
    "secretBackend": {"externalSecret": {}},
    "service": {"type": "ClusterIP"},
    "terminationGracePeriodSeconds": 604800,
    "tls": {},
}
MEMCACHED: JsonObject = {"cacheSize": 9932, "maxConn": 8192, "replicas": 1, "tls": {"mtls": {"authCertSecret": {}}}}

# Sections of services that are to come, as an export has them: with fields that only those services know.
TO_COME: JsonObject = {
    "applicationCredential": {"enabled": False, "expirationDays": 730, "gracePeriodDays": 364},
    "cinder": {
        "apiOverride": ROUTE,
        "enabled": True,
        "template": {
            "cinderVolumes": {"nfs": {"replicas": 1, "networkAttachments": ["storage"]}},
            "secret": "osp-secret",
        },
        "uniquePodNames": False,
    },
    "designate": {"enabled": False, "template": {"designateBackendbind9": {"storageRequest": "10G"}}},
    "heat": {"cnfAPIOverride": ROUTE, "enabled": False, "template": {"heatEngine": {"replicas": 1}}},
    "horizon": {"apiOverride": {"route": {}}, "enabled": True, "template": {"extraMounts": [], "replicas": 1}},
    "ironic": {"enabled": False, "inspectorOverride": ROUTE, "template": {"ironicConductors": [{"replicas": 1}]}},
    "manila": {"enabled": False, "template": {"manilaShares": {"share1": {"replicas": 1}}}},
    "nova": {
        "apiOverride": {"route": {}},
        "cellOverride": {"cell1": {"noVNCProxy": {"route": {}}}},
        "enabled": True,
        "template": {"cellTemplates": {"cell0": {"hasAPIAccess": True}, "cell1": {"hasAPIAccess": True}}},
    },
    "octavia": {"enabled": False, "template": {"lbMgmtNetwork": {"manageLbMgmtNetworks": True}}},
    "openstackclient": {"template": {"openStackConfigMap": "openstack-config"}},
    "ovn": OVN,
    "redis": {"enabled": False, "templates": {"designate-redis": {"replicas": 1}}},
    "swift": {"enabled": True, "proxyOverride": {"route": {}}, "template": {"swiftRing": {"ringReplicas": 1}}},
    "telemetry": {"aodhApiOverride": ROUTE, "enabled": True, "template": {"ceilometer": {"enabled": True}}},
    "watcher": {"enabled": False, "template": {"apiServiceTemplate": {"replicas": 1}}},
}
# Of those above, the ones that are asked for.
ENABLED = ("cinder", "horizon", "openstackclient", "swift", "telemetry")
TURNED_OFF: JsonObject = {name: {**said, "enabled": False} for name, said in TO_COME.items()}

EXPORTED: JsonObject = {
    "secret": "osp-secret",
    "storageClass": "nfs",
    "tls": TLS_OFF,
    "barbican": {"apiOverride": ROUTE, "enabled": True, "template": BARBICAN},
    "dns": {"enabled": True, "template": {"options": [{"key": "server", "values": ["192.0.2.1"]}], "replicas": 1}},
    "galera": {"enabled": True, "templates": {"openstack": GALERA, "openstack-cell1": GALERA}},
    "glance": {
        "apiOverrides": {"default": ROUTE},
        "enabled": True,
        # The umbrella fills an empty one.
        "template": {**GLANCE, "secret": ""},
        "uniquePodNames": False,
    },
    "keystone": {"apiOverride": ROUTE, "enabled": True, "template": KEYSTONE},
    "memcached": {"enabled": True, "templates": {"memcached": MEMCACHED}},
    "neutron": {"apiOverride": ROUTE, "enabled": True, "template": NEUTRON},
    "placement": {"apiOverride": {"route": {}}, "enabled": True, "template": PLACEMENT},
    "rabbitmq": {"enabled": True, "templates": {"rabbitmq": RABBITMQ, "rabbitmq-cell1": RABBITMQ}},
}
ROUTES = (
    "spec.barbican.apiOverride.route",
    "spec.glance.apiOverrides[default].route",
    "spec.keystone.apiOverride.route",
    "spec.neutron.apiOverride.route",
)
