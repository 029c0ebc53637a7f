"""Something that somebody leaves in each service, to see later whether it is still there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.e2e.cloud import Cloud
from tests.e2e.waiting import eventually

CONTENT = "kept through it all"
IMAGE = ("--disk-format", "raw", "--container-format", "bare", "--file", "/tmp/kept")


@dataclass(frozen=True)
class Kept:
    """How something is left in a service and asked for again; and what of the service stays when it is taken out."""

    kind: str
    name: str
    listed: str
    deployment: str
    stays: str
    make: Callable[[Cloud], str]
    read: Callable[[Cloud, str], str]


def image(cloud: Cloud) -> str:
    cloud.kubectl("exec", "client", "--", "sh", "-c", f"printf '{CONTENT}' > /tmp/kept")
    return str(cloud.openstack("image", "create", "kept", *IMAGE)["id"])


def image_content(cloud: Cloud, made: str) -> str:
    cloud.kubectl("exec", "client", "--", "openstack", "image", "save", "--file", "/tmp/kept-back", made)
    return cloud.kubectl("exec", "client", "--", "cat", "/tmp/kept-back")


def provider(cloud: Cloud) -> str:
    return str(cloud.openstack("resource", "provider", "create", CONTENT)["uuid"])


def provider_name(cloud: Cloud, made: str) -> str:
    return str(cloud.openstack("resource", "provider", "show", made)["name"])


def secret(cloud: Cloud) -> str:
    href = str(cloud.openstack("secret", "store", "--name", "kept", "--payload", CONTENT)["Secret href"])
    return href.rpartition("/")[2]


def payload(cloud: Cloud, made: str) -> str:
    # The cluster may have chosen another port.
    url = cloud.kubectl.get("barbican/barbican", "{.status.apiEndpoints.public}")
    return str(cloud.openstack("secret", "get", "--payload", f"{url}/v1/secrets/{made}")["Payload"])


def flavor(cloud: Cloud) -> str:
    return str(cloud.openstack("flavor", "create", "--ram", "64", "--vcpus", "1", CONTENT)["id"])


def flavor_name(cloud: Cloud, made: str) -> str:
    return str(cloud.openstack("flavor", "show", made)["name"])


def network(cloud: Cloud) -> str:
    return str(cloud.openstack("network", "create", CONTENT)["id"])


def network_name(cloud: Cloud, made: str) -> str:
    return str(cloud.openstack("network", "show", made)["name"])


SERVICES: Mapping[str, Kept] = {
    "glance": Kept(
        kind="Glance",
        name="glance",
        listed="image",
        deployment="glance-default-external",
        stays="persistentvolumeclaim/glance-default",
        make=image,
        read=image_content,
    ),
    "placement": Kept(
        kind="PlacementAPI",
        name="placement",
        listed="placement",
        deployment="placement",
        stays="mariadbdatabase/placement",
        make=provider,
        read=provider_name,
    ),
    "barbican": Kept(
        kind="Barbican",
        name="barbican",
        listed="key-manager",
        deployment="barbican",
        stays="mariadbdatabase/barbican",
        make=secret,
        read=payload,
    ),
    "neutron": Kept(
        kind="NeutronAPI",
        name="neutron",
        listed="network",
        deployment="neutron",
        stays="mariadbdatabase/neutron",
        make=network,
        read=network_name,
    ),
    "nova": Kept(
        kind="Nova",
        name="nova",
        listed="compute",
        deployment="nova-api",
        stays="mariadbdatabase/nova-api",
        make=flavor,
        read=flavor_name,
    ),
}


def leave(cloud: Cloud) -> dict[str, str]:
    """Leave something in each service; return its ids, by the sections of the services."""
    return {section: service.make(cloud) for section, service in SERVICES.items()}


def find(cloud: Cloud, section: str, made: str) -> None:
    """Wait until what was left in a service is read again, as it was."""

    def is_read() -> bool:
        try:
            return SERVICES[section].read(cloud, made) == CONTENT
        except AssertionError:
            return False  # kube-proxy, and the catalog that Keystone has cached, are a moment behind.

    eventually(is_read, f"what was left in {section} is read again", 90.0)
