"""What the program of the Tempest image removes from a cloud, and what it spares; the cloud is a small server."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from images.tempest.run_tempest import facts, leftovers
from images.tempest.run_tempest.api import Cloud, CloudError, Login
from images.tempest.run_tempest.facts import Compute, External, Facts

OURS, TEMPEST = "swvalid-x", "tempest-TokensTest-1"


class Served(ThreadingHTTPServer):
    """A cloud that keeps what it is given in memory: collections by path, each a list of entries."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.there: dict[str, list[dict[str, Any]]] = {}
        self.refused: set[str] = set()
        self.changed: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def names(self, path: str) -> list[str]:
        return [entry["name"] for entry in self.there.get(path, [])]


class Answers(BaseHTTPRequestHandler):
    server: Served

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name there
        pass

    def do_POST(self) -> None:
        body = self._body()
        if self.path == "/v3/auth/tokens":
            if body["auth"]["identity"]["password"]["user"]["password"] != "right":
                return self._answer(401, {"error": {"message": "The request you have made requires authentication."}})
            types = {"compute": "/compute", "network": "/network", "image": "/image"}
            catalog = [
                {
                    "type": kind,
                    "endpoints": [{"interface": "internal", "region_id": "r", "url": self.server.url + path}],
                }
                for kind, path in types.items()
            ]
            return self._answer(201, {"token": {"catalog": catalog}})
        if self.path.endswith("/action"):
            self.server.changed.append(self.path)
            return self._answer(200, {})
        entry = {**(body.get("flavor") or body), "id": str(sum(map(len, self.server.there.values())))}
        self.server.there.setdefault(self.path, []).append(entry)
        return self._answer(201, {"flavor": entry, **entry, "status": "active"})

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path in self.server.refused:
            return self._answer(403, {"forbidden": {"message": "Policy doesn't allow it.", "code": 403}})
        found = self.server.there.get(path)
        parent, _, identifier = path.rpartition("/")
        if found is None and any(entry["id"] == identifier for entry in self.server.there.get(parent, [])):
            return self._answer(200, {"id": identifier, "status": "active"})
        key = path.removesuffix("/detail").rpartition("/")[2].removeprefix("os-").replace("-", "_")
        return self._answer(200, {key: found or []})

    def do_PUT(self) -> None:
        self._body()
        self.server.changed.append(self.path)
        self._answer(204, {})

    do_PATCH = do_PUT

    def do_DELETE(self) -> None:
        path, _, identifier = self.path.rpartition("/")
        for collection in (path, f"{path}/detail"):
            kept = [entry for entry in self.server.there.get(collection, []) if str(entry["id"]) != identifier]
            if len(kept) < len(self.server.there.get(collection, [])):
                self.server.there[collection] = kept
                return self._answer(204, {})
        return self._answer(404, {"itemNotFound": {"message": "gone"}})

    def _body(self) -> Any:
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return json.loads(text) if self.headers.get("Content-Type") == "application/json" else {}

    def _answer(self, code: int, body: Any) -> None:
        text = b"" if code == 204 else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("X-Subject-Token", "token")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def cloud(served: Served) -> Cloud:
    made = Cloud(Login(f"{served.url}/v3", "admin", "right", "admin", region="r"))
    made.enter()
    return made


