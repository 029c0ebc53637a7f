"""What nova.conf says, beyond Nova's own defaults: one function for each thing that services of Nova do."""

from functools import lru_cache
from typing import Any

from stackwright.blueprint import oslo
from stackwright.blueprint.configuration import oslo_files
from stackwright.blueprint.ini import Ini, Interpolated, Setting
from stackwright.blueprint.interfaces import INTERNAL
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.service import ConfigFile
from stackwright.services.nova.facts import NovaFacts
from stackwright.services.nova.kinds.cell import CELL0
from stackwright.services.nova.kinds.parts import IRONIC
from stackwright.services.nova.parent import ParentFacts

STATE = "/var/lib/nova"
# What the services of Nova talk to by the catalog: Placement, Glance, Neutron, Cinder, Barbican and Ironic at their own
# ports, others where the catalog leads.
DIALS = (5000, 8778, 9292, 9696, 8776, 9311, 6385, 80, 443)
# Hosts that appear are mapped at once where we know of them; this is for those that we do not.
DISCOVERY_SECONDS = 300
# Upstream's: those of Nova itself, and those without which hints, aggregates, devices and NUMA nodes have no effect.
_FILTERS = (
    "AggregateInstanceExtraSpecsFilter",
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
    "SameHostFilter",
    "DifferentHostFilter",
    "PciPassthroughFilter",
    "NUMATopologyFilter",
)


def merged(*parts: Ini) -> dict[str, dict[str, Setting]]:
    """Return several settings as one; a later one adds to a section, and wins."""
    result: dict[str, dict[str, Setting]] = {}
    for part in parts:
        for section, options in part.items():
            result[section] = {**result.get(section, {}), **options}
    return result


def common(facts: NovaFacts) -> Ini:
    """Return what every service of Nova says."""
    return merged(
        {
            "DEFAULT": {"use_stderr": True, "state_path": STATE},
            "oslo_concurrency": {"lock_path": f"{STATE}/locks"},
            # Computes of an older release are asked what they can do.
            "upgrade_levels": {"compute": "auto"},
        },
        oslo.messaging(facts.messaging),
        # Heartbeats in a thread of Python's own are for uwsgi; there they are on by default.
        oslo.notifications(facts.notifications),
        _versioned(facts),
    )


def _versioned(facts: NovaFacts) -> Ini:
    if facts.notifications is None:
        return {}
    return {"notifications": {"notify_on_state_change": "vm_and_task_state", "notification_format": "both"}}


def databases(facts: NovaFacts) -> Ini:
    """Return the databases that a service may use: it has those, and no others."""
    api = oslo.database(facts.api_database, "api_database") if facts.api_database is not None else {}
    own = oslo.database(facts.database) if facts.database is not None else {}
    return merged(api, own)


def clients(identity: IdentityFacts, interface: str = INTERNAL) -> Ini:
    """Return how a service of Nova calls others: as Nova's user, at their endpoints of one interface."""
    login = dict(oslo.login(identity))
    region = {"region_name": login.pop("region_name")}
    found: dict[str, Setting] = {**region, "valid_interfaces": interface}
    return {
        "service_user": {**login, "send_service_user_token": True},
        "placement": {**login, **found},
        # It is asked with the token of whoever asks Nova.
        "glance": found,
        "neutron": {**login, **found},
        "cinder": {**login, "catalog_info": f"volumev3:cinderv3:{interface}URL", "os_region_name": identity.region},
    }


def cache(facts: NovaFacts) -> Ini:
    """Return the cache, where there is one."""
    return oslo.cache(facts.cache) if facts.cache is not None else {}


def api(facts: NovaFacts) -> Ini:
    """Return what the API says."""
    return merged(
        common(facts),
        databases(facts),
        clients(facts.identity),
        cache(facts),
        oslo.authtoken(facts.identity, facts.cache),
        {
            # All pods are one service: by their own names, each would leave a row behind. A cloud may have one compute,
            # and its servers can be resized all the same.
            "DEFAULT": {"host": facts.name, "allow_resize_to_same_host": True},
            # An application credential may be limited to the API of this type.
            "keystone_authtoken": {"service_type": "compute"},
            "oslo_middleware": {"enable_proxy_headers_parsing": True},
        },
    )


def scheduler(facts: NovaFacts) -> Ini:
    """Return what the scheduler says."""
    return merged(
        common(facts),
        databases(facts),
        clients(facts.identity),
        cache(facts),
        {
            "scheduler": {
                "workers": 1,
                "max_attempts": 10,
                "discover_hosts_in_cells_interval": DISCOVERY_SECONDS,
                # What Placement knows already need not be asked of every host.
                "query_placement_for_image_type_support": True,
                "limit_tenants_to_placement_aggregate": True,
                "placement_aggregate_required_for_tenants": False,
                "enable_isolated_aggregate_filtering": True,
                "image_metadata_prefilter": True,
            },
            "filter_scheduler": {"enabled_filters": list(_FILTERS), "shuffle_best_same_weighed_hosts": True},
            # A server with pinned CPUs goes only where CPUs are set aside for that.
            "workarounds": {"disable_fallback_pcpu_query": True},
        },
    )


def conductor(facts: NovaFacts) -> Ini:
    """Return what the conductors of a cell say."""
    return merged(common(facts), databases(facts), clients(facts.identity), cache(facts), {"conductor": {"workers": 1}})


