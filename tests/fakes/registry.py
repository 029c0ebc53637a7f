"""A fake of an OCI registry, in a process of its own: the distribution API, for charts that are pulled and images that
are pushed.

Under /fake/ a test says what cannot be said by pulling: that a chart is there, that the registry is down, that it lies.
It keeps the contract of tests/contracts/registry.py.
"""

import asyncio
import base64
import contextlib
import hashlib
import io
import json
import tarfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

import yaml
from aiohttp import web

from tests.fakes.hosting import host
from tests.fakes.running import fake

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.cncf.helm.config.v1+json"
LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
# Who may pull from below this name, and with which password.
PRIVATE, USER, PASSWORD = "private/", "puller", "a long password"
# Below this name a token is asked for, which is had for the same password.
GUARDED = "guarded/"


@dataclass
class Store:
    """What the registry holds: blobs by digest, and manifests by repository and digest or tag."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[tuple[str, str], bytes] = field(default_factory=dict)
    down: bool = False
    pulls: int = 0
    uploads: list[str] = field(default_factory=list)

    def add(self, name: str, package: bytes) -> str:
        """Keep a packaged chart in a repository; return the digest of its manifest."""
        with tarfile.open(fileobj=io.BytesIO(package)) as archive:
            member = next(item for item in archive.getnames() if item.count("/") == 1 and item.endswith("/Chart.yaml"))
            content = archive.extractfile(member)
            assert content is not None
            metadata = yaml.safe_load(content.read())
        config = json.dumps(metadata).encode()
        manifest = {
            "schemaVersion": 2,
            "config": self.blob(CONFIG, config),
            "layers": [self.blob(LAYER, package)],
            "annotations": {"org.opencontainers.image.version": metadata["version"]},
        }
        body = json.dumps(manifest).encode()
        for reference in (digest_of(body), metadata["version"]):
            self.manifests[name, reference] = body
        return digest_of(body)

    def blob(self, media_type: str, content: bytes) -> dict[str, object]:
        self.blobs[digest_of(content)] = content
        return {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}


def _basic() -> str:
    return f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def problem(status: int, code: str, **headers: str) -> web.Response:
    return web.json_response({"errors": [{"code": code, "message": code.lower()}]}, status=status, headers=headers)


class Fake:
    """The API over one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.application = web.Application(middlewares=[self.guarded], client_max_size=1 << 24)
        self.application.add_routes(
            [
                web.get("/v2/", self.root),
                web.get("/token", self.token),
                web.post("/v2/{name:.+}/blobs/uploads/", self.begin),
                web.put("/v2/{name:.+}/blobs/uploads/{number}", self.upload),
                web.put("/v2/{name:.+}/manifests/{reference}", self.tag),
                web.get("/v2/{name:.+}/manifests/{reference}", self.manifest),
                web.get("/v2/{name:.+}/blobs/{digest}", self.content),
                web.put("/fake/charts/{name:.+}", self.add),
                web.put("/fake/down/{down}", self.fail),
                web.put("/fake/spoilt/{digest}", self.spoil),
                web.get("/fake/pulls", self.pulled),
                web.get("/fake/pushed", self.pushed),
            ]
        )

    @web.middleware
    async def guarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.path.startswith("/fake/"):
            return await handler(request)
        if self.store.down:
            return problem(503, "UNAVAILABLE")
        name, said = request.match_info.get("name", ""), request.headers.get("Authorization")
        if (name.startswith(PRIVATE) or request.path == "/token") and said != _basic():
            return problem(401, "UNAUTHORIZED", **{"WWW-Authenticate": 'Basic realm="fake"'})
        if name.startswith(GUARDED) and said != f"Bearer repository:{name}:pull,push":
            realm = f'Bearer realm="http://{request.host}/token",service="fake"'
            return problem(401, "UNAUTHORIZED", **{"WWW-Authenticate": realm})
        return await handler(request)

    async def token(self, request: web.Request) -> web.Response:
        return web.json_response({"token": request.query["scope"]})

    async def begin(self, request: web.Request) -> web.Response:
        self.store.uploads.append(request.match_info["name"])
        place = f"/v2/{request.match_info['name']}/blobs/uploads/{len(self.store.uploads)}?of=fake"
        return web.Response(status=202, headers={"Location": place})

    async def upload(self, request: web.Request) -> web.Response:
        content = await request.read()
        if request.query.get("of") != "fake" or request.query.get("digest") != digest_of(content):
            return problem(400, "DIGEST_INVALID")
        self.store.blobs[digest_of(content)] = content
        return web.Response(status=201)

    async def tag(self, request: web.Request) -> web.Response:
        body, name = await request.read(), request.match_info["name"]
        parts = json.loads(body)
        if any(part["digest"] not in self.store.blobs for part in (*parts["layers"], parts["config"])):
            return problem(400, "MANIFEST_BLOB_UNKNOWN")
        for reference in (digest_of(body), request.match_info["reference"]):
            self.store.manifests[name, reference] = body
        return web.Response(status=201)

    async def pushed(self, _: web.Request) -> web.Response:
        tags = [f"{name}:{tag}" for name, tag in self.store.manifests if not tag.startswith("sha256:")]
        return web.json_response({"tags": sorted(tags), "uploads": len(self.store.uploads)})

    async def root(self, _: web.Request) -> web.Response:
        return web.json_response({})

    async def manifest(self, request: web.Request) -> web.Response:
        found = self.store.manifests.get((request.match_info["name"], request.match_info["reference"]))
        if found is None:
            return problem(404, "MANIFEST_UNKNOWN")
        self.store.pulls += request.method == "GET"
        return web.Response(body=found, content_type=MANIFEST, headers={"Docker-Content-Digest": digest_of(found)})

    async def content(self, request: web.Request) -> web.Response:
        found = self.store.blobs.get(request.match_info["digest"])
        return problem(404, "BLOB_UNKNOWN") if found is None else web.Response(body=found)

    async def add(self, request: web.Request) -> web.Response:
        return web.Response(text=self.store.add(request.match_info["name"], await request.read()))

    async def fail(self, request: web.Request) -> web.Response:
        self.store.down = request.match_info["down"] == "yes"
        return web.Response(status=204)

    async def spoil(self, request: web.Request) -> web.Response:
        """Hold something else under a digest, as one does who was broken into."""
        digest = request.match_info["digest"]
        for key in [key for key in self.store.manifests if key[1] == digest]:
            self.store.manifests[key] += b" "
        if digest in self.store.blobs:
            self.store.blobs[digest] += b" "
        return web.Response(status=204)

    async def pulled(self, _: web.Request) -> web.Response:
        return web.Response(text=str(self.store.pulls))


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Run a registry for the time of a block, and say under which host and port."""
    with fake("tests.fakes.registry") as process:
        yield f"127.0.0.1:{process.port}"


def application() -> web.Application:
    """Return a registry that has nothing yet."""
    return Fake(Store()).application


if __name__ == "__main__":
    asyncio.run(host(application))
