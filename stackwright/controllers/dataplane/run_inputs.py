"""The resources of a run that begins: the OpenStackAnsibleEE, and the Secret with its inventory. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from stackwright.api.ansibleee import OpenStackAnsibleEE, OpenStackAnsibleEESpec, RunNode
from stackwright.api.dataplane_service import DataSource
from stackwright.api.node_sections import ObjectReference
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
# The most bytes of an inventory: a Secret has a mebibyte at most, and the rest of it takes some room.
LARGEST_INVENTORY = 900_000


def cut_run(new: NewRun, machines: Mapping[str, Prepared]) -> Iterator[NewRun]:
    """Yield a run in parts, each with an inventory that fits into a Secret; mostly it is one.

    A run whose inventory nobody can write would never begin, and none of its nodes either.
    """
    part: list[str] = []
    left = LARGEST_INVENTORY
    for name in new.nodes:
        size = _measure(machines[name])
        if part and size > left:
            yield replace(new, nodes=tuple(part))
            part, left = [], LARGEST_INVENTORY
        part.append(name)
        left -= size
    yield replace(new, nodes=tuple(part))


def _measure(prepared: Prepared) -> int:
    """Return how many bytes a machine takes in an inventory; its secrets stand there once more, whole and in parts."""
    variables = prepared.variables
    whole, secret = (msgspec.json.encode(part) for part in (variables.all, variables.secret))
    return len(whole) + 2 * len(secret) + len(prepared.machine.host_name)


def describe_run(
    role: str, new: NewRun, work: Work, machines: Mapping[str, Prepared], own: Mapping[str, str] | None = None
) -> Iterable[tuple[type[Resource], JsonObject]]:
    """Yield the objects of a run. Their name follows from what it does, so that no run is made twice.

    `own` are files that only this run has; its inputs count them already.
    """
    nodes = tuple(
        RunNode(
            name=name,
            host=each.machine.host_name,
            inputHash=_inputs(each, new.service),
            address=f"{each.machine.address}:{each.machine.port}",
        )
        for name, each in machines.items()
    )
    name = name_run(role, new, nodes)
    first = next(iter(machines.values())).machine
    yield Secret, {"metadata": {"name": name}, "data": encode(_inventory(machines))}
    sources = work.sources
    if own:
        yield Secret, {"metadata": {"name": name_own_files(name)}, "data": encode(own)}
        sources = (*sources, DataSource(secretRef=ObjectReference(name=name_own_files(name))))
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
        dataSources=sources,
        serviceType=work.type,
        env=first.env,
        extraMounts=first.extra_mounts,
        networkAttachments=first.network_attachments,
    )
    yield OpenStackAnsibleEE, {"metadata": {"name": name}, "spec": msgspec.to_builtins(spec)}


def name_own_files(run: str) -> str:
    """Return the name of the Secret with the files that only one run has."""
    return f"{run}-own"


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
        hidden += (word for value in each.variables.secret.values() for word in _list_words(value))
    # JSON is YAML as well, and written and read a hundred times faster.
    text = msgspec.json.encode({"all": {"hosts": hosts}}, order="deterministic").decode()
    return {INVENTORY_FILE: text, HIDDEN_KEY: json.dumps(sorted(set(hidden)))}


def _list_words(value: Any) -> Iterable[str]:
    """Yield what must not be shown of a secret variable: a part of it is as secret as the whole."""
    if isinstance(value, str):
        yield value
        return
    yield json.dumps(value)
    if isinstance(value, dict | list):
        yield from (
            word for part in (value.values() if isinstance(value, dict) else value) for word in _list_words(part)
        )


def _options(tags: str, skip_tags: str) -> str:
    said = (("--tags", tags), ("--skip-tags", skip_tags))
    return " ".join(f"{option} {json.dumps(value)}" for option, value in said if value)
