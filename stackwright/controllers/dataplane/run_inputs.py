"""The resources of a run that begins: the OpenStackAnsibleEE, and the Secret with its inventory. Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stackwright.api.ansibleee import OpenStackAnsibleEE, OpenStackAnsibleEESpec, RunNode
from stackwright.blueprint.dataplane.inputs import Work
from stackwright.blueprint.dataplane.inventory import INVENTORY_FILE, describe_host
from stackwright.blueprint.dataplane.schedule import NewRun
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.dataplane.preparation import Prepared
from stackwright.controllers.dataplane.run_job import HIDDEN_KEY
from stackwright.kube import fields
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import JsonObject, Resource

# How much of the names of service and role stands in the name of a run: it is also the name of a Job.
_PART = 20


def describe_run(
    role: str, new: NewRun, work: Work, machines: Mapping[str, Prepared]
) -> Iterable[tuple[type[Resource], JsonObject]]:
    """Yield the objects of a run. Their name follows from what it does, so that no run is made twice."""
    nodes = tuple(
        RunNode(name=name, host=each.machine.host_name, inputHash=_inputs(each, new.service))
        for name, each in machines.items()
    )
    name = name_run(role, new, nodes)
    first = next(iter(machines.values())).machine
    yield Secret, {"metadata": {"name": name}, "data": encode(_inventory(machines))}
    spec = OpenStackAnsibleEESpec(
        playbook=work.playbook,
        playbookContents=work.contents,
        role=work.role,
        image=work.image,
        nodes=nodes,
        service=new.service,
        sequence=new.sequence,
        inventorySecretName=name,
        sshKeySecretName=first.key_secret,
        cmdLine=_options(first.tags, first.skip_tags),
        dataSources=work.sources,
        serviceType=work.type,
        env=first.env,
        extraMounts=first.extra_mounts,
        networkAttachments=first.network_attachments,
    )
    yield OpenStackAnsibleEE, {"metadata": {"name": name}, "spec": msgspec.to_builtins(spec)}


def name_run(role: str, new: NewRun, nodes: Iterable[RunNode]) -> str:
    """Return the name of a run, which also a Job can have."""
    content = [role, new.service, new.sequence, new.common, [msgspec.to_builtins(each) for each in nodes]]
    return "-".join((*map(_shorten, (new.service, role)), fields.digest(content)))


def prefix_runs(service: str) -> str:
    """Return how the names of all runs of a service begin."""
    return f"{_shorten(service)}-"


def _shorten(part: str) -> str:
    return part[:_PART].replace(".", "-").strip("-")


def _inputs(prepared: Prepared, service: str) -> str:
    return next(due.inputs for due in prepared.services if due.service == service)


def _inventory(machines: Mapping[str, Prepared]) -> dict[str, str]:
    hosts: dict[str, Mapping[str, Any]] = {}
    hidden: list[str] = []
    for each in machines.values():
        hosts[each.machine.host_name] = describe_host(each.machine, each.variables.all)
        hidden += (value if isinstance(value, str) else json.dumps(value) for value in each.variables.secret.values())
    # JSON is YAML as well, and written and read a hundred times faster.
    text = msgspec.json.encode({"all": {"hosts": hosts}}, order="deterministic").decode()
    return {INVENTORY_FILE: text, HIDDEN_KEY: json.dumps(sorted(set(hidden)))}


def _options(tags: str, skip_tags: str) -> str:
    said = (("--tags", tags), ("--skip-tags", skip_tags))
    return " ".join(f"{option} {json.dumps(value)}" for option, value in said if value)
