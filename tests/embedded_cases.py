"""Parts of Kubernetes' own objects, good and bad: our checks must say of each what a real API server says."""

from dataclasses import dataclass
from typing import Any

from stackwright.api.embedded.pods import DnsConfig, Toleration, ValueSource
from stackwright.api.embedded.services import ServiceSpec
from stackwright.api.embedded.volumes import Volume
from stackwright.api.topology import Affinity

HOST = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Case:
    """A value, and where it is wrong, below the value; None where nothing is.

    `later` says that the server takes it, and that no scheduler or kubelet can do anything with it.
    """

    part: type[Any]
    value: Any
    wrong: str | None = None
    later: bool = False

    @property
    def refused(self) -> bool:
        """Whether the server refuses it."""
        return self.wrong is not None and not self.later

    def __str__(self) -> str:
        return f"{self.part.__name__}-{str(self.value)[:200]}"


def _required(**term: Any) -> dict[str, Any]:
    kind = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"nodeAffinity": {kind: {"nodeSelectorTerms": [term]}}}


def _pods(**term: Any) -> dict[str, Any]:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _expression(**said: Any) -> dict[str, Any]:
    return _required(matchExpressions=[said])


_TERMS = ".nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
_POD_TERM = ".podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"

TOLERATIONS = (
    Case(Toleration, {"operator": "Exists"}),
    Case(Toleration, {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}),
    Case(Toleration, {"key": "example.org/a", "value": "b", "effect": "NoSchedule"}),
    Case(Toleration, {"key": "a", "operator": None, "value": None}),
    Case(Toleration, {"nonsense": 1}, ".nonsense"),
    Case(Toleration, {"key": "a", "effekt": "NoSchedule"}, ".effekt"),
    Case(Toleration, {"key": 5}, ".key"),
    Case(Toleration, {"key": "a b"}, ".key"),
    Case(Toleration, {"key": "a", "value": "b c"}, ".value"),
    Case(Toleration, {"key": "a", "operator": "exists"}, ".operator"),
    Case(Toleration, {"value": "a"}, ".operator"),
    Case(Toleration, {"key": "a", "operator": "Exists", "value": "b"}, ".value"),
    Case(Toleration, {"key": "a", "effect": "Never"}, ".effect"),
    Case(Toleration, {"key": "a", "tolerationSeconds": 5}, ".effect"),
    Case(Toleration, {"key": "a", "effect": "NoExecute", "tolerationSeconds": "5"}, ".tolerationSeconds"),
)

AFFINITIES = (
    Case(Affinity, _expression(key=HOST, operator="In", values=["a"])),
    Case(Affinity, _expression(key="a", operator="Gt", values=["5"])),
    Case(Affinity, _required(matchFields=[{"key": "metadata.name", "operator": "In", "values": ["a"]}])),
    Case(Affinity, _pods(topologyKey=HOST, labelSelector={"matchLabels": {"a": "b"}}, namespaces=["a"])),
    Case(Affinity, {"podAffinity": {}}),
    Case(Affinity, {"nodeAffinty": {}}, ".nodeAffinty"),
    Case(Affinity, {"nodeAffinity": []}, ".nodeAffinity"),
    Case(Affinity, _expression(key="a", operator="In"), f"{_TERMS}.matchExpressions[0].values"),
    Case(Affinity, _expression(key="a", operator="In", values=["b c"]), f"{_TERMS}.matchExpressions[0].values[0]"),
    Case(Affinity, _expression(key="a", operator="in", values=["b"]), f"{_TERMS}.matchExpressions[0].operator"),
    Case(Affinity, _expression(key="a b", operator="Exists"), f"{_TERMS}.matchExpressions[0].key"),
    Case(Affinity, _expression(key="a", operator="Exists", values=["b"]), f"{_TERMS}.matchExpressions[0].values"),
    Case(
        Affinity, _expression(key="a", operator="Lt", values=["b"]), f"{_TERMS}.matchExpressions[0].values", later=True
    ),
    Case(
        Affinity, _required(matchFields=[{"key": "a", "operator": "In", "values": ["b"]}]), f"{_TERMS}.matchFields[0]"
    ),
    Case(Affinity, _pods(labelSelector={}), f"{_POD_TERM}.topologyKey"),
    Case(Affinity, _pods(topologyKey="a b"), f"{_POD_TERM}.topologyKey"),
    Case(Affinity, _pods(topologyKey=HOST, namespaces=["A"]), f"{_POD_TERM}.namespaces[0]"),
    Case(Affinity, _pods(topologyKey=HOST, matchLabelKeys=["a"]), f"{_POD_TERM}.matchLabelKeys"),
    Case(
        Affinity,
        _pods(topologyKey=HOST, labelSelector={"matchLabels": {"a": "b c"}}),
        f"{_POD_TERM}.labelSelector.matchLabels[a]",
    ),
)

