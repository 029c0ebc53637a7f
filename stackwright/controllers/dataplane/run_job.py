"""The Job of a run: a pod of the execution image with all inputs where ansible-runner looks for them. Pure.

    /runner/inventory/hosts.yaml      the inventory
    /runner/project/playbook.yaml     the text of a playbook
    /runner/env/ssh_key, extravars, cmdline, settings
    /runner/env/known_hosts, recorded_hosts   keys of machines: the user's, and those that were recorded
    /var/lib/openstack/configs/TYPE   the files of the service
    /runner/hidden/*                  what must not be shown: secret variables, and all Secrets of the pod once more

A pod that was killed is replaced, and not before it is gone; one that ended by itself has had its say.
"""

import json
from collections.abc import Iterable, Iterator

import msgspec

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.base import JsonObject
from stackwright.api.dataplane_service import DataSource
from stackwright.blueprint.dataplane.host_keys import KNOWN_HOSTS
from stackwright.blueprint.dataplane.inputs import list_mounted
from stackwright.blueprint.dataplane.inventory import INVENTORY_FILE
from stackwright.controllers.dataplane.preparation import SSH_KEY
from stackwright.kube import fields
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.resource import owner_reference

CONTAINER = "ansible"
# The label of everything that belongs to a run, and the annotation with the nodes that it touches.
RUN_LABEL = "ansibleee.openstack.org/run"
NODES_ANNOTATION = "ansibleee.openstack.org/nodes"
# Where their machines are reached: another node may stand for one of them by now.
MACHINES_ANNOTATION = "ansibleee.openstack.org/machines"
NETWORKS_ANNOTATION = "k8s.v1.cni.cncf.io/networks"
# The files of a run that are no secrets.
PLAYBOOK, VARIABLES, OPTIONS, SETTINGS = "playbook.yaml", "extravars", "cmdline", "settings"
# Seconds after which a run is given up that says nothing, and one that does not end: it holds its nodes.
TIMEOUTS = {"idle_timeout": 900, "job_timeout": 7200}
# The key of the inventory's Secret with the values that must not stand in a message; playbooks do not get it.
HIDDEN_KEY = "hidden.json"
# The keys of machines that were recorded.
RECORDED_HOSTS = "recorded_hosts"
CONFIGURATION = "/var/lib/openstack/configs"
# The user in the execution image. The kubelet ends a container by one of these codes.
USER, KILLED = 1001, [137, 143]


def name_files(run: OpenStackAnsibleEE) -> str:
    """Return the name of the ConfigMap with a run's playbook, variables and options."""
    return f"{run.metadata.name}-files"


def is_for_run(there: ConfigMap, run: OpenStackAnsibleEE, ours: str) -> bool:
    """Return whether a ConfigMap was made for the files of a run. `ours` is the field manager by which we apply.

    What an earlier run of the same name left is taken up, even if it has no owner any more.
    """
    owner = there.metadata.controller
    if owner is not None:
        return (owner.kind, owner.name) == (run.kind.name, run.metadata.name)
    managers = {entry.manager for entry in there.metadata.managedFields}
    return ours in managers and there.metadata.labels.get(RUN_LABEL) == run.metadata.name


def describe_files(run: OpenStackAnsibleEE, known_hosts: str = "") -> JsonObject:
    """Return the ConfigMap with what a run's own spec says, and its machines' keys; there are no secrets in it."""
    spec = run.spec
    data = {SETTINGS: json.dumps(TIMEOUTS)}
    if spec.cmdLine:
        data[OPTIONS] = spec.cmdLine
    if spec.extraVars:
        data[VARIABLES] = json.dumps(spec.extraVars, sort_keys=True)
    if spec.playbookContents:
        data[PLAYBOOK] = spec.playbookContents
    if not spec.inventorySecretName:
        data[INVENTORY_FILE] = spec.inventory
    if known_hosts:
        data[RECORDED_HOSTS] = known_hosts
    return {"metadata": _metadata(run, name_files(run)), "data": data}


def describe_job(run: OpenStackAnsibleEE, image: str) -> JsonObject:
    """Return the Job of a run."""
    spec = run.spec
    annotations = {NODES_ANNOTATION: ",".join(entry.name for entry in spec.nodes)}
    if addresses := sorted({entry.address for entry in spec.nodes if entry.address}):
        annotations[MACHINES_ANNOTATION] = ",".join(addresses)
    if spec.networkAttachments:
        annotations[NETWORKS_ANNOTATION] = json.dumps([{"name": name} for name in spec.networkAttachments])
    pod: JsonObject = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": bool(spec.serviceAccountName),
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(run, image)],
        "volumes": [*_volumes(run), *(volume for entry in spec.extraMounts for volume in entry.volumes)],
    }
    if spec.serviceAccountName:
        pod["serviceAccountName"] = spec.serviceAccountName
    if spec.dnsConfig:
        pod["dnsConfig"] = spec.dnsConfig
    return {
        "metadata": _metadata(run, run.metadata.name),
        "spec": {
            "backoffLimit": spec.backoffLimit,
            "podReplacementPolicy": "Failed",
            # Nothing is ignored: a Job that is sealed (releases.py) has to fail with its pod, whoever killed that.
            "podFailurePolicy": {
                "rules": [
                    {
                        "action": "FailJob",
                        "onExitCodes": {"containerName": CONTAINER, "operator": "NotIn", "values": KILLED},
                    },
                ]
            },
            "template": {
                "metadata": {"labels": {RUN_LABEL: run.metadata.name}, "annotations": annotations},
                "spec": pod,
            },
        },
    }