def metadata(facts: NovaFacts, *, of_cell: bool) -> Ini:
    """Return what the metadata service says: for all cells, or for one."""
    return merged(
        common(facts),
        databases(facts),
        clients(facts.identity),
        cache(facts),
        {
            "DEFAULT": {"host": facts.name},
            "api": {"local_metadata_per_cell": of_cell},
            "neutron": {"service_metadata_proxy": True, "metadata_proxy_shared_secret": facts.shared_secret},
            "oslo_middleware": {"enable_proxy_headers_parsing": True},
        },
    )


def novncproxy(facts: NovaFacts, port: int) -> Ini:
    """Return what the noVNC proxy says."""
    own: Ini = {"vnc": {"novncproxy_host": "::", "novncproxy_port": port}}
    return merged(common(facts), databases(facts), cache(facts), own)


def compute(facts: NovaFacts, driver: str) -> Ini:
    """Return what a compute in the cluster says: it has no database, and no console."""
    own: Ini = {"DEFAULT": {"compute_driver": driver}, "vnc": {"enabled": False}}
    return merged(common(facts), clients(facts.identity), own, ironic(facts.identity) if driver == IRONIC else {})


def ironic(identity: IdentityFacts) -> Ini:
    """Return what a compute says that asks Ironic for machines: it logs in there, and keeps none of their memory."""
    return {
        "DEFAULT": {"reserved_host_memory_mb": 0},
        "ironic": {**oslo.login(identity), "valid_interfaces": INTERNAL},
    }


def outside_compute(facts: NovaFacts, interface: str, console: str | None) -> Ini:
    """Return what a compute on a machine with libvirt outside of the cluster says; it finds others by `interface`.

    `console` is the page of the noVNC proxy; "" where browsers cannot reach it, None where there is none.
    """
    identity = facts.identity
    own: Ini = {
        "DEFAULT": {
            "compute_driver": "libvirt.LibvirtDriver",
            "force_config_drive": True,
            "initial_cpu_allocation_ratio": 4.0,
            "initial_ram_allocation_ratio": 1.0,
            "initial_disk_allocation_ratio": 0.9,
            "max_concurrent_live_migrations": 1,
        },
        "cache": {"enabled": True, "backend": "oslo_cache.dict"},
        "barbican": {
            "auth_endpoint": f"{identity.url.removesuffix('/').removesuffix('/v3')}/v3",
            "barbican_endpoint_type": interface,
            "barbican_region_name": identity.region,
        },
        "vnc": {"enabled": console is not None, **({"novncproxy_base_url": console} if console else {}), **_LISTENING},
        "workarounds": {
            "enable_qemu_monitor_announce_self": True,
            "reserve_disk_resource_for_image_cache": True,
            "skip_cpu_compare_on_dest": True,
        },
        "libvirt": _LIBVIRT,
    }
    return merged(common(facts), clients(identity, interface), own)


# The proxy in the cluster connects to the address that the machine has for others. Whether that is one on which it can
# listen, only the machine knows: the role edpm_nova then writes it over this.
_LISTENING: dict[str, Setting] = {"server_listen": "::", "server_proxyclient_address": Interpolated("$my_ip")}
_LIBVIRT: dict[str, Setting] = {
    "cpu_mode": "host-model",
    "cpu_power_management": False,
    "hw_machine_type": ["x86_64=q35"],
    "images_type": "qcow2",
    # A server that changes its memory faster than it can be sent is slowed down, and moved in the end.
    "live_migration_permit_auto_converge": True,
    "live_migration_permit_post_copy": True,
    "live_migration_timeout_action": "force_complete",
    "live_migration_uri": f"qemu+ssh://nova@%s/system?keyfile={STATE}/.ssh/ssh-privatekey",
    "num_pcie_ports": 24,
    "rx_queue_size": 512,
    "tx_queue_size": 512,
    "swtpm_enabled": True,
    "sysinfo_serial": "unique",
    "volume_use_multipath": True,
}


def manage(api: DatabaseFacts, cell: DatabaseFacts) -> Ini:
    """Return what nova-manage says for a cell: it needs no more than databases."""
    own: Ini = {"DEFAULT": {"state_path": STATE}}
    return merged(oslo.LOGGING, own, oslo.database(api, "api_database"), oslo.database(cell))


def files(resource: Any, settings: Ini) -> tuple[ConfigFile, ...]:
    """Return the files of a service of Nova: ours, and the user's."""
    spec = resource.spec
    found = oslo_files("nova", settings, custom=spec.customServiceConfig, overwrite=spec.defaultConfigOverwrite)
    return tuple(file for file in found if file.content or not file.key.startswith("02-"))


def manage_files(cell: str, facts: ParentFacts) -> tuple[ConfigFile, ...]:
    """Return what nova-manage reads for a cell: the databases, and the broker that is written into the mapping."""
    broker = facts.broker(cell)
    # Both, or nothing: half of it would be written, and written anew.
    if cell not in facts.cell_databases or broker is None:
        return ()
    url = "" if cell == CELL0 else broker.transport_url
    return _manage_files(facts.api_database, facts.cell_databases[cell], url)


@lru_cache(maxsize=128)
def _manage_files(api: DatabaseFacts, cell: DatabaseFacts, url: str) -> tuple[ConfigFile, ...]:
    """Return the files; each cell has several jobs that read the same ones, in every pass."""
    said = merged(manage(api, cell), {"DEFAULT": {"transport_url": url}} if url else {})
    return tuple(file for file in oslo_files("nova", said, custom="", overwrite={}) if file.content)
