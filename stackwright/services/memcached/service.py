"""memcached keeps what services would otherwise ask for again; nothing in it is kept for long."""

from collections.abc import Iterable

import msgspec

from stackwright.api.base import JsonObject
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs.cache import CACHE, CacheFacts
from stackwright.blueprint.network import Listen, Network
from stackwright.blueprint.providers import Provides
from stackwright.blueprint.service import Component, Service, Told
from stackwright.blueprint.value_types import client_service, described
from stackwright.blueprint.workloads import Port
from stackwright.kube.quantities import amount
from stackwright.services.memcached.kinds import Memcached

PORT = 11211
MEGABYTE = 2**20
ALIVE: JsonObject = {"tcpSocket": {"port": "memcached"}, "timeoutSeconds": 5}
COUNT = {"type": "integer", "minimum": 1}


def values(resource: Memcached, facts: Facts) -> JsonObject:
    """Return the sizes of each node."""
    return {"cacheSize": resource.spec.cacheSize, "maxConn": resource.spec.maxConn}


def servers(resource: Memcached) -> tuple[str, ...]:
    """Return the nodes as host:port; every client must have the same list, whoever is away."""
    name, namespace = resource.metadata.name, resource.metadata.namespace
    return tuple(f"{name}-{number}.{name}.{namespace}.svc:{PORT}" for number in range(resource.spec.replicas))


def tell(resource: Memcached, facts: Facts | None, look: Look) -> Told[Memcached]:
    """Return where the nodes are, once they are wanted: their names do not depend on whether they run."""
    if facts is None:
        return Told(resource.status)
    found = servers(resource)
    status = msgspec.structs.replace(
        resource.status,
        serverList=found,
        serverListWithInet=tuple(f"inet:[{server.rpartition(':')[0]}]:{PORT}" for server in found),
    )
    return Told(status)


def problems(resource: Memcached, look: Look) -> Iterable[tuple[str, str]]:
    """Yield what cannot be."""
    most = amount(resource.spec.resources.limits.get("memory"))
    if most is not None and most <= resource.spec.cacheSize * MEGABYTE:
        sentence = f"is too little for a cache of {resource.spec.cacheSize} MB; raise it, or lower cacheSize"
        yield "spec.resources.limits[memory]", sentence


SERVICE = Service(
    name="memcached",
    kind=Memcached,
    facts=Facts,
    user="memcached",
    components=(
        Component(
            "server",
            description="The servers: a StatefulSet.",
            workload="StatefulSet",
            suffix="",
            ports=(Port("memcached", PORT),),
            probes={
                "startup": {**ALIVE, "periodSeconds": 1, "failureThreshold": 60},
                "readiness": {**ALIVE, "periodSeconds": 10},
                "liveness": {**ALIVE, "periodSeconds": 10, "failureThreshold": 6},
            },
            finish=5,
        ),
    ),
    provides=Provides(CACHE, lambda resource: CacheFacts(resource.status.serverList)),
    network=Network(listens=(Listen(PORT, by=CACHE),)),
    values=values,
    own_values={
        "cacheSize": described("How much memory the cache takes, in MB.", COUNT),
        "maxConn": described("How many connections there may be at once.", COUNT),
        **client_service(),
    },
    tell=tell,
    problems=problems,
)
