"""What a cloud has: read from its APIs, so that Tempest is told what it can try."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .api import Cloud, CloudError, NotFound

# Nova's word for a compute that only pretends to run servers.
PRETENDS = "fake"
# With this extension, Neutron makes a network for projects that have none. It is always there, but it works only if an
# external network and a pool of addresses are the default ones.
AUTOMATIC = "auto-allocated-topology"


@dataclass(frozen=True)
class Compute:
    """A compute that is up and takes servers."""

    name: str
    kind: str
    """The type of its hypervisor, in Nova's word."""
    host: str = ""
    """What Nova calls the machine, where that differs from the hypervisor's name."""


@dataclass(frozen=True)
class Versions:
    """The oldest and the newest microversion of an API; empty if it has none."""

    oldest: str = ""
    newest: str = ""


@dataclass(frozen=True)
class External:
    """The network from which floating IPs come."""

    id: str
    name: str


@dataclass(frozen=True)
class Facts:
    """What the cloud has."""

    services: frozenset[str] = frozenset()
    """Types of services in the catalog."""
    compute: Versions = Versions()
    placement: Versions = Versions()
    volume: Versions = Versions()
    computes: tuple[Compute, ...] = ()
    extensions: tuple[str, ...] = ()
    """Aliases of the network API's extensions."""
    external: External | None = None
    import_methods: tuple[str, ...] = ()
    stores: int = 1

    @property
    def real(self) -> bool:
        """Whether servers really run: on one compute at least that does not pretend."""
        return bool(self.hosts)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The machines on which servers really run."""
        real = (compute for compute in self.computes if compute.kind.lower() != PRETENDS)
        return tuple(compute.host or compute.name for compute in real)


def read(cloud: Cloud, external: str = "") -> Facts:
    """Ask a cloud what it has; `external` names the network of floating IPs if there are several."""
    services = frozenset(cloud.endpoints)
    return Facts(
        services=services,
        compute=_versions(cloud, "compute"),
        placement=_versions(cloud, "placement"),
        volume=_versions(cloud, "volume"),
        computes=_computes(cloud) if "compute" in services else (),
        extensions=_extensions(cloud) if "network" in services else (),
        external=_external(cloud, external) if "network" in services else None,
        import_methods=_import_methods(cloud) if "image" in services else (),
        stores=_stores(cloud) if "image" in services else 1,
    )


def _versions(cloud: Cloud, service: str) -> Versions:
    if not cloud.url(service):
        return Versions()
    try:
        return newest_of(cloud.page(cloud.url(service)))
    except CloudError:
        return Versions()


def newest_of(answer: Any) -> Versions:
    """Return the microversions that a service's first page names. Pure."""
    listed = answer.get("versions") if isinstance(answer, dict) else None
    entries = listed if isinstance(listed, list) else [answer.get("version")] if isinstance(answer, dict) else []
    for entry in (one for one in entries if isinstance(one, dict)):
        newest = entry.get("max_version") or entry.get("version") or ""
        if newest:
            return Versions(str(entry.get("min_version") or ""), str(newest))
    return Versions()


def _computes(cloud: Cloud) -> tuple[Compute, ...]:
    listed = cloud.get("compute", "/os-hypervisors/detail").get("hypervisors") or ()
    return tuple(
        Compute(
            str(entry.get("hypervisor_hostname", "")),
            str(entry.get("hypervisor_type", "")),
            str((entry.get("service") or {}).get("host", "")),
        )
        for entry in listed
        if entry.get("state") == "up" and entry.get("status") == "enabled"
    )


def _network(cloud: Cloud, path: str) -> Any:
    # Some catalogs name the version in the URL, and some do not.
    base = cloud.url("network").rstrip("/")
    return cloud.get("network", path if base.endswith("/v2.0") else f"/v2.0{path}")


def _extensions(cloud: Cloud) -> tuple[str, ...]:
    names = [str(entry["alias"]) for entry in _network(cloud, "/extensions").get("extensions") or ()]
    networks = _network(cloud, "/networks?router:external=true&is_default=true").get("networks") or ()
    pools = _network(cloud, "/subnetpools?is_default=true").get("subnetpools") or ()
    return usable(names, networks, pools)


def usable(names: Iterable[str], networks: Sequence[Any], pools: Sequence[Any]) -> tuple[str, ...]:
    """Return the extensions that can do something, with these external networks and pools as default. Pure."""
    return tuple(sorted(name for name in names if name != AUTOMATIC or (networks and pools)))


def _external(cloud: Cloud, wanted: str) -> External | None:
    networks = _network(cloud, "/networks?router:external=true").get("networks") or ()
    return choose_external(networks, wanted)


def choose_external(networks: Iterable[Any], wanted: str = "") -> External | None:
    """Return the network of floating IPs: the one that is named, or the first that has a subnet. Pure."""
    ordered = sorted(networks, key=lambda network: str(network.get("name", "")))
    if wanted:
        for network in ordered:
            if wanted in (network["id"], network.get("name")):
                return External(str(network["id"]), str(network.get("name", "")))
        names = ", ".join(str(network.get("name", "")) for network in ordered)
        raise CloudError(f"There is no external network {wanted}; there {f'are {names}' if names else 'is none'}.")
    found = next((network for network in ordered if network.get("subnets")), None)
    return External(str(found["id"]), str(found.get("name", ""))) if found is not None else None


def image_path(cloud: Cloud, path: str) -> str:
    """Return a path of the image API; some catalogs name the version in the URL, and some do not."""
    return path if cloud.url("image").rstrip("/").endswith("/v2") else f"/v2{path}"


def _import_methods(cloud: Cloud) -> tuple[str, ...]:
    try:
        answer = cloud.get("image", image_path(cloud, "/info/import"))
    except NotFound:
        return ()
    return tuple(str(name) for name in (answer.get("import-methods") or {}).get("value") or ())


def _stores(cloud: Cloud) -> int:
    try:
        return len(cloud.get("image", image_path(cloud, "/info/stores")).get("stores") or ()) or 1
    except NotFound:
        return 1
