"""tempest.conf, as it follows from what a cloud has. Pure.

What a cloud cannot serve is said here by Tempest's own feature flags, so that Tempest skips it and says why.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .api import Login
from .facts import Facts

# What all names begin with that Tempest and we make in a cloud: by it they are found again, and removed.
# As long as Tempest's own, "tempest": names of servers become host names, and those have 63 characters at most.
PREFIX = "swvalid"
# The tiny server's disk in the image, and who logs in there: it runs no DHCP client that could be asked again.
GUEST = "/guest/guest.qcow2"
GUEST_USER = "root"

Sections = dict[str, dict[str, str]]

# The services of Tempest's own flags, each with the type that stands in the catalog.
AVAILABLE = {
    "glance": ("image",),
    "neutron": ("network",),
    "cinder": ("block-storage", "block-store", "volumev3", "volume"),
    "swift": ("object-store",),
    "nova": ("compute",),
}
# The sections with an endpoint of their own.
WITH_ENDPOINT = ("compute", "image", "network", "volume", "object-storage", "placement")


@dataclass(frozen=True)
class Made:
    """What was made in the cloud for the tests: identifiers of images and flavors."""

    images: tuple[str, str] = ("", "")
    flavors: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Wanted:
    """What the user says of the configuration."""

    login: bool = True
    """Whether tests log in to servers, where servers really run."""
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Options by section, which go before ours."""


def sections(facts: Facts, login: Login, made: Made, wanted: Wanted) -> Sections:
    """Return all that tempest.conf says."""
    found: Sections = {
        "DEFAULT": {"log_file": "tempest.log", "use_stderr": "false", "resource_name_prefix": PREFIX},
        "oslo_concurrency": {"lock_path": "lock"},
        "auth": {
            "use_dynamic_credentials": "true",
            "admin_username": login.username,
            "admin_password": login.password,
            "admin_project_name": login.project,
            "admin_user_domain_name": login.user_domain,
            "admin_project_domain_name": login.project_domain,
            # Tempest takes all three from here where it makes no difference between them.
            "admin_domain_name": login.user_domain,
        },
        "identity": _identity(login),
        "identity-feature-enabled": {"api_v2": "false", "api_v2_admin": "false"},
        "service_available": {name: _flag(name in available(facts)) for name in AVAILABLE} | {"horizon": "false"},
        "compute": _compute(facts, made),
        "compute-feature-enabled": _compute_features(facts),
        "placement": _microversions(facts.placement.oldest, facts.placement.newest),
        "volume": _microversions(facts.volume.oldest, facts.volume.newest),
        "image-feature-enabled": {"import_image": _flag(bool(facts.import_methods))},
        "network": _network(facts),
        "network-feature-enabled": _network_features(facts),
        "validation": _validation(facts, wanted),
        # All but one folder of the guest is in memory; what a scenario looks for in a snapshot has to be on its disk.
        "scenario": {"img_file": GUEST, "img_disk_format": "qcow2", "dhcp_client": "", "target_dir": "/mnt"},
    }
    for name in WITH_ENDPOINT:
        found.setdefault(name, {})["endpoint_type"] = _interface(name, login.interface)
    for name, options in wanted.settings.items():
        found.setdefault(name, {}).update(options)
    return found


def available(facts: Facts) -> frozenset[str]:
    """Return the services that Tempest can try: Nova only if a compute is up."""
    there = {name for name, types in AVAILABLE.items() if facts.services & set(types)}
    return frozenset(there - ({"nova"} if not facts.computes else set()))


def logs_in(facts: Facts, wanted: Wanted) -> bool:
    """Return whether tests log in to servers: they have to run, and to be reached from outside."""
    return wanted.login and facts.real and facts.external is not None


def notes(facts: Facts, wanted: Wanted) -> list[str]:
    """Return what is not tried on this cloud, and why, in sentences."""
    found = []
    if "compute" in facts.services and not facts.computes:
        found.append("No compute is up: what needs servers is skipped.")
    elif "compute" in facts.services and not facts.real:
        found.append("The computes only pretend to run servers: no test logs in to one.")
    if len(facts.computes) == 1:
        found.append("There is one compute: resizing and migrating servers is skipped.")
    if "network" in facts.services and facts.external is None:
        found.append(
            "There is no external network with a subnet: floating IPs are skipped, and nobody logs in to servers."
        )
    elif facts.real and not wanted.login:
        found.append("No test logs in to servers, as asked for.")
    return found


