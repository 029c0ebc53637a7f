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


def create(*words: str, key: str = "id") -> Callable[[Cloud], str]:
    """Return how something is left that has nothing but a name: `words` create it, and its id is under the `key`."""
    return lambda cloud: str(cloud.openstack(*words, CONTENT)[key])


def show_name(*words: str) -> Callable[[Cloud, str], str]:
    """Return how the name is asked for again."""
    return lambda cloud, made: str(cloud.openstack(*words, made)["name"])


def secret(cloud: Cloud) -> str:
    href = str(cloud.openstack("secret", "store", "--name", "kept", "--payload", CONTENT)["Secret href"])
    return href.rpartition("/")[2]


def payload(cloud: Cloud, made: str) -> str:
    # The cluster may have chosen another port.
    url = cloud.kubectl.get("barbican/barbican", "{.status.apiEndpoints.public}")
    return str(cloud.openstack("secret", "get", "--payload", f"{url}/v1/secrets/{made}")["Payload"])


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
        make=create("resource", "provider", "create", key="uuid"),
        read=show_name("resource", "provider", "show"),
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
        make=create("network", "create"),
        read=show_name("network", "show"),
    ),
    "nova": Kept(
        kind="Nova",
        name="nova",
        listed="compute",
        deployment="nova-api",
        stays="mariadbdatabase/nova-api",
        make=create("flavor", "create", "--ram", "64", "--vcpus", "1"),
        read=show_name("flavor", "show"),
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
