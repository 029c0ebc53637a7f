"""Makes what tests need in a cloud, and removes everything that they and we made there.

Tests work in projects of their own. What is in such a project is removed, and what belongs to no project is found by
its name. Some names have our prefix, and some have Tempest's own, which cannot be changed. Somebody else may have
things of Tempest in the cloud, so what was there before the tests is counted first, and spared.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .api import Cloud, CloudError
from .configuration import GUEST, PREFIX, Made
from .facts import Facts, image_path

# What Tempest calls its projects and users, whatever is configured.
TEMPEST = "tempest-"
# Seconds until servers are gone, and an image can be used.
PATIENCE = 120.0
# Both are as small as the tiny server allows; a resized server has to differ.
FLAVORS = ((f"{PREFIX}-small", 128, 1), (f"{PREFIX}-large", 192, 1))
IMAGES = (f"{PREFIX}-guest", f"{PREFIX}-guest-2")
# What no server reads: computes that pretend start from anything.
NOTHING = b"\0" * 4096


def make(cloud: Cloud, facts: Facts) -> Made:
    """Make the images and the flavors that tests use; they are removed with everything else."""
    images = tuple(_image(cloud, name, real=facts.real) for name in IMAGES) if "image" in facts.services else ("", "")
    flavors = tuple(_flavor(cloud, *flavor) for flavor in FLAVORS) if "compute" in facts.services else ("", "")
    return Made((images[0], images[1]), (flavors[0], flavors[1]))


def _image(cloud: Cloud, name: str, *, real: bool) -> str:
    body = {"name": name, "disk_format": "qcow2" if real else "raw", "container_format": "bare", "visibility": "public"}
    image = str(cloud.post("image", image_path(cloud, "/images"), body)["id"])
    content = Path(GUEST).read_bytes() if real else NOTHING
    cloud.put("image", image_path(cloud, f"/images/{image}/file"), content)
    end = time.monotonic() + PATIENCE
    while (status := cloud.get("image", image_path(cloud, f"/images/{image}"))["status"]) != "active":
        if time.monotonic() > end or status in ("killed", "deleted"):
            raise CloudError(f"The image {name} was uploaded, and is {status} instead of active.")
        time.sleep(1)
    return image


def _flavor(cloud: Cloud, name: str, memory: int, disk: int) -> str:
    body = {"flavor": {"name": name, "ram": memory, "vcpus": 1, "disk": disk}}
    return str(cloud.post("compute", "/flavors", body)["flavor"]["id"])


def count(cloud: Cloud) -> frozenset[str]:
    """Return the identifiers of all that looks as if tests had made it."""
    census = Removal(cloud, frozenset(), prefixes=(TEMPEST,), only_count=True)
    census.run()
    if census.troubles:
        # What is not known cannot be spared.
        raise CloudError(census.troubles[0])
    return frozenset(census.seen)


def remove(cloud: Cloud, spared: frozenset[str] | None = None) -> tuple[int, list[str]]:
    """Remove what the tests and we made, but nothing that is spared; return how much, and what went wrong.

    If nobody has counted what to spare, only what has our own prefix is removed.
    """
    prefixes = (PREFIX,) if spared is None else (PREFIX, TEMPEST)
    removal = Removal(cloud, spared or frozenset(), prefixes)
    removal.run()
    return removal.removed, removal.troubles


class Removal:
    """One removal: each part of it is tried, whatever became of those before it."""

    def __init__(
        self, cloud: Cloud, spared: frozenset[str], prefixes: tuple[str, ...], *, only_count: bool = False
    ) -> None:
        self.cloud = cloud
        self.spared = spared
        self.prefixes = prefixes
        self.only_count = only_count
        self.seen: set[str] = set()
        self.removed = 0
        self.troubles: list[str] = []

    def run(self) -> None:
        """Remove servers first, as others hang on them, and projects last."""
        projects = [entry["id"] for entry in self._named("identity", "/projects", "projects")]
        if self.cloud.url("compute"):
            self._servers(projects)
            self._compute()
        if self.cloud.url("network"):
            self._network(projects)
        if self.cloud.url("image"):
            self._images(projects)
        self._identity()

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except CloudError as error:
            self.troubles.append(str(error))

    def _delete(self, service: str, path: str) -> None:
        self.seen.add(path.rpartition("/")[2])
        if not self.only_count:
            with self._noted():
                self.removed += self.cloud.delete(service, path)

    def _is_ours(self, entry: Any, projects: Sequence[str] = ()) -> bool:
        """Return whether tests made something: it is called so, or it is in one of their projects."""
        inside = {entry.get(word) for word in ("project_id", "tenant_id", "owner")} & set(projects)
        named = str(entry.get("name") or "").startswith(self.prefixes)
        return bool(inside or named) and str(entry.get("id")) not in self.spared

    def _list(self, service: str, path: str, key: str) -> list[Any]:
        listed: list[Any] = []
        with self._noted():
            listed.extend(self.cloud.get(service, path).get(key) or ())
        return listed

    def _named(self, service: str, path: str, key: str) -> list[Any]:
        return [entry for entry in self._list(service, path, key) if self._is_ours(entry)]

    def _servers(self, projects: list[str]) -> None:
        def ours() -> list[Any]:
            listed = self._list("compute", "/servers/detail?all_tenants=1", "servers")
            return [server for server in listed if self._is_ours(server, projects)]

        there = ours()
        for server in there:
            self._delete("compute", f"/servers/{server['id']}")
        if self.only_count:
            return
        end = time.monotonic() + PATIENCE
        while there and (left := ours()):
            if time.monotonic() > end:
                self.troubles.append(f"{len(left)} servers are still there after {PATIENCE:g} s.")
                return
            time.sleep(2)

    def _compute(self) -> None:
        for flavor in self._named("compute", "/flavors?is_public=None", "flavors"):
            self._delete("compute", f"/flavors/{flavor['id']}")
        for aggregate in self._named("compute", "/os-aggregates", "aggregates"):
            path = f"/os-aggregates/{aggregate['id']}"
            for host in aggregate.get("hosts") or ():
                self._change(self.cloud.post, "compute", f"{path}/action", {"remove_host": {"host": host}})
            self._delete("compute", path)
        for group in self._named("compute", "/os-server-groups?all_projects=true", "server_groups"):
            self._delete("compute", f"/os-server-groups/{group['id']}")

    def _change(self, ask: Callable[[str, str, object], Any], service: str, path: str, body: object) -> None:
        """Change something that is in the way."""
        if not self.only_count:
            with self._noted():
                ask(service, path, body)

    def _network(self, projects: list[str]) -> None:
        for floating in self._ours("floatingips", projects):
            self._delete("network", f"{self._base}/floatingips/{floating['id']}")
        ports = self._ours("ports", projects)
        for router in self._ours("routers", projects):
            self._unplug(router["id"], ports)
            self._delete("network", f"{self._base}/routers/{router['id']}")
        for port in self._ours("ports", projects):
            # What Neutron itself has made goes with the network.
            if not str(port.get("device_owner", "")).startswith("network:"):
                self._delete("network", f"{self._base}/ports/{port['id']}")
        for word in ("subnets", "networks", "subnetpools", "security-groups"):
            for entry in self._ours(word, projects):
                # Neutron makes the default group of a project, and removes it with the project.
                if word != "security-groups" or entry.get("name") != "default":
                    self._delete("network", f"{self._base}/{word}/{entry['id']}")

    @property
    def _base(self) -> str:
        return "" if self.cloud.url("network").rstrip("/").endswith("/v2.0") else "/v2.0"

    def _ours(self, word: str, projects: list[str]) -> list[Any]:
        """Return what is in one of the projects, or has our prefix, of one sort."""
        listed = self._list("network", f"{self._base}/{word}", word.replace("-", "_"))
        return [entry for entry in listed if self._is_ours(entry, projects)]

    def _unplug(self, router: str, ports: list[Any]) -> None:
        for port in ports:
            if port.get("device_id") == router and "router_interface" in str(port.get("device_owner", "")):
                path = f"{self._base}/routers/{router}/remove_router_interface"
                self._change(self.cloud.put, "network", path, {"port_id": port["id"]})

    def _images(self, projects: list[str]) -> None:
        listed = self._list("image", image_path(self.cloud, "/images?limit=1000"), "images")
        for image in listed:
            if self._is_ours(image, projects):
                if image.get("protected"):
                    change = [{"op": "replace", "path": "/protected", "value": False}]
                    self._change(self._patch_image, "image", image["id"], change)
                self._delete("image", image_path(self.cloud, f"/images/{image['id']}"))

    def _patch_image(self, service: str, image: str, change: object) -> Any:
        kind = "application/openstack-images-v2.1-json-patch"
        return self.cloud.patch(service, image_path(self.cloud, f"/images/{image}"), change, Content_Type=kind)

    def _identity(self) -> None:
        for word in ("users", "groups", "projects", "roles", "regions", "services", "policies", "credentials"):
            for entry in self._named("identity", f"/{word}", word):
                self._delete("identity", f"/{word}/{entry['id']}")
        for domain in self._named("identity", "/domains", "domains"):
            self._change(self.cloud.patch, "identity", f"/domains/{domain['id']}", {"domain": {"enabled": False}})
            self._delete("identity", f"/domains/{domain['id']}")