def text(found: Sections) -> str:
    """Return the sections as a file."""
    parts = []
    for name, options in found.items():
        lines = "".join(f"{option} = {_escaped(value)}\n" for option, value in options.items())
        parts.append(f"[{name}]\n{lines}")
    return "\n".join(parts)


def parse_settings(words: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return options of the form SECTION.OPTION=VALUE by section; raise a ValueError for another form."""
    found: dict[str, dict[str, str]] = {}
    for word in words:
        name, sign, value = word.partition("=")
        section, dot, option = name.partition(".")
        if not (sign and dot and section.strip() and option.strip()):
            raise ValueError(f"{name} is not an option of tempest.conf with a value; write SECTION.OPTION=VALUE.")
        found.setdefault(section.strip(), {})[option.strip()] = value.strip()
    return found


def _escaped(value: str) -> str:
    # oslo.config puts other options in the place of $name.
    return value.replace("$", "$$")


def _identity(login: Login) -> dict[str, str]:
    found = {
        "uri_v3": login.auth_url,
        "auth_version": "v3",
        "region": login.region,
        "v3_endpoint_type": _interface("identity", login.interface),
    }
    return found | ({"ca_certificates_file": login.ca_file} if login.ca_file else {})


def _interface(section: str, interface: str) -> str:
    """Return an interface in the word of a section: placement's differs from all others."""
    return interface if section == "placement" else f"{interface}URL"


def _compute(facts: Facts, made: Made) -> dict[str, str]:
    return {
        "image_ref": made.images[0],
        "image_ref_alt": made.images[1],
        "flavor_ref": made.flavors[0],
        "flavor_ref_alt": made.flavors[1],
        "min_compute_nodes": str(max(1, len(facts.computes))),
        **_migration(facts.hosts),
        **_microversions(facts.compute.oldest, facts.compute.newest),
    }


def _migration(hosts: tuple[str, ...]) -> dict[str, str]:
    """Return from where to where some tests move a server."""
    if len(hosts) < 2:
        return {}
    return {"migration_source_host": hosts[0], "migration_dest_host": hosts[1]}


def _microversions(oldest: str, newest: str) -> dict[str, str]:
    return {"min_microversion": oldest, "max_microversion": newest} if oldest and newest else {}


def _compute_features(facts: Facts) -> dict[str, str]:
    several = len(facts.computes) > 1
    return {
        # A server is resized on another compute: Nova's default does not let it stay.
        "resize": _flag(several),
        "cold_migration": _flag(several),
        "live_migration": _flag(several and facts.real),
        # Each compute has disks of its own.
        "block_migration_for_live_migration": _flag(facts.real),
        # A compute that pretends makes no image of a server, and has no screen.
        "snapshot": _flag(facts.real),
        "shelve": _flag(facts.real),
        "vnc_console": _flag(facts.real),
        "shelve_migrate": _flag(several and facts.real),
        "stable_rescue": _flag(facts.real),
        # Machines of the type q35, which ours are, have none.
        "ide_bus": "false",
    }


def _network(facts: Facts) -> dict[str, str]:
    external = facts.external
    if external is None:
        return {}
    return {"public_network_id": external.id, "floating_network_name": external.name}


def _network_features(facts: Facts) -> dict[str, str]:
    extensions = facts.extensions
    return {
        "api_extensions": ",".join(extensions),
        "floating_ips": _flag(facts.external is not None and "router" in extensions),
        "port_security": _flag("port-security" in extensions),
        "ipv6_subnet_attributes": "true",
    }


def _validation(facts: Facts, wanted: Wanted) -> dict[str, str]:
    return {
        "run_validation": _flag(logs_in(facts, wanted)),
        "connect_method": "floating",
        "auth_method": "keypair",
        "image_ssh_user": GUEST_USER,
        "image_alt_ssh_user": GUEST_USER,
    }


def _flag(value: bool) -> str:  # noqa: FBT001  it is what is written
    return "true" if value else "false"
