"""The volumes of a pod, by their source. Fields are named as in Kubernetes, which has all of these in version v1."""

from typing import Annotated, ClassVar, Literal

from stackwright.api.base import Quantity, max_length, maximum, min_items, min_length, minimum, pattern
from stackwright.api.embedded.marker import EmbeddedPart
from stackwright.api.embedded.pods import FieldOfPod, KeyName, Required, ResourceOfContainer
from stackwright.api.forms import Form, Labels
from stackwright.api.topology import LabelSelector

_Mode = Annotated[int | None, minimum(0), maximum(0o777)]
_Inside = Annotated[str, min_length(1), Form.RELATIVE_PATH]
_Absolute = Annotated[str, min_length(1), pattern("^/")]
# How Kubernetes names a driver of volumes.
_DRIVER = "^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$"
_AccessMode = Literal["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]


class SecretName(EmbeddedPart, frozen=True, kw_only=True):
    """Names a Secret of the same namespace."""

    name: str = ""


class Item(EmbeddedPart, frozen=True, kw_only=True):
    """A key, and the file that it becomes."""

    key: KeyName
    path: _Inside
    mode: _Mode = None


class SecretVolume(EmbeddedPart, frozen=True, kw_only=True):
    """The keys of a Secret as files."""

    secretName: Required
    items: tuple[Item, ...] = ()
    defaultMode: _Mode = None
    optional: bool | None = None


class ConfigMapVolume(EmbeddedPart, frozen=True, kw_only=True):
    """The keys of a ConfigMap as files."""

    name: Required
    items: tuple[Item, ...] = ()
    defaultMode: _Mode = None
    optional: bool | None = None


class DownwardFile(EmbeddedPart, frozen=True, kw_only=True):
    """A field of the pod as a file."""

    one_of: ClassVar[tuple[str, ...]] = ("fieldRef", "resourceFieldRef")

    path: _Inside
    fieldRef: FieldOfPod | None = None
    resourceFieldRef: ResourceOfContainer | None = None
    mode: _Mode = None


class DownwardVolume(EmbeddedPart, frozen=True, kw_only=True):
    """Fields of the pod as files."""

    items: tuple[DownwardFile, ...] = ()
    defaultMode: _Mode = None


class ProjectedKeys(EmbeddedPart, frozen=True, kw_only=True):
    """The keys of a Secret or a ConfigMap, as one source among others."""

    name: Required
    items: tuple[Item, ...] = ()
    optional: bool | None = None


class ProjectedDownward(EmbeddedPart, frozen=True, kw_only=True):
    """Fields of the pod, as one source among others."""

    items: tuple[DownwardFile, ...] = ()


class ProjectedToken(EmbeddedPart, frozen=True, kw_only=True):
    """A token of the pod's account."""

    path: _Inside
    audience: str = ""
    expirationSeconds: Annotated[int | None, minimum(600), maximum(2**32)] = None


class ProjectedTrust(EmbeddedPart, frozen=True, kw_only=True):
    """Certificate authorities that the cluster publishes."""

    one_of: ClassVar[tuple[str, ...]] = ("name", "signerName")

    path: _Inside
    name: str | None = None
    signerName: str | None = None
    labelSelector: LabelSelector | None = None
    optional: bool | None = None


class ProjectedCertificate(EmbeddedPart, frozen=True, kw_only=True):
    """A certificate that the kubelet gets for the pod."""

    signerName: Required
    keyType: Required
    maxExpirationSeconds: int | None = None
    credentialBundlePath: str = ""
    keyPath: str = ""
    certificateChainPath: str = ""
    userAnnotations: Annotated[dict[str, str], Form.ANNOTATIONS] = {}


class ProjectedSource(EmbeddedPart, frozen=True, kw_only=True):
    """One source of a projected volume."""

    one_of: ClassVar[tuple[str, ...]] = (
        "secret",
        "configMap",
        "downwardAPI",
        "serviceAccountToken",
        "clusterTrustBundle",
        "podCertificate",
    )
    may_be_none: ClassVar[bool] = True

    secret: ProjectedKeys | None = None
    configMap: ProjectedKeys | None = None
    downwardAPI: ProjectedDownward | None = None
    serviceAccountToken: ProjectedToken | None = None
    clusterTrustBundle: ProjectedTrust | None = None
    podCertificate: ProjectedCertificate | None = None


class ProjectedVolume(EmbeddedPart, frozen=True, kw_only=True):
    """Several sources in one directory."""

    sources: tuple[ProjectedSource, ...] = ()
    defaultMode: _Mode = None


class EmptyVolume(EmbeddedPart, frozen=True, kw_only=True):
    """An empty directory that goes with the pod."""

    medium: Annotated[str, pattern("^(Memory|HugePages(-[0-9]+[KMGTPE]i)?)?$")] = ""
    sizeLimit: Annotated[Quantity | None, Form.QUANTITY] = None


class HostVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A path of the node."""

    path: Annotated[str, min_length(1), Form.NO_STEPS_UP]
    type: Literal[
        "", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"
    ] = ""


class ClaimVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A PersistentVolumeClaim."""

    claimName: Required
    readOnly: bool = False


class NfsVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A directory of an NFS server."""

    server: Required
    path: _Absolute
    readOnly: bool = False


class CsiVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A volume of a CSI driver that goes with the pod."""

    driver: Annotated[str, min_length(1), max_length(63), pattern(_DRIVER)]
    readOnly: bool | None = None
    fsType: str | None = None
    volumeAttributes: dict[str, str] = {}
    nodePublishSecretRef: SecretName | None = None


class ImageVolume(EmbeddedPart, frozen=True, kw_only=True):
    """The files of an image."""

    reference: Annotated[str, min_length(1), Form.IMAGE]
    pullPolicy: Literal["Always", "Never", "IfNotPresent", ""] = ""


class CephVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A directory of CephFS."""

    monitors: Annotated[tuple[str, ...], min_items(1)]
    path: str = ""
    user: str = ""
    secretFile: str = ""
    secretRef: SecretName | None = None
    readOnly: bool = False


class RbdVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A block device of Ceph."""

    monitors: Annotated[tuple[str, ...], min_items(1)]
    image: Required
    fsType: str = ""
    pool: str = ""
    user: str = ""
    keyring: str = ""
    secretRef: SecretName | None = None
    readOnly: bool = False


class IscsiVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A device by iSCSI."""

    targetPortal: Required
    iqn: Annotated[str, min_length(1), pattern(r"^(iqn\.|eui\.|naa\.)")]
    lun: Annotated[int, minimum(0), maximum(255)]
    fsType: str = ""
    iscsiInterface: str = ""
    readOnly: bool = False
    portals: tuple[str, ...] = ()
    chapAuthDiscovery: bool = False
    chapAuthSession: bool = False
    secretRef: SecretName | None = None
    initiatorName: str | None = None


class FibreVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A device by Fibre Channel."""

    targetWWNs: tuple[str, ...] = ()
    lun: Annotated[int | None, minimum(0), maximum(255)] = None
    fsType: str = ""
    readOnly: bool = False
    wwids: tuple[str, ...] = ()


class CinderVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A volume of Cinder."""

    volumeID: Required
    fsType: str = ""
    readOnly: bool = False
    secretRef: SecretName | None = None


class FlexVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A volume of a driver that the node has as a program."""

    driver: Required
    fsType: str = ""
    secretRef: SecretName | None = None
    readOnly: bool = False
    options: dict[str, str] = {}


class AwsVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A disk of AWS."""

    volumeID: Required
    fsType: str = ""
    partition: Annotated[int, minimum(0), maximum(255)] = 0
    readOnly: bool = False


class GceVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A disk of Google's cloud."""

    pdName: Required
    fsType: str = ""
    partition: Annotated[int, minimum(0), maximum(255)] = 0
    readOnly: bool = False


class AzureDiskVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A disk of Azure."""

    diskName: Required
    diskURI: Required
    cachingMode: Literal["None", "ReadOnly", "ReadWrite"] | None = None
    kind: Literal["Shared", "Dedicated", "Managed"] | None = None
    fsType: str | None = None
    readOnly: bool | None = None


class AzureFileVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A share of Azure."""

    secretName: Required
    shareName: Required
    readOnly: bool = False


class PortworxVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A volume of Portworx."""

    volumeID: Required
    fsType: str = ""
    readOnly: bool = False


class VsphereVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A disk of vSphere."""

    volumePath: Required
    fsType: str = ""
    storagePolicyName: str = ""
    storagePolicyID: str = ""


class ClaimResources(EmbeddedPart, frozen=True, kw_only=True):
    """How much a claim asks for."""

    requests: dict[str, Annotated[Quantity, Form.QUANTITY]] = {}
    limits: dict[str, Annotated[Quantity, Form.QUANTITY]] = {}


class ClaimSource(EmbeddedPart, frozen=True, kw_only=True):
    """What a claim is filled from."""

    kind: Required
    name: Required
    apiGroup: str | None = None
    namespace: str | None = None


class ClaimSpec(EmbeddedPart, frozen=True, kw_only=True):
    """The spec of a PersistentVolumeClaim."""

    accessModes: Annotated[tuple[_AccessMode, ...], min_items(1)]
    resources: ClaimResources
    selector: LabelSelector | None = None
    volumeName: str = ""
    storageClassName: str | None = None
    volumeMode: Literal["Filesystem", "Block"] | None = None
    dataSource: ClaimSource | None = None
    dataSourceRef: ClaimSource | None = None
    volumeAttributesClassName: str | None = None


class ClaimMetadata(EmbeddedPart, frozen=True, kw_only=True):
    """What a claim is labelled with."""

    labels: Labels = {}
    annotations: Annotated[dict[str, str], Form.ANNOTATIONS] = {}


class ClaimTemplate(EmbeddedPart, frozen=True, kw_only=True):
    """A PersistentVolumeClaim that goes with the pod."""

    spec: ClaimSpec
    metadata: ClaimMetadata | None = None


class EphemeralVolume(EmbeddedPart, frozen=True, kw_only=True):
    """A claim that is made for the pod."""

    volumeClaimTemplate: ClaimTemplate


class Volume(EmbeddedPart, frozen=True, kw_only=True):
    """A volume of a pod: a name, and one source.

    Sources that no kubelet mounts any more are left out: flocker, gitRepo, glusterfs, photonPersistentDisk, quobyte,
    scaleIO and storageos.
    """

    one_of: ClassVar[tuple[str, ...]] = (
        "configMap",
        "secret",
        "projected",
        "downwardAPI",
        "emptyDir",
        "persistentVolumeClaim",
        "ephemeral",
        "csi",
        "nfs",
        "cephfs",
        "rbd",
        "iscsi",
        "fc",
        "hostPath",
        "image",
        "cinder",
        "awsElasticBlockStore",
        "gcePersistentDisk",
        "azureDisk",
        "azureFile",
        "flexVolume",
        "portworxVolume",
        "vsphereVolume",
    )

    # Kubernetes then takes an empty directory.
    may_be_none: ClassVar[bool] = True

    name: Annotated[str, min_length(1), max_length(63), pattern("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
    configMap: ConfigMapVolume | None = None
    secret: SecretVolume | None = None
    projected: ProjectedVolume | None = None
    downwardAPI: DownwardVolume | None = None
    emptyDir: EmptyVolume | None = None
    persistentVolumeClaim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    csi: CsiVolume | None = None
    nfs: NfsVolume | None = None
    cephfs: CephVolume | None = None
    rbd: RbdVolume | None = None
    iscsi: IscsiVolume | None = None
    fc: FibreVolume | None = None
    hostPath: HostVolume | None = None
    image: ImageVolume | None = None
    cinder: CinderVolume | None = None
    awsElasticBlockStore: AwsVolume | None = None
    gcePersistentDisk: GceVolume | None = None
    azureDisk: AzureDiskVolume | None = None
    azureFile: AzureFileVolume | None = None
    flexVolume: FlexVolume | None = None
    portworxVolume: PortworxVolume | None = None
    vsphereVolume: VsphereVolume | None = None