def _metadata(run: OpenStackAnsibleEE, name: str) -> JsonObject:
    return {
        "name": name,
        "namespace": run.metadata.namespace,
        "labels": {RUN_LABEL: run.metadata.name},
        "ownerReferences": [owner_reference(run)],
    }


def _container(run: OpenStackAnsibleEE, image: str) -> JsonObject:
    spec = run.spec
    what = ["-r", spec.role] if spec.role else ["-p", spec.playbook or PLAYBOOK]
    mounts = [
        {"name": "inventory", "mountPath": "/runner/inventory", "readOnly": True},
        {"name": "env", "mountPath": "/runner/env", "readOnly": True},
        {"name": "artifacts", "mountPath": "/runner/artifacts"},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  a volume of the pod's own
    ]
    if spec.playbookContents:
        mounts.append({"name": "project", "mountPath": "/runner/project", "readOnly": True})
    if spec.dataSources:
        mounts.append({"name": "configs", "mountPath": f"{CONFIGURATION}/{spec.serviceType}", "readOnly": True})
    mounts += [
        {"name": volume["name"], "mountPath": f"/runner/hidden/{volume['name']}", "readOnly": True}
        for volume in _hidden_volumes(run)
    ]
    return {
        "name": CONTAINER,
        "image": image,
        "args": ["ansible-runner", "run", "/runner", *what, "-i", run.metadata.name],
        "env": [{"name": "HOME", "value": "/tmp"}, *(msgspec.to_builtins(entry) for entry in spec.env)],  # noqa: S108  as above
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            *mounts,
            *(msgspec.to_builtins(mount) for entry in spec.extraMounts for mount in entry.mounts),
        ],
    }


def _volumes(run: OpenStackAnsibleEE) -> Iterable[JsonObject]:
    spec = run.spec
    own = name_files(run)
    inventory = _items(INVENTORY_FILE)
    if spec.inventorySecretName:
        yield {"name": "inventory", "secret": {"secretName": spec.inventorySecretName, **inventory}}
    else:
        yield {"name": "inventory", "configMap": {"name": own, **inventory}}
    there = describe_files(run)["data"]
    files = [name for name in (SETTINGS, VARIABLES, OPTIONS) if name in there]
    env: list[JsonObject] = [{"configMap": {"name": own, **_items(*files)}}]
    if spec.sshKeySecretName:
        env.append({"secret": {"name": spec.sshKeySecretName, "items": [{"key": SSH_KEY, "path": "ssh_key"}]}})
        # Neither has to be there.
        env.append({"secret": {"name": spec.sshKeySecretName, "optional": True, **_items(KNOWN_HOSTS)}})
    env.append({"configMap": {"name": own, "optional": True, **_items(RECORDED_HOSTS)}})
    yield {"name": "env", "projected": {"sources": env, "defaultMode": 0o440}}
    yield {"name": "artifacts", "emptyDir": {}}
    yield {"name": "tmp", "emptyDir": {}}
    if spec.playbookContents:
        yield {"name": "project", "configMap": {"name": own, **_items(PLAYBOOK)}}
    if spec.dataSources:
        sources = [project_source(source) for source in spec.dataSources]
        yield {"name": "configs", "projected": {"sources": sources, "defaultMode": 0o440}}
    yield from _hidden_volumes(run)


def _hidden_volumes(run: OpenStackAnsibleEE) -> Iterable[JsonObject]:
    """Yield volumes with what the pod must not show: it cannot tell the files of Secrets from those of ConfigMaps."""
    if run.spec.inventorySecretName:
        secret = {"secretName": run.spec.inventorySecretName, "optional": True, **_items(HIDDEN_KEY)}
        yield {"name": "hidden", "secret": secret}
    for name in dict.fromkeys(list_secrets(run)):
        yield {"name": f"hidden-{fields.digest(name)}", "secret": {"secretName": name, "optional": True}}


def list_secrets(run: OpenStackAnsibleEE) -> Iterator[str]:
    """Yield the Secrets that a pod gets by its spec: as files, as variables of its environment, and as volumes."""
    yield from (source.secretRef.name for source in run.spec.dataSources if source.secretRef is not None)
    mounted = list_mounted(run.spec.env, run.spec.extraMounts)
    yield from (name for kind, name in mounted if kind is Secret)


def _items(*names: str) -> JsonObject:
    return {"items": [{"key": name, "path": name} for name in names]}


def project_source(source: DataSource) -> JsonObject:
    """Return a source of files as an entry of a projected volume."""
    reference = source.secretRef or source.configMapRef
    assert reference is not None  # noqa: S101  the schema requires one of them
    kind = "secret" if source.secretRef is not None else "configMap"
    return {kind: {"name": reference.name, "optional": reference.optional}}


def list_inputs(run: OpenStackAnsibleEE) -> Iterable[tuple[type[Secret | ConfigMap], str]]:
    """Yield the objects that the pod of a run mounts, and that have to be there first."""
    for name in (run.spec.inventorySecretName, run.spec.sshKeySecretName):
        if name:
            yield Secret, name
    for source in run.spec.dataSources:
        if source.secretRef is not None and not source.secretRef.optional:
            yield Secret, source.secretRef.name
        if source.configMapRef is not None and not source.configMapRef.optional:
            yield ConfigMap, source.configMapRef.name