VALUE_SOURCES = (
    Case(ValueSource, {"secretKeyRef": {"name": "a", "key": "b", "optional": True}}),
    Case(ValueSource, {"configMapKeyRef": {"name": "a", "key": "b"}}),
    Case(ValueSource, {"fieldRef": {"fieldPath": "metadata.name"}}),
    Case(ValueSource, {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}),
    Case(ValueSource, {"nothing": None}, ".nothing"),
    Case(ValueSource, {"secret": {"name": "a"}}, ".secret"),
    Case(ValueSource, {"secretKeyRef": {"name": "a"}}, ".secretKeyRef.key"),
    Case(ValueSource, {"secretKeyRef": {"name": "a", "key": "b c"}}, ".secretKeyRef.key"),
    Case(ValueSource, {"secretKeyRef": {"key": "b"}}, ".secretKeyRef.name"),
    Case(ValueSource, {"fieldRef": {"fieldPath": ""}}, ".fieldRef.fieldPath"),
    Case(ValueSource, {"secretKeyRef": {"name": "a", "key": "b"}, "fieldRef": {"fieldPath": "metadata.name"}}, ""),
)

DNS = (
    Case(DnsConfig, {"nameservers": ["10.0.0.1", "fd00::1"], "searches": ["a.b", "c_d."]}),
    Case(DnsConfig, {"options": [{"name": "ndots", "value": "5"}]}),
    Case(DnsConfig, {"nameservers": ["here"]}, ".nameservers[0]"),
    Case(DnsConfig, {"nameservers": ["10.0.0.1"] * 4}, ".nameservers"),
    Case(DnsConfig, {"searches": ["a b"]}, ".searches[0]"),
    Case(DnsConfig, {"options": [{"value": "5"}]}, ".options[0].name"),
    Case(DnsConfig, {"nameserver": "10.0.0.1"}, ".nameserver"),
    Case(DnsConfig, {"nameservers": "10.0.0.1"}, ".nameservers"),
)


def _volume(**source: Any) -> dict[str, Any]:
    return {"name": "one", **source}


_CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
_DOWNWARD = {"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}

VOLUMES = (
    Case(Volume, _volume()),
    Case(Volume, _volume(secret={"secretName": "a", "items": [{"key": "b", "path": "c/d", "mode": 0o440}]})),
    Case(Volume, _volume(configMap={"name": "a", "defaultMode": 0o400, "optional": True})),
    Case(Volume, _volume(emptyDir={"medium": "Memory", "sizeLimit": "1Gi"})),
    Case(Volume, _volume(emptyDir={})),
    Case(Volume, _volume(hostPath={"path": "/dev", "type": "Directory"})),
    Case(Volume, _volume(persistentVolumeClaim={"claimName": "a", "readOnly": True})),
    Case(Volume, _volume(nfs={"server": "a", "path": "/b"})),
    Case(Volume, _volume(cephfs={"monitors": ["a"], "secretRef": {"name": "b"}})),
    Case(Volume, _volume(rbd={"monitors": ["a"], "image": "b"})),
    Case(Volume, _volume(iscsi={"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:a", "lun": 0})),
    Case(Volume, _volume(fc={"targetWWNs": ["50060e801049cfd1"], "lun": 0})),
    Case(Volume, _volume(csi={"driver": "a.example.org", "volumeAttributes": {"a": "b"}})),
    Case(Volume, _volume(image={"reference": "a/b:1", "pullPolicy": "Always"})),
    Case(Volume, _volume(ephemeral={"volumeClaimTemplate": _CLAIM})),
    Case(Volume, _volume(downwardAPI={"items": [_DOWNWARD]})),
    Case(
        Volume,
        _volume(
            projected={
                "sources": [
                    {"secret": {"name": "a"}},
                    {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
                ]
            }
        ),
    ),
    Case(Volume, _volume(awsElasticBlockStore={"volumeID": "a"})),
    Case(Volume, _volume(azureFile={"secretName": "a", "shareName": "b"})),
    Case(Volume, {"emptyDir": {}}, ".name"),
    Case(Volume, {"name": "A B", "emptyDir": {}}, ".name"),
    Case(Volume, {"name": "a" * 64, "emptyDir": {}}, ".name"),
    Case(Volume, _volume(secrets={"secretName": "a"}), ".secrets"),
    Case(Volume, _volume(secret={"name": "a"}), ".secret.name"),
    Case(Volume, _volume(secret={}), ".secret.secretName"),
    Case(Volume, _volume(secret="a"), ".secret"),
    Case(Volume, _volume(secret={"secretName": "a", "defaultMode": 0o1000}), ".secret.defaultMode"),
    Case(Volume, _volume(secret={"secretName": "a", "defaultMode": "0440"}), ".secret.defaultMode"),
    Case(Volume, _volume(secret={"secretName": "a", "items": [{"key": "b"}]}), ".secret.items[0].path"),
    Case(Volume, _volume(secret={"secretName": "a", "items": [{"key": "b", "path": "/c"}]}), ".secret.items[0].path"),
    Case(Volume, _volume(configMap={"name": "a", "items": [{"key": "b", "path": "../c"}]}), ".configMap.items[0].path"),
    Case(Volume, _volume(configMap={"name": ""}), ".configMap.name"),
    Case(Volume, _volume(emptyDir={"medium": "Disk"}), ".emptyDir.medium", later=True),
    Case(Volume, _volume(emptyDir={"sizeLimit": "-1"}), ".emptyDir.sizeLimit"),
    Case(Volume, _volume(emptyDir={"sizeLimit": "much"}), ".emptyDir.sizeLimit"),
    Case(Volume, _volume(hostPath={"path": "/a/../b"}), ".hostPath.path"),
    Case(Volume, _volume(hostPath={"path": "/a", "type": "Folder"}), ".hostPath.type"),
    Case(Volume, _volume(nfs={"server": "a", "path": "b"}), ".nfs.path"),
    Case(Volume, _volume(nfs={"path": "/b"}), ".nfs.server"),
    Case(Volume, _volume(cephfs={"monitors": []}), ".cephfs.monitors"),
    Case(Volume, _volume(iscsi={"targetPortal": "a", "iqn": "b", "lun": 0}), ".iscsi.iqn"),
    Case(Volume, _volume(csi={"driver": "a_b"}), ".csi.driver"),
    Case(Volume, _volume(image={"pullPolicy": "Sometimes", "reference": "a"}), ".image.pullPolicy"),
    Case(Volume, _volume(image={}), ".image.reference"),
    Case(Volume, _volume(ephemeral={}), ".ephemeral.volumeClaimTemplate"),
    Case(
        Volume,
        _volume(ephemeral={"volumeClaimTemplate": {"spec": {"accessModes": [], "resources": {}}}}),
        ".ephemeral.volumeClaimTemplate.spec.accessModes",
    ),
    Case(Volume, _volume(downwardAPI={"items": [{"path": "a"}]}), ".downwardAPI.items[0]"),
    Case(Volume, _volume(projected={"sources": [{}]})),
    Case(
        Volume,
        _volume(projected={"sources": [{"serviceAccountToken": {"path": "a", "expirationSeconds": 5}}]}),
        ".projected.sources[0].serviceAccountToken.expirationSeconds",
    ),
    Case(Volume, _volume(emptyDir={}, secret={"secretName": "a"}), ""),
)

SERVICES = (
    Case(ServiceSpec, {"type": "NodePort", "externalTrafficPolicy": "Local"}),
    Case(ServiceSpec, {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8"]}),
    Case(ServiceSpec, {"type": "LoadBalancer", "loadBalancerClass": "example.org/a"}),
    Case(ServiceSpec, {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}}),
    Case(ServiceSpec, {"publishNotReadyAddresses": True, "internalTrafficPolicy": "Cluster"}),
    Case(ServiceSpec, {"ports": [{"port": 5672, "name": "a"}, {"port": 5672, "name": "b", "protocol": "UDP"}]}),
    Case(ServiceSpec, {"ports": [{"port": 5672, "targetPort": "amqp"}]}),
    Case(ServiceSpec, {"typ": "NodePort"}, ".typ"),
    Case(ServiceSpec, {"type": "Nodeport"}, ".type"),
    Case(ServiceSpec, {"selector": {"a": 1}}, ".selector[a]"),
    Case(ServiceSpec, {"clusterIP": "here"}, ".clusterIP"),
    Case(ServiceSpec, {"externalIPs": ["here"]}, ".externalIPs[0]"),
    Case(ServiceSpec, {"externalTrafficPolicy": "Local"}, ".externalTrafficPolicy"),
    Case(ServiceSpec, {"loadBalancerSourceRanges": ["10.0.0.0/8"]}, ".loadBalancerSourceRanges"),
    Case(
        ServiceSpec, {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0"]}, ".loadBalancerSourceRanges[0]"
    ),
    Case(ServiceSpec, {"type": "LoadBalancer", "loadBalancerClass": "a b"}, ".loadBalancerClass"),
    Case(ServiceSpec, {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}}),
    Case(ServiceSpec, {"ipFamilyPolicy": "Both"}, ".ipFamilyPolicy"),
    Case(ServiceSpec, {"ports": [{"port": 0}]}, ".ports[0].port"),
    Case(ServiceSpec, {"ports": [{"port": "5672"}]}, ".ports[0].port"),
    Case(ServiceSpec, {"ports": [{"port": 5672, "name": "A"}]}, ".ports[0].name"),
    Case(ServiceSpec, {"ports": [{"port": 1, "name": "a"}, {"port": 2}]}, ".ports[1].name"),
    Case(ServiceSpec, {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]}, ".ports[1].port"),
    Case(ServiceSpec, {"ports": [{"port": 1, "nodePort": 30000}]}, ".ports[0].nodePort"),
    Case(ServiceSpec, {"healthCheckNodePort": 30001, "type": "NodePort"}, ".healthCheckNodePort"),
)

CASES = (*TOLERATIONS, *AFFINITIES, *VALUE_SOURCES, *DNS, *VOLUMES, *SERVICES)