def test_what_tests_made_is_removed_and_what_others_have_is_not(served: Served, cloud: Cloud) -> None:
    others = {"id": "other", "name": "demo"}
    before = {"id": "before", "name": "tempest-somebody-elses"}
    served.there = {
        "/v3/projects": [others, before],
        "/compute/servers/detail": [{"id": "s-other", "name": "web", "tenant_id": "other"}],
        "/network/v2.0/networks": [{"id": "n-before", "name": "lan", "project_id": "before"}],
    }
    spared = leftovers.count(cloud)
    served.there["/v3/projects"].append({"id": "ours", "name": TEMPEST})
    served.there["/v3/users"] = [{"id": "u-1", "name": TEMPEST}, {"id": "u-2", "name": "admin"}]
    served.there["/compute/servers/detail"].append({"id": "s-1", "name": "any", "tenant_id": "ours"})
    served.there["/compute/flavors"] = [{"id": "f-1", "name": OURS}, {"id": "f-2", "name": "m1.tiny"}]
    served.there["/compute/os-aggregates"] = [{"id": 7, "name": OURS, "hosts": ["h"]}, {"id": 8, "name": "mine"}]
    served.there["/network/v2.0/networks"].append({"id": "n-1", "name": "any", "project_id": "ours"})
    served.there["/network/v2.0/routers"] = [{"id": "r-1", "name": "any", "project_id": "ours"}]
    served.there["/network/v2.0/ports"] = [
        {"id": "p-1", "name": "", "project_id": "ours", "device_id": "r-1", "device_owner": "network:router_interface"},
        {"id": "p-2", "name": "", "project_id": "ours", "device_id": "", "device_owner": ""},
    ]
    served.there["/network/v2.0/security-groups"] = [{"id": "g", "name": "default", "project_id": "ours"}]
    served.there["/image/v2/images"] = [{"id": "i-1", "name": None, "owner": "ours", "protected": True}]
    removed, troubles = leftovers.remove(cloud, spared)
    assert troubles == []
    assert removed == 9
    assert served.names("/v3/projects") == ["demo", "tempest-somebody-elses"]
    assert served.names("/v3/users") == ["admin"]
    assert served.names("/compute/servers/detail") == ["web"]
    assert served.names("/compute/flavors") == ["m1.tiny"]
    assert served.names("/compute/os-aggregates") == ["mine"]
    assert served.names("/network/v2.0/networks") == ["lan"]
    assert served.there["/image/v2/images"] == []
    assert served.changed == [
        "/compute/os-aggregates/7/action",
        "/network/v2.0/routers/r-1/remove_router_interface",
        "/image/v2/images/i-1",
    ]


def test_before_the_tests_only_what_is_surely_ours_is_removed(served: Served, cloud: Cloud) -> None:
    served.there = {"/v3/projects": [{"id": "1", "name": TEMPEST}], "/compute/flavors": [{"id": "2", "name": OURS}]}
    assert leftovers.remove(cloud) == (1, [])
    assert served.names("/v3/projects") == [TEMPEST]


def test_who_cannot_count_what_is_there_does_not_begin(served: Served, cloud: Cloud) -> None:
    served.refused = {"/v3/users"}
    with pytest.raises(CloudError, match=r"403: Policy doesn't allow it\."):
        leftovers.count(cloud)
    # A removal goes on with what it may do.
    served.there = {"/v3/domains": [{"id": "d", "name": OURS}]}
    removed, troubles = leftovers.remove(cloud, frozenset())
    assert removed == 1
    assert len(troubles) == 1


def test_images_and_flavors_are_made_and_gone_again(served: Served, cloud: Cloud) -> None:
    made = leftovers.make(cloud, Facts(services=frozenset({"compute", "image"}), computes=(Compute("c", "fake"),)))
    assert all((*made.images, *made.flavors))
    assert len(served.there["/compute/flavors"]) == 2
    assert leftovers.remove(cloud)[0] == 4
    assert served.there["/compute/flavors"] == served.there["/image/v2/images"] == []


def test_a_wrong_password_is_said_without_it(served: Served) -> None:
    wrong = Cloud(Login(f"{served.url}/v3", "admin", "wr0ng-one", "admin", region="r"))
    with pytest.raises(CloudError, match="answered with 401: The request you have made") as raised:
        wrong.enter()
    assert "wr0ng-one" not in str(raised.value)


def test_a_cloud_that_does_not_answer_is_named() -> None:
    with pytest.raises(CloudError, match=r"http://127\.0\.0\.1:1/v3/auth/tokens does not answer: "):
        Cloud(Login("http://127.0.0.1:1/v3", "admin", "x", "admin")).enter()


def test_what_the_cloud_has_is_read_from_its_apis(served: Served, cloud: Cloud) -> None:
    served.there = {
        "/compute/os-hypervisors/detail": [
            {"id": 1, "hypervisor_hostname": "a", "hypervisor_type": "fake", "state": "up", "status": "enabled"},
            {"id": 2, "hypervisor_hostname": "b", "hypervisor_type": "QEMU", "state": "down", "status": "enabled"},
            {"id": 3, "hypervisor_hostname": "c", "hypervisor_type": "QEMU", "state": "up", "status": "disabled"},
        ],
        "/network/v2.0/extensions": [{"id": "", "alias": "router"}, {"id": "", "alias": "qos"}],
        "/network/v2.0/networks": [{"id": "n", "name": "outside", "subnets": ["s"]}],
    }
    found = facts.read(cloud)
    assert found.computes == (Compute("a", "fake"),)
    assert not found.real
    assert found.extensions == ("qos", "router")
    assert found.external == External("n", "outside")
    assert found.services >= {"compute", "network", "image", "identity"}
