"""What we ask of Keystone: catalog, projects, users, roles, and whether somebody can log in."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from stackwright.adapters.errors import Rejected, Unavailable
from stackwright.adapters.identity.session import Gone, Json, Request, Session, Taken
from stackwright.adapters.identity.values import (
    DOMAIN,
    Credentials,
    Endpoint,
    Project,
    RoleAssignment,
    Service,
    Token,
    User,
)

V = TypeVar("V")

# The attribute of our own by which services and users say for whom they were made: Keystone keeps what it does not
# know. Endpoints may have no further attributes in its answers, so their description says it.
MARK = "stackwright_made_for"
_MADE_FOR = "Made for "


class Keystone:
    """One Keystone, read and changed by one user. Deleting something that is gone already counts as deleted."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def has_logged_in(self) -> bool:
        """Whether it let our user in when we last tried."""
        return self._session.has_logged_in

    def forget(self) -> None:
        """Forget what was read, for whoever must know what there is now."""
        self._session.forget()

    def connected(self) -> AbstractAsyncContextManager[object]:
        """Keep connections open during a block, so that its requests share them."""
        return self._session.connections.open()

    # The catalog.

    async def services(self) -> tuple[Service, ...]:
        """Return all services, by id."""
        return await self._all("services", _service)

    async def find_services(self, type_: str, name: str) -> tuple[Service, ...]:
        """Return the services of that type and name; Keystone allows several."""
        return tuple(entry for entry in await self.services() if (entry.type, entry.name) == (type_, name))

    async def create_service(self, service: Service) -> str:
        """Create a service and return its id; the id in the value is ignored."""
        made = await self._write("POST", "/services", {"service": _without_id(service)})
        return str(made["service"]["id"])

    async def update_service(self, service: Service) -> None:
        """Change the service of that id to the value."""
        await self._write("PATCH", f"/services/{service.id}", {"service": _without_id(service)})

    async def delete_service(self, service_id: str) -> None:
        """Delete a service; Keystone deletes its endpoints with it."""
        await self._delete(f"/services/{service_id}")

    async def endpoints(self) -> tuple[Endpoint, ...]:
        """Return all endpoints, by id."""
        return await self._all("endpoints", _endpoint)

    async def find_endpoints(self, service_id: str, region: str, interface: str) -> tuple[Endpoint, ...]:
        """Return the endpoints of a service for one interface in one region; there may be several."""
        wanted = (service_id, region, interface)
        found = await self.endpoints()
        return tuple(entry for entry in found if (entry.service_id, entry.region, entry.interface) == wanted)

    async def create_endpoint(self, endpoint: Endpoint) -> str:
        """Create an endpoint and return its id; a region that does not exist is created with it."""
        made = await self._write("POST", "/endpoints", {"endpoint": _said(endpoint)})
        return str(made["endpoint"]["id"])

    async def update_endpoint(self, endpoint: Endpoint) -> None:
        """Change the endpoint of that id to the value."""
        await self._write("PATCH", f"/endpoints/{endpoint.id}", {"endpoint": _said(endpoint)})

    async def delete_endpoint(self, endpoint_id: str) -> None:
        """Delete an endpoint."""
        await self._delete(f"/endpoints/{endpoint_id}")

    # Projects, users and roles have unique names, and creating an existing one leaves it unchanged.

    async def find_project(self, name: str) -> Project | None:
        """Return the project of that name."""
        return await self._named("projects", name, _project)

    async def create_project(self, name: str, description: str = "") -> None:
        """Make a project."""
        body = {"name": name, "domain_id": DOMAIN, "description": description, "enabled": True}
        await self._ensure("/projects", {"project": body})

    async def enable_project(self, project_id: str) -> None:
        """Enable a project, so that its users can work again."""
        await self._write("PATCH", f"/projects/{project_id}", {"project": {"enabled": True}})

    async def delete_project(self, project_id: str) -> None:
        """Delete a project."""
        await self._delete(f"/projects/{project_id}")

    async def find_user(self, name: str) -> User | None:
        """Return the user of that name."""
        return await self._named("users", name, _user)

    async def find_alike(self, name: str) -> User | None:
        """Return a user with another spelling of this name that Keystone considers the same.

        Its database may ignore case, accents, and blanks at the end: then nobody can be made under that name.
        """
        found = (await self._read("/users", {"name": name, "domain_id": DOMAIN}))["users"]
        return next((_user(entry) for entry in found if entry["name"] != name), None)

    async def create_user(self, name: str, password: str, *, description: str = "", made_for: str = "") -> None:
        """Create a user that may log in."""
        body = {"name": name, "domain_id": DOMAIN, "password": password, "description": description, "enabled": True}
        await self._ensure("/users", {"user": {**body, **_marked(made_for)}}, secret=True)
        if (other := await self.find_alike(name)) is not None and await self.find_user(name) is None:
            raise Rejected(f"Keystone takes {name!r} for the name of its user {other.name!r} and does not create it")

    async def update_user(
        self, user_id: str, *, enabled: bool | None = None, description: str | None = None, made_for: str | None = None
    ) -> None:
        """Change the given attributes of a user; disabling one revokes its tokens."""
        changes = {"enabled": enabled, "description": description, MARK: made_for}
        body = {name: value for name, value in changes.items() if value is not None}
        await self._write("PATCH", f"/users/{user_id}", {"user": body})

    async def set_password(self, user_id: str, password: str, *, made_for: str = "") -> None:
        """Give a user another password, and a mark if there is one; all of its tokens are revoked."""
        body = {"password": password, **_marked(made_for)}
        await self._write("PATCH", f"/users/{user_id}", {"user": body}, secret=True)

    async def delete_user(self, user_id: str) -> None:
        """Delete a user."""
        await self._delete(f"/users/{user_id}")

    async def roles(self) -> Mapping[str, str]:
        """Return the ids of all roles by their names."""
        return {entry["name"]: entry["id"] for entry in (await self._read("/roles"))["roles"]}

    async def create_role(self, name: str) -> None:
        """Make a role."""
        await self._ensure("/roles", {"role": {"name": name}})

    async def delete_role(self, role_id: str) -> None:
        """Delete a role."""
        await self._delete(f"/roles/{role_id}")

    async def assignments(self, project_id: str) -> frozenset[RoleAssignment]:
        """Return who has which role on a project directly, not through a group."""
        found = await self._read("/role_assignments", {"scope.project.id": project_id})
        return frozenset(
            RoleAssignment(entry["user"]["id"], entry["role"]["id"])
            for entry in found["role_assignments"]
            if "user" in entry
        )

    async def grant(self, project_id: str, assignment: RoleAssignment) -> None:
        """Give a user a role on a project."""
        await self._write("PUT", f"/projects/{project_id}/users/{assignment.user_id}/roles/{assignment.role_id}")

    async def revoke(self, project_id: str, assignment: RoleAssignment) -> None:
        """Take a role on a project from a user."""
        await self._delete(f"/projects/{project_id}/users/{assignment.user_id}/roles/{assignment.role_id}")

    # Logging in.

    async def login(self, credentials: Credentials) -> Token | None:
        """Try to log in; return None if Keystone refuses these credentials. Some Keystones count failed attempts."""
        return await self._session.login(credentials)

    async def is_good(self, token: Token) -> bool:
        """Return whether a token is still valid; it is not if its user's password was changed since."""
        try:
            await self._session.ask(Request("HEAD", "/auth/tokens", headers={"X-Subject-Token": token.text}))
        except Gone:
            return False
        return True

    # How each of these is asked.

    async def _read(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        try:
            return await self._session.read(path, query)
        except Gone as gone:
            raise Unavailable(str(gone)) from gone

    async def _all(self, plural: str, value: Callable[[Json], V]) -> tuple[V, ...]:
        found = (await self._read(f"/{plural}"))[plural]
        return tuple(value(entry) for entry in sorted(found, key=lambda entry: str(entry["id"])))

    async def _named(self, plural: str, name: str, value: Callable[[Json], V]) -> V | None:
        found = (await self._read(f"/{plural}", {"name": name, "domain_id": DOMAIN}))[plural]
        # Some databases compare names without regard to case.
        return next((value(entry) for entry in found if entry["name"] == name), None)

    async def _write(self, method: str, path: str, body: Json | None = None, *, secret: bool = False) -> Json:
        try:
            return await self._session.write(method, path, body, secret=secret)
        except Gone as gone:
            # Somebody deleted it since it was read; the next read will show that.
            raise Unavailable(str(gone)) from gone
        except Taken as taken:
            raise Rejected(str(taken)) from taken

    async def _ensure(self, path: str, body: Json, *, secret: bool = False) -> None:
        try:
            await self._session.write("POST", path, body, secret=secret)
        except Taken:
            return

    async def _delete(self, path: str) -> None:
        try:
            await self._session.write("DELETE", path)
        except Gone:
            return


def _service(entry: Json) -> Service:
    return Service(
        id=entry["id"],
        type=entry.get("type", ""),
        name=entry.get("name", ""),
        description=entry.get("description") or "",
        enabled=entry.get("enabled", True),
        made_for=_mark(entry),
    )


def _without_id(service: Service) -> dict[str, Any]:
    return {
        "type": service.type,
        "name": service.name,
        "description": service.description,
        "enabled": service.enabled,
        **_marked(service.made_for),
    }


def _marked(made_for: str) -> dict[str, str]:
    return {MARK: made_for} if made_for else {}


def _mark(entry: Json) -> str:
    return str(entry.get(MARK) or "")


def _endpoint(entry: Json) -> Endpoint:
    said = str(entry.get("description") or "")
    return Endpoint(
        id=entry["id"],
        service_id=entry.get("service_id", ""),
        region=entry.get("region_id") or "",
        interface=entry.get("interface", ""),
        url=entry.get("url", ""),
        enabled=entry.get("enabled", True),
        made_for=said.removeprefix(_MADE_FOR) if said.startswith(_MADE_FOR) else "",
    )


def _said(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "service_id": endpoint.service_id,
        # With this older name Keystone creates a region that it does not have.
        "region": endpoint.region,
        "interface": endpoint.interface,
        "url": endpoint.url,
        "enabled": endpoint.enabled,
        **({"description": f"{_MADE_FOR}{endpoint.made_for}"} if endpoint.made_for else {}),
    }


def _project(entry: Json) -> Project:
    return Project(id=entry["id"], name=entry["name"], enabled=entry.get("enabled", True))


def _user(entry: Json) -> User:
    return User(
        id=entry["id"],
        name=entry["name"],
        description=entry.get("description") or "",
        enabled=entry.get("enabled", True),
        made_for=_mark(entry),
    )
