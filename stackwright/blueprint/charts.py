"""What the component template of the library chart reads of a service: its chart's `blueprint.yaml`. Pure.

It is what no resource changes: how each component runs, what waits for what, where key rings are. A chart carries it as
a file, and not among its values, so that it also works by hand, and so that nobody has to set what nobody may change.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from stackwright.api.base import JsonObject
from stackwright.blueprint.service import (
    Component,
    Job,
    Schedule,
    Service,
)
from stackwright.blueprint.workloads import Host, HostPath, Port

# Stands at the end of a form's name for anything.
ANY = "*"


def facts(services: Iterable[Service[Any, Any]], user: int) -> JsonObject:
    """Return what a chart has to know of the services that it deploys; `user` is the number that their pods run as."""
    result: JsonObject = {"user": user, "endpoints": False}
    result |= {"components": {}, "jobs": {}, "schedules": {}, "keyRings": {}}
    for service in services:
        _check(service)
        result["endpoints"] |= bool(service.endpoints)
        result["components"] |= {each.name: component(each) for each in service.known_components}
        rings = bool(service.key_rings)
        result["jobs"] |= {job.name: _job(job, rings=rings) for job in service.known_jobs}
        result["schedules"] |= {
            each.name: _said({"after": list(each.after), "keyRings": rings}) for each in service.schedules
        }
        result["keyRings"] |= {ring.name: ring.path for ring in service.key_rings}
    return _said(result)


def component(said: Component[Any, Any]) -> JsonObject:
    """Return how a component runs; what it does not say is left out."""
    return _said(
        {
            "workload": said.workload,
            # Where it is absent, it is the component's name.
            **({"suffix": said.suffix} if said.suffix is not None else {}),
            "named": said.named,
            **({"nodes": said.nodes} if said.workload == "StatefulSet" else {}),
            "ports": [_port(port) for port in said.ports],
            "probe": said.probe,
            "probes": dict(said.probes),
            "after": list(said.after),
            "data": said.data,
            **({"drain": said.drain} if said.drain else {}),
            "finish": said.finish,
            "requests": dict(said.requests),
            **({"user": said.user} if said.user is not None else {}),
            "host": _host(said.host),
        }
    )


def _job(job: Job[Any, Any], *, rings: bool) -> JsonObject:
    return _said({"after": list(job.after), "keyRings": rings and job.key_rings, "password": job.password})


def _port(port: Port) -> JsonObject:
    # TCP is what Kubernetes takes where nothing is said.
    protocol = {"protocol": port.protocol} if port.protocol != "TCP" else {}
    return {"name": port.name, "port": port.number, **({"probed": True} if port.probed else {}), **protocol}


def _host(host: Host) -> JsonObject:
    return _said(
        {
            "network": host.network,
            "pid": host.pid,
            "ipc": host.ipc,
            "privileged": host.privileged,
            "capabilities": list(host.capabilities),
            "paths": [_path(path) for path in host.paths],
        }
    )


def _path(said: HostPath) -> JsonObject:
    place = {"path": said.path, "mount": said.mount or said.path, "type": said.type, "readOnly": said.read_only}
    return _said({**place, "propagation": said.propagation})


def _said(values: JsonObject) -> JsonObject:
    """Return values without those that say nothing; the number 0 and an empty suffix do."""
    return {
        name: value
        for name, value in values.items()
        if name in _EMPTY or not (value is False or value in (None, [], {}, ""))
    }


# An empty text means "like the release" there.
_EMPTY = frozenset({"suffix", "nodes"})


def _check(service: Service[Any, Any]) -> None:
    """Refuse an order that cannot be kept: only jobs are ever done."""
    made = {provision.job for need in service.need_types for provision in need.provisions}
    known = made.union(job.name for job in service.known_jobs)
    parts: tuple[Component[Any, Any] | Job[Any, Any] | Schedule[Any, Any], ...] = (
        *service.known_components,
        *service.known_jobs,
        *service.schedules,
    )
    for part in parts:
        for name in part.after:
            if not any(fnmatchcase(name, job) for job in known):
                raise ValueError(f"{part.name} of {service.name} starts after {name}, which is no job of it")
            if name == part.name:
                raise ValueError(f"{part.name} of {service.name} starts after itself")
